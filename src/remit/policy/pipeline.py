"""Pipelines: steps that wait for each other, each in a mode that it pins or is given.

A step pins its mode by the exact key ``mode`` of its extras (S003-22). Extras are the platform's
own otherwise, so what looks like that key and is not would be passed over without a word, and a
step would run in another mode than its author meant: it is a problem that names the right key.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from remit.policy.digest import digest
from remit.policy.escape import quoted
from remit.policy.graph import knots
from remit.policy.problems import InputError, Problem, near
from remit.policy.profile import Profile

__all__ = [
    "PIN",
    "Finding",
    "ModeFrom",
    "Pipeline",
    "PipelineNode",
    "StepMode",
    "looks_like_pin",
    "pipeline_findings",
    "resolve_step_mode",
    "step_profile",
]

#: The key of a node's extras that pins the mode of its step.
PIN = "mode"
_MAX_KEY = 64
#: How alike a key is to `PIN` that is no word of its own.
_ALIKE = 0.8

Path = tuple[str | int, ...]


class ModeFrom(StrEnum):
    """Where the mode of a step comes from."""

    PINNED = "pinned"
    DEFAULT = "default"


@frozen
class StepMode:
    """The mode of a step, and whether the step says so itself."""

    mode: str
    origin: ModeFrom


@frozen
class PipelineNode:
    """One step; ``depends_on`` holds keys of nodes that come before it, ``extras`` what is its own.

    Extras belong to the platform that runs the pipeline, but for the key `PIN`.
    """

    key: str
    title: str
    prompt: str = ""
    depends_on: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    role: str = ""
    extras: Mapping[str, Any] = field(factory=dict)


@frozen
class Pipeline:
    """Steps in the order given; ``default`` is the mode of those that pin none.

    ``allowed`` are the modes that a step may have, None where the pipeline does not say.
    """

    name: str
    nodes: tuple[PipelineNode, ...]
    default: str
    allowed: tuple[str, ...] | None = None

    def value(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "name": self.name,
            "default": self.default,
            "allowed": None if self.allowed is None else list(self.allowed),
            "nodes": [
                {
                    "key": n.key,
                    "title": n.title,
                    "prompt": n.prompt,
                    "depends_on": list(n.depends_on),
                    "role": n.role,
                    "extras": dict(n.extras),
                }
                for n in self.nodes
            ],
        }

    @property
    def digest(self) -> str:
        """SHA-256 over all of it, in hexadecimal."""
        return digest(self.value())


@frozen
class Finding:
    """A problem of a pipeline, and the path of the value, or of the key, that has it."""

    code: str
    message: str
    path: Path
    hint: str = ""
    key: bool = False

    @property
    def problem(self) -> Problem:
        """The same without a place in a file."""
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.path)
        return Problem(self.code, self.message, self.hint, path=path.removeprefix("."))


def resolve_step_mode(extras: Mapping[str, Any], default: str, allowed: Iterable[str]) -> StepMode:
    """Return the mode of a step with these extras; raise `InputError` with every problem.

    For platforms with an engine of their own. ``allowed`` are the modes that a step may have: no
    other is resolved to, the default neither (S003-22).
    """
    known = tuple(allowed)
    found = [f.problem for f in _mode(extras, known, frozenset(known), ())]
    mode = StepMode(extras[PIN], ModeFrom.PINNED) if PIN in extras else None
    if mode is None and default not in known:
        found.append(_unknown(default, known, (), "the default mode ").problem)
    if found:
        raise InputError(found)
    return mode or StepMode(default, ModeFrom.DEFAULT)


def step_profile(pinned: Profile, space: Profile) -> Profile:
    """Return what holds in a step: the brief of its mode, under the ceiling of the space as well.

    A step never has more than the space that runs it (design section 5).
    """
    return pinned.under(*space.sides)


def pipeline_findings(pipeline: Pipeline, known: Iterable[str]) -> Iterator[Finding]:
    """Yield every problem of a pipeline; ``known`` are the modes that there are."""
    modes = tuple(known)
    there = frozenset(modes)
    allowed = modes if pipeline.allowed is None else pipeline.allowed
    for i, mode in enumerate(pipeline.allowed or ()):
        if mode not in there:
            yield _unknown(mode, modes, ("allowed", i))
    if pipeline.default not in there:
        yield _unknown(pipeline.default, modes, ("default",))
    elif pipeline.default not in allowed:
        yield _not_allowed(pipeline.default, allowed, ("default",))
    if not pipeline.nodes:
        yield Finding("step-none", "a pipeline needs at least one node", ("nodes",))
    admitted = frozenset(allowed)
    for i, node in enumerate(pipeline.nodes):
        at: Path = ("nodes", i)
        yield from _node(node, at)
        yield from _mode(node.extras, modes, there, (*at, "extras"))
        pinned = node.extras.get(PIN)
        if isinstance(pinned, str) and pinned in there and pinned not in admitted:
            yield _not_allowed(pinned, allowed, (*at, "extras", PIN))
    for knot in knots([(n.key, n.depends_on) for n in pipeline.nodes], "pipeline"):
        path: Path = ("nodes",)
        if knot.index is not None:
            last = ("key",) if knot.what == "duplicate" else ("depends_on", knot.nth)
            path = ("nodes", knot.index, *last)
        yield Finding(f"step-{knot.what}", knot.message, path, knot.hint)


def _node(node: PipelineNode, at: Path) -> Iterator[Finding]:
    key = node.key
    if not key or key != key.strip() or len(key) > _MAX_KEY or not key.isprintable():
        yield Finding(
            "step-key",
            f"a node's key has 1 to {_MAX_KEY} printable characters, no space around them, "
            f"got {quoted(key)}",
            (*at, "key"),
        )
    if not node.title.strip():
        yield Finding("step-title", "a node's title is empty", (*at, "title"))


def _mode(
    extras: Mapping[str, Any], known: tuple[str, ...], there: Container[str], at: Path
) -> Iterator[Finding]:
    """Yield what is wrong with how extras pin a mode, if they do."""
    for key, value in extras.items():
        if key == PIN:
            if not isinstance(value, str):
                message = f"`{PIN}` is to be the name of a mode in quotes"
                yield Finding("step-mode", message, (*at, PIN))
            elif value not in there:
                yield _unknown(value, known, (*at, PIN))
        elif looks_like_pin(key):
            yield _misspelt(key, (*at, key), f"the key is `{PIN}`, exactly")
        inner: Iterable[tuple[Path, Any]] = (((), value),)
        if isinstance(value, list | tuple):
            inner = (((i,), one) for i, one in enumerate(value))
        for where, table in inner:
            for deep in table if isinstance(table, Mapping) else ():
                if deep == PIN or looks_like_pin(deep):
                    hint = f"the key is `{PIN}`, exactly, in `extras` itself"
                    yield _misspelt(deep, (*at, key, *where, deep), hint)


def looks_like_pin(key: object) -> bool:
    """Say whether a key is probably meant for `PIN` and is not it: `Mode`, `modes`, `agent_mode`.

    One of its words is that word, or it is that word but for a slip. A model is no mode.
    """
    if not isinstance(key, str) or key == PIN:
        return False
    folded = unicodedata.normalize("NFKC", key)
    words = re.sub(r"([a-z])([A-Z])", r"\1 \2", folded).lower()
    parts = [re.sub(r"[^a-z]", "", w) for w in re.split(r"[\s_.:/-]+", words)]
    if any(p in (PIN, f"{PIN}s") for p in parts):
        return True
    letters = "".join(parts)
    if not letters.startswith(PIN[0]) or letters.startswith("model"):
        return False
    same = sorted(letters) == sorted(PIN)
    return same or SequenceMatcher(None, letters, PIN).ratio() >= _ALIKE


def _misspelt(key: object, path: Path, hint: str) -> Finding:
    message = f"{quoted(str(key))} pins no mode"
    return Finding("step-mode-key", message, path, hint, key=True)


def _unknown(mode: str, known: Iterable[str], path: Path, what: str = "") -> Finding:
    listed = tuple(known)
    hint = near(mode, listed) or f"there are {', '.join(listed) or 'none'}"
    said = what or "mode "
    return Finding("step-mode-unknown", f"unknown {said.removeprefix('the ')}{quoted(mode)}", path,
                   hint)  # fmt: skip


def _not_allowed(mode: str, allowed: Iterable[str], path: Path) -> Finding:
    listed = ", ".join(f"`{m}`" for m in allowed) or "none"
    return Finding(
        "step-mode-not-allowed",
        f"mode {quoted(mode)} is none that this pipeline allows",
        path,
        f"`allowed` has {listed}",
    )
