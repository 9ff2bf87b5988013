"""The verbs of a review, and the places of its findings held against the worktree."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remit.policy.problems import InputError, Problem
from remit.policy.review import Anchor, AxisVerdict, NodeKind, Priority, read_axes, read_finding

if TYPE_CHECKING:
    from remit.harness.natives import Desk
    from remit.harness.store import FindingRecord

__all__ = ["AXES", "FINDING", "add", "check_anchor", "confirm", "dismiss", "finalize", "told"]

Said = tuple[str, Mapping[str, Any]]


def check_anchor(worktree: str | None, anchor: Anchor | None) -> None:
    """Raise `InputError` unless a worktree has the lines of an anchor; without one, do nothing."""
    if worktree is None or anchor is None:
        return
    root = os.path.realpath(worktree)
    path = os.path.realpath(os.path.join(root, anchor.file))
    if os.path.commonpath((root, path)) != root or not os.path.isfile(path):
        message = f"the worktree has no file `{anchor.file}`"
        raise InputError(Problem("review-anchor", message, "name it as the worktree does",
                                 path="file"))  # fmt: skip
    with open(path, "rb") as file:
        lines = sum(1 for _ in file)
    if anchor.last > lines:
        message = f"`{anchor.file}` has {lines} lines, and line {anchor.last} is named"
        raise InputError(Problem("review-anchor", message, path="last_line"))


def add(desk: Desk, args: Mapping[str, Any]) -> Said:
    """Add a finding."""
    space, node = desk.frame.space, read_finding(args)
    check_anchor(space.worktree, node.anchor)
    made = desk.store.reviews.add(
        space.id, desk.conversation, node, by=desk.agent, now=desk.now, expect=space.revision
    )
    return f"Finding `{made.id}` is noted; a peer may confirm it.", told(made)


def confirm(desk: Desk, args: Mapping[str, Any]) -> Said:
    """Hold a peer's finding true."""
    space, id = desk.frame.space, args["id"]
    made = desk.store.reviews.confirm(
        space.id, desk.conversation, id, by=desk.agent, now=desk.now, expect=space.revision
    )
    return f"Finding `{made.id}` is {made.status}.", told(made)


def dismiss(desk: Desk, args: Mapping[str, Any]) -> Said:
    """Hold a peer's finding to be none."""
    space, id, why = desk.frame.space, args["id"], args["reason"].strip()
    made = desk.store.reviews.dismiss(
        space.id, desk.conversation, id, by=desk.agent, now=desk.now, why=why,
        expect=space.revision,
    )  # fmt: skip
    return f"Finding `{made.id}` is {made.status}.", told(made)


def finalize(desk: Desk, args: Mapping[str, Any]) -> Said:
    """Weigh the findings under the axes."""
    space, axes = desk.frame.space, read_axes(args.get("axes"))
    done = desk.store.reviews.finalize(
        space.id, desk.conversation, axes, by=desk.agent, now=desk.now, expect=space.revision
    )
    said = f"{len(done.findings)} finding{'s' * (len(done.findings) != 1)}"
    data = {"space": done.space, "verdict": done.verdict.value, "dropped": done.dropped}
    return f"The review's verdict is {done.verdict}: {said}.", data


def told(found: FindingRecord) -> dict[str, Any]:
    """Return a finding as JSON."""
    return {
        "id": found.id,
        **found.node.value(),
        "author": found.author,
        "status": found.status.value,
        "confirmed_by": list(found.confirmed_by),
        "added_at": found.added_at,
    }


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


FINDING: Mapping[str, Any] = {
    "kind": _text("What it asks for.", enum=[k.value for k in NodeKind]),
    "priority": _text("How bad it is, P0 the worst.", enum=[p.value for p in Priority]),
    "confidence": {
        "type": "number", "minimum": 0, "maximum": 1, "description": "How sure you are.",
    },
    "text": _text("What happens, and when."),
    "file": _text("The file, as the worktree names it; none for the whole repository."),
    "first_line": {"type": "integer", "minimum": 1, "description": "Its first line."},
    "last_line": {"type": "integer", "minimum": 1, "description": "Its last line."},
}  # fmt: skip

AXES: Mapping[str, Any] = {
    "axes": {
        "type": "array",
        "description": "What was looked at apart from the findings, each with how it ended.",
        "items": {
            "type": "object",
            "properties": {
                "name": _text("Such as tests or security."),
                "verdict": _text("How it ended; what did not run is unavailable.",
                                 enum=[v.value for v in AxisVerdict]),
                "gated": {"type": "boolean", "description": "Must it not fail; true unless said."},
            },
            "required": ["name", "verdict"],
        },
    }
}  # fmt: skip
