"""The action guard: which effects are refused, whatever tool would have them."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from remit.plugins.hookspecs import hookimpl
from remit.policy.ceiling import Lists
from remit.policy.compile import Compiled
from remit.policy.projection import Host
from remit.policy.vocabulary import Unknown

__all__ = ["ActionGuard"]


@frozen
class ActionGuard:
    """What a call may not do: any overlap with ``refused`` refuses, and any protected path."""

    refused: frozenset[str]
    limit: Mapping[str, Lists]
    unknown: Unknown
    protected: tuple[str, ...]


@hookimpl
def project_layer(compiled: Compiled, host: Host) -> ActionGuard:
    """Shape the ceiling for whoever looks at a call's effects."""
    ceiling = compiled.profile.ceiling
    return ActionGuard(ceiling.refuse, ceiling.limit, ceiling.unknown, host.protected)
