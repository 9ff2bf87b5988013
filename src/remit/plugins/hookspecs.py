"""Every hook that a plugin may implement.

Hooks return values of `remit.policy` or package resources. They run when plugins are registered or
a profile is projected, never on the path of a decision; ``guard_action`` and the observers are
collected as functions. Order never matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from typing import Any

import pluggy

from remit.policy.backend import Backend
from remit.policy.compile import Compiled
from remit.policy.projection import Classifier, Host, Judgement
from remit.policy.tools import Call, CallEffects, Facts, Tool
from remit.policy.vocabulary import EffectClass

__all__ = ["PROJECT", "hookimpl"]

#: The name of the hook project and of the entry-point group.
PROJECT = "remit"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_effects() -> Iterable[EffectClass]:  # type: ignore[empty-body]
    """Add effect classes, each with a dotted prefix of the plugin's own."""


@hookspec
def register_classifiers() -> Mapping[str, Classifier]:  # type: ignore[empty-body]
    """Add classifiers by name; they judge tools of the plugin's own catalogues."""


@hookspec
def register_catalogues() -> Iterable[Traversable]:  # type: ignore[empty-body]
    """Add catalogue files, each for a source of the plugin's own."""


@hookspec
def register_profiles() -> Iterable[Traversable]:  # type: ignore[empty-body]
    """Add profile files."""


@hookspec
def register_programs() -> Iterable[Traversable]:  # type: ignore[empty-body]
    """Add tables of what programs do in a shell, each of programs that are not known yet."""


@hookspec
def guard_action(call: Call, tool: Tool, found: CallEffects, facts: Facts) -> str | None:
    """Say why a call is refused, or return None; it can only add a refusal, never to a pin."""


@hookspec
def project_layer(compiled: Compiled, host: Host) -> Any:
    """Make what one enforcing layer gets; the layer is named after the plugin."""


@hookspec
def sandbox_backend() -> Iterable[Backend]:  # type: ignore[empty-body]
    """Add backends that hold mounts; none takes the name of a built-in one."""


@hookspec
def decision_made(space: str, mode: str, judgement: Judgement) -> None:
    """Observe a decision."""


@hookspec
def mode_switched(space: str, mode: str, by: str) -> None:
    """Observe a switch; each session tells of it with its next frame, whoever made it."""
