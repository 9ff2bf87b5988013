"""Artifacts: the files of a run, written by the host at the paths that its mode declares.

Every folder on the way is opened in the one before it and no link is followed; a file is replaced
whole, or is as it was (S000-27).
"""

from __future__ import annotations

from remit.harness.tools.changes import Change, apply
from remit.harness.tools.desk import Desk, Refused
from remit.harness.tools.files import Snapshot, snapshot
from remit.harness.tools.tree import Spot, Tree
from remit.policy.run import Run
from remit.policy.run_brief import missing_headings

__all__ = ["read_artifact", "unmet", "write_artifact", "write_template"]

#: Bytes of an artifact that are read: those of the largest that a model hands over, and some.
_MOST = 2 * 1024 * 1024


def write_artifact(run: Run, id: str, text: str, desk: Desk) -> str:
    """Write a declared artifact; return why it could not be, empty where it is written."""
    try:
        tree, spot, before = _look(run, id, desk)
        apply(tree, [Change(spot, before, text.encode("utf-8", "replace"))])
    except (Refused, OSError) as error:
        return f"the artifact `{id}` cannot be written: {_why(error)}"
    return ""


def write_template(run: Run, id: str, text: str, desk: Desk) -> str:
    """Write an artifact from its template where there is no file yet (S000-22)."""
    try:
        tree, spot, before = _look(run, id, desk)
        if before is None:
            apply(tree, [Change(spot, None, text.encode("utf-8", "replace"))])
    except (Refused, OSError) as error:
        return f"the artifact `{id}` cannot be made from its template: {_why(error)}"
    return ""


def read_artifact(run: Run, id: str, desk: Desk) -> str | None:
    """Return what an artifact holds now, None where it cannot be read."""
    try:
        _, _, there = _look(run, id, desk)
    except (Refused, OSError):
        return None
    return None if there is None else there.data.decode("utf-8", "replace")


def unmet(run: Run, id: str, desk: Desk) -> str:
    """Return why an artifact does not meet its declaration, empty where it does (S000-68)."""
    path = run.workflow.paths(run.id)[id]
    try:
        _, _, there = _look(run, id, desk)
    except (Refused, OSError) as error:
        return f"the artifact `{id}` cannot be read: {_why(error)}"
    if there is None:
        return f"the artifact `{id}` is missing: there is no `{path}`"
    text = there.data.decode("utf-8", "replace")
    missing = missing_headings(text, run.workflow.artifacts[id].headings)
    if missing:
        listed = ", ".join(f"`{h}`" for h in missing)
        return f"the artifact `{id}` in `{path}` lacks the headings {listed}"
    return ""


def _look(run: Run, id: str, desk: Desk) -> tuple[Tree, Spot, Snapshot | None]:
    tree = Tree(desk)
    spot = tree.spot(run.workflow.paths(run.id)[id], writing=True)
    try:
        return tree, spot, snapshot(tree, spot, follow=False, most=_MOST)
    except Refused as error:
        if error.why != "missing":
            raise
        return tree, spot, None


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return str(error)
