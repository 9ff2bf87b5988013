"""Reviews: findings that weigh by priority and confidence, and a verdict that axes only harden.

A finding that cannot be weighed counts for nothing, so it is dropped where it is read, and counted
(S003-12). Whatever order findings and axes come in, none of them makes a verdict milder (S003-13).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeGuard

from attrs import field, frozen

from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem, near

__all__ = [
    "Anchor",
    "Axis",
    "AxisVerdict",
    "NodeKind",
    "NodeStatus",
    "Priority",
    "ReviewNode",
    "ReviewVerdict",
    "read_axes",
    "read_finding",
    "stored_finding",
    "verdict_of",
]

#: From this confidence on a finding of the highest priority blocks.
SURE = 0.7
_MAX_TEXT = 16 * 1024


class NodeKind(StrEnum):
    """What a finding asks for; what is not known counts as a suggestion."""

    BUG = "bug"
    SUGGESTION = "suggestion"
    RECOMMENDATION = "recommendation"
    QUESTION = "question"
    TICKET = "ticket"


class Priority(StrEnum):
    """How bad it is, the worst first."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"


class NodeStatus(StrEnum):
    """How a finding stands; the last two count for nothing in a verdict."""

    OPEN = "open"
    CONSENSUS_READY = "consensus-ready"
    RESOLVED = "resolved"
    DISMISSED = "dismissed"

    @property
    def counts(self) -> bool:
        """Does it weigh."""
        return self in (NodeStatus.OPEN, NodeStatus.CONSENSUS_READY)


@frozen
class Anchor:
    """Where a finding is: a file as the worktree names it, and lines from 1, both included."""

    file: str
    first: int
    last: int


@frozen
class ReviewNode:
    """One finding; without an anchor it is about the whole repository."""

    kind: NodeKind
    priority: Priority
    confidence: float
    text: str
    anchor: Anchor | None = None

    def value(self) -> dict[str, Any]:
        """Return it as JSON takes it; `stored_finding` makes an equal one of that."""
        at = self.anchor
        return {
            "kind": self.kind.value,
            "priority": self.priority.value,
            "confidence": self.confidence,
            "text": self.text,
            "file": at and at.file,
            "first_line": at and at.first,
            "last_line": at and at.last,
        }


class ReviewVerdict(StrEnum):
    """What becomes of a change, the mildest first."""

    SHIP = "ship"
    HOLD = "hold"
    BLOCK = "block"


