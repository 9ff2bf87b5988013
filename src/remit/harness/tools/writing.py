"""`write` and `edit`: one file as a whole, or one exact piece of it."""

from __future__ import annotations

from attrs import frozen

from remit.harness.tools.changes import Change, apply
from remit.harness.tools.declaration import HarnessTool, Result, says
from remit.harness.tools.desk import Desk, Refused
from remit.harness.tools.files import BOM, MOST, Snapshot, Text, snapshot
from remit.harness.tools.tree import Spot, Tree

__all__ = ["EDIT", "WRITE"]


@frozen
class Write:
    """Write one file."""

    path: str = says("The file; folders above it that are missing are made.")
    content: str = says("All that it is to hold.", most=MOST)


def _write(args: Write, desk: Desk) -> Result:
    tree = Tree(desk)
    spot = tree.spot(args.path, writing=True)
    before = existing(tree, spot)
    data = args.content.encode()
    told = "made"
    if before is not None:
        told = "replaced"
        text = Text(before.data)
        if text.newline == b"\r\n" and b"\r\n" not in data:
            data, told = text.as_here(args.content), "replaced, with CRLF as before"
        if before.data.startswith(BOM) and not data.startswith(BOM):
            data = BOM + data
    apply(tree, [Change(spot, before, data)])
    return Result(f"{spot.name} is {told} ({len(data)} bytes)", data={"path": spot.name})


def existing(tree: Tree, spot: Spot) -> Snapshot | None:
    """Read a file that is to be changed; None where there is none."""
    try:
        return snapshot(tree, spot, follow=False)
    except Refused as error:
        if error.why == "missing":
            return None
        raise


@frozen
class Edit:
    """Replace a piece of a file."""

    path: str = says("The file.")
    old: str = says("What is there now, exactly, with all white space.", least=1)
    new: str = says("What is to stand there instead.")
    line: int | None = says(
        "The line where `old` begins, as it was read: it is replaced there or not at all.",
        default=None,
        least=1,
    )
    every: bool = says("Replace it wherever it stands.", default=False)


def _edit(args: Edit, desk: Desk) -> Result:
    if args.old == args.new:
        raise Refused("`old` and `new` are the same", "no-change")
    if args.every and args.line is not None:
        raise Refused("`every` and `line` exclude each other", "bad-arguments")
    tree = Tree(desk)
    spot = tree.spot(args.path, writing=True)
    before = snapshot(tree, spot, follow=False)
    text = Text.of(before.data, spot)
    old, new = text.as_here(args.old), text.as_here(args.new)
    places = _places(before.data, old)
    if not places:
        raise Refused(f"`old` does not stand in `{spot.name}`", "not-found")
    if args.every:
        data, chosen = before.data.replace(old, new), _apart(places, len(old))
    else:
        at = _one(places, before.data, args.line, spot)
        data = before.data[:at] + new + before.data[at + len(old) :]
        chosen = [at]
    apply(tree, [Change(spot, before, data)])
    lines = [_line(before.data, at) for at in chosen]
    said = f"line {lines[0]}" if len(lines) == 1 else f"{len(lines)} places"
    return Result(f"{spot.name} is changed at {said}", data={"path": spot.name, "lines": lines})


def _places(data: bytes, old: bytes) -> list[int]:
    found, at = [], data.find(old)
    while at >= 0:
        found.append(at)
        at = data.find(old, at + 1)
    return found


def _apart(places: list[int], size: int) -> list[int]:
    """Return the places that are replaced, from the front, where some overlap."""
    chosen: list[int] = []
    for place in places:
        if not chosen or place >= chosen[-1] + size:
            chosen.append(place)
    return chosen


def _one(places: list[int], data: bytes, line: int | None, spot: Spot) -> int:
    """Return the one place that is meant (S004-R10: a target that moved is refused)."""
    lines = [_line(data, at) for at in places]
    listed = ", ".join(map(str, lines[:10]))
    if line is not None:
        at_line = [p for p, where in zip(places, lines, strict=True) if where == line]
        if not at_line:
            raise Refused(f"`old` moved: it stands at line {listed} of `{spot.name}` now", "moved")
        places, listed = at_line, str(line)
    if len(places) > 1:
        raise Refused(
            f"`old` stands {len(places)} times in `{spot.name}` (line {listed}); give more of what "
            "is around it, or `every`",
            "not-unique",
        )
    return places[0]


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


WRITE = HarnessTool(
    "write",
    "Write a whole file of the worktree; one that is there is replaced and keeps its mode and "
    "newlines. It goes through no link.",
    Write,
    _write,
)
EDIT = HarnessTool(
    "edit",
    "Replace an exact piece of a text file. It is looked for when it is replaced, and must stand "
    "there once.",
    Edit,
    _edit,
)
