"""`read`, `list` and `find`: looking at a worktree, bounded and paged."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator

from attrs import frozen

from remit.harness.tools.declaration import HarnessTool, Result, says
from remit.harness.tools.desk import Desk, Refused
from remit.harness.tools.files import BOM, LINES, is_binary, page, shortened, snapshot
from remit.harness.tools.globs import glob
from remit.harness.tools.tree import Tree
from remit.harness.tools.walking import files_under
from remit.policy.escape import escape, quoted

__all__ = ["FIND", "LIST", "READ"]

_CURSOR = "Goes on where a result before this one ended, in its own words."


@frozen
class Read:
    """Read lines of a text file."""

    path: str = says("The file, from the folder that is worked in or absolute.")
    line: int = says("The first line to read, counted from 1.", default=1, least=1)
    limit: int = says("How many lines at most.", default=LINES, least=1, most=LINES)
    cursor: str | None = says(_CURSOR, default=None)


def _read(args: Read, desk: Desk) -> Result:
    tree = Tree(desk)
    spot = tree.spot(args.path)
    found = snapshot(tree, spot)
    if is_binary(found.data):
        raise Refused(f"`{spot.name}` is a binary file of {len(found.data)} bytes", "binary")
    told = []
    try:
        text = found.data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError:
        text = found.data.decode("utf-8", "backslashreplace")
        told.append("it is not UTF-8: other bytes stand as `\\xNN`")
    if b"\r\n" in found.data:
        told.append("lines end in CRLF")
    state = hashlib.sha256(found.data).hexdigest()[:12]
    first = _first(args, state)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    elif lines:
        told.append("the last line has no newline")
    if first > max(len(lines), 1):
        raise Refused(f"`{spot.name}` has {len(lines)} lines, asked for line {first}", "past-end")
    chosen = (
        f"{i}\t{shortened(line.removesuffix(chr(13)))}"
        for i, line in enumerate(lines[first - 1 :], first)
    )
    out, more = page(chosen, args.limit)
    last = first - 1 + len(out)
    data = {"path": spot.name, "lines": len(lines), "first": first, "last": last}
    head = f"{spot.name}: {'empty' if not lines else f'lines {first} to {last} of {len(lines)}'}"
    text = "\n".join((f"{head}{''.join(f'; {t}' for t in told)}", *out))
    return _paged(text, f"{last + 1}@{state}" if more else None, data)


def _first(args: Read, state: str) -> int:
    if args.cursor is None:
        return args.line
    line, _, before = args.cursor.partition("@")
    if not line.isdecimal() or len(line) > 12:
        raise Refused(f"{quoted(args.cursor)} is no cursor of `read`", "bad-cursor")
    if before != state:
        raise Refused("the file was changed since that page; read it anew", "changed")
    return max(int(line), 1)


def _paged(text: str, cursor: str | None, data: dict[str, object]) -> Result:
    if cursor is None:
        return Result(text, data=data)
    return Result(f"{text}\n(there is more: cursor `{cursor}`)", data={**data, "cursor": cursor})


@frozen
class List:
    """List one folder."""

    path: str = says("The folder.", default=".")
    cursor: str | None = says(_CURSOR, default=None)


def _list(args: List, desk: Desk) -> Result:
    tree = Tree(desk)
    spot = tree.spot(args.path)
    with tree.opened(spot) as (fd, _):
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            raise Refused(f"`{spot.name}` is no folder", "not-folder")
        names = sorted(os.listdir(fd), key=escape)
        left = [n for n in names if args.cursor is None or escape(n) > args.cursor]
        out, more = page(_entry(fd, n) for n in left)
    data = {"path": spot.name, "entries": len(names)}
    text = "\n".join((f"{spot.name}: {len(names)} in all", *out))
    return _paged(text, escape(left[len(out) - 1]) if more else None, data)


def _entry(folder: int, name: str) -> str:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return f"{escape(name)} (gone)"
    if stat.S_ISLNK(found.st_mode):
        return f"{escape(name)} -> {escape(os.readlink(name, dir_fd=folder))}"
    if stat.S_ISDIR(found.st_mode):
        return f"{escape(name)}/"
    return f"{escape(name)} ({found.st_size} bytes)"


@frozen
class Find:
    """Find files by their names."""

    pattern: str = says(
        "A glob: `*` within a name, `**` across folders, `?`, `[ab]`, `{a,b}`. One without `/` "
        "is matched with the file's own name.",
        least=1,
        most=1_000,
    )
    path: str = says("The folder to look in.", default=".")
    ignored: bool = says("Look also at what git ignores.", default=False)
    cursor: str | None = says(_CURSOR, default=None)


def _find(args: Find, desk: Desk) -> Result:
    tree = Tree(desk)
    spot = tree.spot(args.path)
    wanted = glob(args.pattern)

    def found() -> Iterator[str]:
        for path in files_under(tree, spot, ignored=args.ignored):
            if wanted(path) and (args.cursor is None or escape(path) > args.cursor):
                yield escape(path)

    lines, more = page(found())
    text = "\n".join(lines or ["no file matches"])
    return _paged(text, lines[-1] if more else None, {"files": len(lines)})


READ = HarnessTool(
    "read",
    "Read a text file of the worktree, with line numbers. Long files come in pages.",
    Read,
    _read,
)
LIST = HarnessTool("list", "List what is in one folder of the worktree.", List, _list)
FIND = HarnessTool(
    "find",
    "Find files of the worktree by a glob of their paths; what git ignores is left out unless "
    "asked for.",
    Find,
    _find,
)
