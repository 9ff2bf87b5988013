"""Positions: where in a TOML text each key and value stands.

tomllib gives none. This scanner runs only when a place is wanted, over a text that tomllib has
taken or up to the place where it stopped; it never recurses and it reads each character once.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate

from attrs import field, frozen

__all__ = ["DEPTH", "KeyPath", "Located", "Spot", "key_path", "locate"]

#: How deep keys, tables and lists may nest; a profile needs five.
DEPTH = 24

KeyPath = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*+")
_SPACE = re.compile(r"[ \t]*+")
_PART = re.compile(r"""("(?:[^"\\\n]|\\.)*+")|'([^'\n]*+)'|([A-Za-z0-9_-]++)""")
_DOT = re.compile(r"[ \t]*+\.[ \t]*+")
_EQUALS = re.compile(r"[ \t]*+=[ \t]*+")
_SCALAR = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"{1,2}+(?!"))*+"{3,5}+'
    r"|'''(?:[^']|'{1,2}+(?!'))*+'{3,5}+"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*+'"
    r"|[^\s,\[\]{}#\"'][^,\[\]{}#\n]*+"
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def key_path(path: KeyPath) -> str:
    """Write a path as people read it: ``ceiling.refuse[1]``, ``limit."worktree.write"``."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            quoted = part if _BARE.fullmatch(part) else f'"{part}"'
            out += f".{quoted}" if out else quoted
    return out


@frozen
class Spot:
    """Offsets of a key and of its value; the same one where there is only one of them."""

    key: int
    value: int


@frozen
class Located:
    """What a scan found.

    ``again`` is the first key that is given twice and its second offset; ``deep`` the offset at
    which nesting went past `DEPTH`; ``whole`` says whether the scan came to the end of the text.
    """

    text: str = field(repr=False)
    spots: Mapping[KeyPath, Spot]
    again: tuple[KeyPath, int] | None
    deep: int | None
    whole: bool

    @cached_property
    def _lines(self) -> list[int]:
        return list(
            accumulate(
                (len(line) for line in self.text.split("\n")), lambda a, n: a + n + 1, initial=0
            )
        )

    def line_column(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both from 1."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def spot(self, path: KeyPath) -> Spot | None:
        """Return the spot of a path, or that of the nearest thing around it."""
        for n in range(len(path), 0, -1):
            if (found := self.spots.get(path[:n])) is not None:
                return found
        return None


class _Stop(Exception):
    """The text is no TOML from here on, or nests too deep."""


def locate(text: str) -> Located:
    """Find every key and value of a TOML text whose newlines are ``\\n``."""
    scan = _Scan(text)
    try:
        scan.document()
    except _Stop:
        return Located(text, scan.spots, scan.again, scan.deep, False)
    return Located(text, scan.spots, scan.again, scan.deep, True)


class _Scan:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.spots: dict[KeyPath, Spot] = {}
        self.again: tuple[KeyPath, int] | None = None
        self.deep: int | None = None
        self.tables: set[KeyPath] = set()
        self.counts: dict[KeyPath, int] = {}

    def skip(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found is not None

    def take(self, literal: str) -> bool:
        taken = self.text.startswith(literal, self.at)
        if taken:
            self.at += len(literal)
        return taken

    def expect(self, done: bool) -> None:
        if not done:
            raise _Stop

    def check_depth(self, depth: int, offset: int) -> None:
        if depth > DEPTH:
            self.deep = offset
            raise _Stop

    def document(self) -> None:
        here: KeyPath = ()
        while True:
            self.skip(_BLANK)
            if self.at >= len(self.text):
                return
            start = self.at
            if self.take("[["):
                here = self.header(start, many=True)
                self.expect(self.take("]]"))
            elif self.take("["):
                here = self.header(start, many=False)
                self.expect(self.take("]"))
            else:
                self.pairs(here)

    def key(self, depth: int) -> list[tuple[str, int]]:
        """Read a dotted key: its parts, each with its offset."""
        parts: list[tuple[str, int]] = []
        while True:
            found = _PART.match(self.text, self.at)
            if found is None:
                raise _Stop
            part = found[2] if found[2] is not None else found[3]
            parts.append((_unquoted(found[1]) if part is None else part, self.at))
            self.check_depth(depth + len(parts), self.at)
            self.at = found.end()
            if not self.skip(_DOT):
                return parts

    def header(self, start: int, *, many: bool) -> KeyPath:
        self.skip(_SPACE)
        parts = self.key(0)
        self.skip(_SPACE)
        path: KeyPath = ()
        for i, (part, offset) in enumerate(parts):
            path = (*path, part)
            last = i + 1 == len(parts)
            if path in self.counts and not (last and many):
                path = (*path, self.counts[path] - 1)
            self.spots.setdefault(path, Spot(offset, offset))
        if many:
            if path in self.tables or (
                path in self.spots and path not in self.counts and self.spots[path].key < start
            ):
                self.duplicate(path, parts[-1][1])
            n = self.counts.get(path, 0)
            self.counts[path] = n + 1
            path = (*path, n)
            self.spots[path] = Spot(parts[-1][1], parts[-1][1])
        elif path in self.tables:
            self.duplicate(path, parts[-1][1])
        self.tables.add(path)
        return path

    def duplicate(self, path: KeyPath, offset: int) -> None:
        if self.again is None:
            self.again = (path, offset)

    def assign(self, base: KeyPath) -> KeyPath:
        """Read ``key =`` and note where it stands; the value's place follows."""
        parts = self.key(len(base))
        self.expect(self.skip(_EQUALS))
        path = base
        for part, offset in parts[:-1]:
            path = (*path, part)
            self.spots.setdefault(path, Spot(offset, offset))
        path = (*path, parts[-1][0])
        if path in self.spots:
            self.duplicate(path, parts[-1][1])
        else:
            self.spots[path] = Spot(parts[-1][1], self.at)
        return path

    def pairs(self, base: KeyPath) -> None:
        """Read one ``key = value`` of a table, whatever the value holds.

        ``nest`` holds the open lists and inline tables: each a path, and for a list the place of
        its next element.
        """
        path = self.assign(base)
        nest: list[tuple[KeyPath, list[int] | None]] = []
        while True:
            self.spots.setdefault(path, Spot(self.at, self.at))
            if self.take("["):
                self.check_depth(len(path) + 1, self.at - 1)
                nest.append((path, [0]))
                opened = True
            elif self.take("{"):
                self.check_depth(len(path) + 1, self.at - 1)
                nest.append((path, None))
                opened = True
            else:
                self.expect(self.skip(_SCALAR))
                opened = False
            # Close what ends here, up to the place where another value begins.
            while nest:
                holder, count = nest[-1]
                self.skip(_BLANK)
                comma = not opened and self.take(",")
                self.skip(_BLANK)
                if self.take("]" if count is not None else "}"):
                    nest.pop()
                    opened = False
                    continue
                self.expect(opened or comma)
                if count is None:
                    path = self.assign(holder)
                else:
                    path = (*holder, count[0])
                    count[0] += 1
                break
            else:
                return


def _unquoted(part: str) -> str:
    if "\\" not in part:
        return part[1:-1]
    try:
        return str(tomllib.loads(f"k = {part}")["k"])
    except tomllib.TOMLDecodeError:
        raise _Stop from None
