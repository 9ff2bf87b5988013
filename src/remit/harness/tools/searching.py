"""`search`: lines of files that match a pattern.

ripgrep, where there is one, only says which files are not worth reading; the matching itself is
always that of Python, so the results are the same without it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path

from attrs import define, frozen

from remit.harness.tools import _match
from remit.harness.tools.declaration import HarnessTool, Result, says
from remit.harness.tools.desk import Desk, Halted, Refused
from remit.harness.tools.files import is_binary, page, snapshot
from remit.harness.tools.globs import glob
from remit.harness.tools.tree import Spot, Tree
from remit.harness.tools.walking import files_under
from remit.harness.tools.worth import worth_reading
from remit.policy.escape import escape, quoted

__all__ = ["SEARCH"]

#: Seconds that a search may take, characters of a line, matches of a page, bytes of a file.
_PATIENCE, _WIDTH, _MATCHES, _FILE = 30.0, 300, 300, 4 * 1024 * 1024
_POLL = 0.02


@frozen
class Search:
    """Search in files."""

    pattern: str = says(
        "A regular expression as Python's `re` has it, looked for in each line. Where all of it is "
        "ASCII, so are `\\w`, `\\b` and what `ignore_case` makes equal.",
        least=1,
        most=1_000,
    )
    path: str = says("The folder or file to search.", default=".")
    glob: str | None = says("Search only files whose path matches.", default=None, most=1_000)
    literal: bool = says("Take the pattern as it is written.", default=False)
    ignore_case: bool = says("Take large and small letters for the same.", default=False)
    ignored: bool = says("Search also what git ignores.", default=False)
    cursor: str | None = says(
        "Goes on where a result before this one ended, in its own words.", default=None
    )


@define
class _Left:
    """What was not searched."""

    binary: int = 0
    large: int = 0
    secret: int = 0

    def told(self) -> Iterator[str]:
        for count, what in (
            (self.binary, "binary"),
            (self.large, "too large"),
            (self.secret, "where secrets lie, each to be named as `path`"),
        ):
            if count:
                yield f"({count} files were left out: {what})"


def _search(args: Search, desk: Desk) -> Result:
    _compiled(args)
    tree = Tree(desk)
    spot = tree.spot(args.path)
    after = _cursor(args.cursor)
    left = _Left()
    names = _chosen(args, tree, spot, after[0], left)
    names = worth_reading(tree, spot.root, names, args.pattern, args.literal, args.ignore_case)
    found = _matches(args, tree, spot.root, names, left)
    shown: list[tuple[str, int]] = []

    def told() -> Iterator[str]:
        for name, number, text in found:
            at = (escape(name), number)
            if at > after:
                shown.append(at)
                yield f"{at[0]}:{number}: {escape(text)}"

    lines, more = page(told(), _MATCHES)
    found.close()
    text = "\n".join((*(lines or ["no line matches"]), *left.told()))
    data = {"matches": len(lines)}
    if not more:
        return Result(text, data=data)
    name, line = shown[len(lines) - 1]
    cursor = f"{line}:{name}"
    return Result(f"{text}\n(there is more: cursor `{cursor}`)", data={**data, "cursor": cursor})


def _compiled(args: Search) -> None:
    if args.literal:
        return
    try:
        re.compile(args.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise Refused(f"{quoted(args.pattern)} is no pattern: {error}", "bad-pattern") from None


def _cursor(cursor: str | None) -> tuple[str, int]:
    if cursor is None:
        return "", 0
    line, _, name = cursor.partition(":")
    if not line.isdecimal() or len(line) > 12 or not name:
        raise Refused(f"{quoted(cursor)} is no cursor of `search`", "bad-cursor")
    return name, int(line)


def _chosen(args: Search, tree: Tree, spot: Spot, after: str, left: _Left) -> list[str]:
    """Return the files to search; one where secrets lie is searched only where it is named."""
    wanted = glob(args.glob) if args.glob else lambda path: True
    out = []
    for name in files_under(tree, spot, ignored=args.ignored):
        if escape(name) < after or not wanted(name):
            continue
        place = tree.place(Spot(spot.root, tuple(name.split("/"))))
        if place.hidden or (place.secret and name != spot.name):
            left.secret += 1
        else:
            out.append(name)
    return out


def _matches(
    args: Search, tree: Tree, root: str, names: list[str], left: _Left
) -> Generator[tuple[str, int, str], None, None]:
    """Yield name, line and text of each match in order; the matcher ends with the iteration."""
    until = tree.desk.clock() + _PATIENCE
    program = [sys.executable, "-I", "-S", str(Path(_match.__file__))]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as matcher:
        feeder = threading.Thread(
            target=_feed, args=(args, tree, root, names, left, matcher), daemon=True
        )
        feeder.start()
        try:
            for line in _lines(matcher, tree.desk, until):
                name, number, text = json.loads(line)
                yield name, number, text
        finally:
            matcher.kill()
            feeder.join()


def _feed(
    args: Search,
    tree: Tree,
    root: str,
    names: list[str],
    left: _Left,
    matcher: subprocess.Popen[bytes],
) -> None:
    """Hand the files to the matcher, each read where it really is."""
    assert matcher.stdin is not None, "it is a pipe"
    asked = {
        "pattern": args.pattern,
        "literal": args.literal,
        "ignore_case": args.ignore_case,
        "width": _WIDTH,
    }
    with suppress(OSError, Halted), matcher.stdin as pipe:
        pipe.write(json.dumps(asked).encode() + b"\n")
        for name in names:
            try:
                data = snapshot(
                    tree, Spot(root, tuple(name.split("/"))), follow=False, most=_FILE
                ).data
            except Refused as error:
                left.large += error.why == "too-large"
                continue
            except OSError:
                continue
            if is_binary(data):
                left.binary += 1
                continue
            pipe.write(json.dumps([len(data), name]).encode() + b"\n" + data)
        pipe.flush()


def _lines(matcher: subprocess.Popen[bytes], desk: Desk, until: float) -> Iterator[bytes]:
    """Yield what the matcher writes; it is waited for in small steps, as it may never answer."""
    assert matcher.stdout is not None, "it is a pipe"
    fd, rest = matcher.stdout.fileno(), b""
    os.set_blocking(fd, False)
    while True:
        desk.halt()
        if desk.clock() > until:
            raise Refused(f"the pattern took longer than {_PATIENCE:.0f} s", "late")
        try:
            part = os.read(fd, 65536)
        except BlockingIOError:
            desk.cancelled.wait(_POLL)
            continue
        if not part:
            return
        *whole, rest = (rest + part).split(b"\n")
        yield from whole


SEARCH = HarnessTool(
    "search",
    "Search the files of the worktree for lines that match a regular expression; what git ignores "
    "is left out unless asked for.",
    Search,
    _search,
)