class AxisVerdict(StrEnum):
    """What one look at a change found; what is not known counts as unavailable."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    PARTIAL = "partial"
    UNAVAILABLE = "unavailable"


@frozen
class Axis:
    """One look at a change: its tests, its security. A gated one must not fail."""

    name: str
    verdict: AxisVerdict = AxisVerdict.UNAVAILABLE
    gated: bool = True


#: What a gated axis makes of a verdict at least. What did not run is no evidence of anything.
_FORCES: Mapping[AxisVerdict, ReviewVerdict] = {
    AxisVerdict.PASS: ReviewVerdict.SHIP,
    AxisVerdict.WARN: ReviewVerdict.SHIP,
    AxisVerdict.FAIL: ReviewVerdict.BLOCK,
    AxisVerdict.PARTIAL: ReviewVerdict.HOLD,
    AxisVerdict.UNAVAILABLE: ReviewVerdict.HOLD,
}


def verdict_of(
    nodes: Iterable[tuple[ReviewNode, NodeStatus]], axes: Iterable[Axis] = ()
) -> ReviewVerdict:
    """Return the verdict: the most severe that a finding or a gated axis asks for."""
    asked = [_asks(node) for node, status in nodes if status.counts]
    asked += [_FORCES[axis.verdict] for axis in axes if axis.gated]
    return max(asked, key=list(ReviewVerdict).index, default=ReviewVerdict.SHIP)


def _asks(node: ReviewNode) -> ReviewVerdict:
    if node.priority is Priority.P0 and node.confidence >= SURE:
        return ReviewVerdict.BLOCK
    serious = node.priority in (Priority.P0, Priority.P1)
    return ReviewVerdict.HOLD if serious else ReviewVerdict.SHIP


def stored_finding(value: Mapping[str, Any]) -> ReviewNode | None:
    """Return a finding as it was stored; None where it cannot be weighed (S003-12)."""
    priority, confidence = _priority(value.get("priority")), _confidence(value.get("confidence"))
    if priority is None or confidence is None:
        return None
    kind, text = value.get("kind"), value.get("text")
    return ReviewNode(
        NodeKind(kind) if kind in list(NodeKind) else NodeKind.SUGGESTION,
        priority,
        confidence,
        text if isinstance(text, str) else "",
        _anchor(value),
    )


def _priority(value: object) -> Priority | None:
    upper = value.upper() if isinstance(value, str) else None
    return Priority(upper) if upper in list(Priority) else None


def _confidence(value: object) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # What is not a number lies between no others.
    return float(value) if number and 0 <= value <= 1 else None  # type: ignore[operator,arg-type]


def _anchor(value: Mapping[str, Any]) -> Anchor | None:
    file, first, last = value.get("file"), value.get("first_line"), value.get("last_line")
    if not isinstance(file, str) or not file:
        return None
    start = first if _line(first) else 1
    return Anchor(file, start, last if _line(last) and last >= start else start)


def _line(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 1


@frozen
class _Found:
    problems: list[Problem] = field(factory=list)

    def add(self, message: str, path: str, hint: str = "") -> None:
        self.problems.append(Problem("review-node", message, hint, path=path))

    def keys(self, given: Mapping[str, Any], known: tuple[str, ...], path: str = "") -> None:
        for key in given:
            if key not in known:
                hint = near(str(key), known) or f"the keys are {', '.join(known)}"
                self.add(f"unknown key {quoted(str(key))}", f"{path}{key}", hint)


def read_finding(args: Mapping[str, Any]) -> ReviewNode:
    """Read a finding from a call's arguments; raise `InputError` with every problem."""
    found = _Found()
    found.keys(args, ("kind", "priority", "confidence", "text", "file", "first_line", "last_line"))
    kinds = [k.value for k in NodeKind]
    if args.get("kind") not in kinds:
        hint = near(str(args.get("kind")), kinds)
        found.add(f"`kind` is to be one of {', '.join(kinds)}", "kind", hint)
    if _priority(args.get("priority")) is None:
        found.add("`priority` is to be P0, P1, P2 or P3", "priority")
    if _confidence(args.get("confidence")) is None:
        found.add("`confidence` is to be a number from 0 to 1", "confidence")
    text = args.get("text")
    if not isinstance(text, str) or not text.strip() or len(text) > _MAX_TEXT:
        found.add(f"`text` is to be text of 1 to {_MAX_TEXT} characters", "text")
    file, first, last = (args.get(k) for k in ("file", "first_line", "last_line"))
    if file is None and (first is not None or last is not None):
        found.add("lines are given and no `file`", "file")
    if file is not None and not _inside(file):
        found.add("`file` is to be a path within the worktree, relative to it", "file")
    if first is not None and not _line(first):
        found.add("`first_line` is to be a whole number from 1 on", "first_line")
    if last is not None and not (_line(last) and _line(first) and last >= first):
        found.add("`last_line` is to be a line from `first_line` on", "last_line")
    node = None if found.problems else stored_finding(args)
    if node is None:
        raise InputError(found.problems)
    return node


def _inside(file: object) -> bool:
    if not isinstance(file, str) or not file or not file.isprintable() or "\\" in file:
        return False
    return not file.startswith("/") and ".." not in file.split("/")


def read_axes(given: object) -> tuple[Axis, ...]:
    """Read axes from a call's arguments; raise `InputError` with every problem.

    A word that is no verdict of an axis counts as unavailable, as does none (S003-13).
    """
    found = _Found()
    axes: list[Axis] = []
    if given is not None and not isinstance(given, list):
        found.add("`axes` is to be a list", "axes")
    for i, one in enumerate(given if isinstance(given, list) else ()):
        at = f"axes[{i}]"
        if not isinstance(one, Mapping):
            found.add("an axis is to be an object", at)
            continue
        found.keys(one, ("name", "verdict", "gated"), f"{at}.")
        name, said, gated = one.get("name"), one.get("verdict"), one.get("gated", True)
        if not isinstance(name, str) or not name.strip():
            found.add("`name` is missing or empty", f"{at}.name")
        if not isinstance(gated, bool):
            found.add("`gated` is to be true or false", f"{at}.gated")
        known = said in list(AxisVerdict)
        axes.append(
            Axis(
                str(name), AxisVerdict(str(said)) if known else AxisVerdict.UNAVAILABLE, bool(gated)
            )
        )
    if found.problems:
        raise InputError(found.problems)
    return tuple(axes)
