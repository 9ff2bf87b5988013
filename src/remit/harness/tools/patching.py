"""`apply_patch`: several files in one call, all or none."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from remit.harness.tools.changes import Change, apply
from remit.harness.tools.declaration import HarnessTool, Result, says
from remit.harness.tools.desk import Desk, Refused
from remit.harness.tools.files import MOST, Text, snapshot
from remit.harness.tools.patch import Section, patched, read_patch
from remit.harness.tools.tree import Tree

__all__ = ["APPLY_PATCH"]


@frozen
class ApplyPatch:
    """Apply a patch."""

    patch: str = says("From `*** Begin Patch` to `*** End Patch`.", least=1, most=MOST)


def _apply_patch(args: ApplyPatch, desk: Desk) -> Result:
    tree = Tree(desk)
    sections = read_patch(args.patch)
    changes = [change for section in sections for change in _changes(tree, section)]
    names = [change.spot.path for change in changes]
    for name in names:
        if names.count(name) > 1:
            raise Refused(
                f"the patch names `{name}` twice; say all of it in one place", "bad-patch"
            )
    apply(tree, changes)
    said = [
        f"{s.path} is {_DONE[s.verb]}" + (f" and is `{s.to}` now" if s.to else "") for s in sections
    ]
    return Result("\n".join(said) or "the patch is empty", data={"files": len(changes)})


_DONE = {"add": "made", "update": "changed", "delete": "removed"}


def _changes(tree: Tree, section: Section) -> Iterator[Change]:
    spot = tree.spot(section.path, writing=True)
    if section.verb == "add":
        yield Change(spot, None, "".join(f"{line}\n" for line in section.added).encode())
        return
    before = snapshot(tree, spot, follow=False)
    if section.verb == "delete":
        yield Change(spot, before, None)
        return
    after = before.data
    if section.hunks:
        after = patched(Text.of(before.data, spot), section.hunks, spot.name)
    if section.to is None:
        yield Change(spot, before, after)
        return
    yield Change(spot, before, None)
    yield Change(tree.spot(section.to, writing=True), None, after, before.mode)


APPLY_PATCH = HarnessTool(
    "apply_patch",
    "Change several files of the worktree in one call: all of it or nothing. The patch begins with "
    "`*** Begin Patch`, ends with `*** End Patch`, and has sections `*** Add File: PATH` (then "
    "lines with `+`), `*** Delete File: PATH`, and `*** Update File: PATH` (then `*** Move to: "
    "PATH` if it moves, then parts: `@@` and a line to look after, lines with ` `, `-` and `+`). "
    "Lines must stand exactly as given.",
    ApplyPatch,
    _apply_patch,
)
