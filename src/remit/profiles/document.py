"""Documents: a TOML text as values, with the place of each of them for those who ask.

The values are tomllib's. Places are looked for on first use alone, because a text without problems
needs none (design section 13).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import count, islice
from typing import Any

from attrs import field, frozen

from remit.policy.problems import InputError, Position, Problem, Severity
from remit.profiles.json_positions import locate_json
from remit.profiles.positions import DEPTH, KeyPath, Located, key_path, locate
from remit.profiles.source import TOML_BYTES, Source, decode
from remit.profiles.yaml_positions import locate_yaml

__all__ = ["Document", "Findings", "Places", "parse_toml"]

_BRACKETS = re.compile(r"[\[\]{}]")
_AT = re.compile(r"\s*\((?:at line (\d+), column (\d+)|at end of document)\)$")
_LONG_NUMBER = re.compile(r"[0-9][0-9_]{999,}+")


@frozen
class Document:
    """The values of a file, and where they stand."""

    source: Source
    data: Mapping[str, Any] = field(repr=False)
    #: Is the text JSON, not TOML.
    json: bool = False
    #: Is the text YAML.
    yaml: bool = False
    #: What was taken out of the values because its shape is wrong, as it stands in the text.
    lost: frozenset[KeyPath] = frozenset()

    @cached_property
    def located(self) -> Located:
        """The place of every key and value."""
        if self.json:
            return locate_json(self.source.text)
        if self.yaml:
            return locate_yaml(self.source.text)
        return locate(self.source.text.replace("\r\n", "\n"))

    def at(self, path: KeyPath, *, key: bool = False) -> Position:
        """Return the position of the value at a path, or of its key.

        What is not there has the place of what is around it, at last the start of the file.
        """
        spot = self.located.spot(self.spelt(path))
        if spot is None:
            return Position(self.source.file, 1, 1)
        offset = spot.key if key else spot.value
        return Position(self.source.file, *self.located.line_column(offset))

    def spelt(self, path: KeyPath) -> KeyPath:
        """Return where the value at a path stands in the text: lists may have lost some."""
        if not self.lost:
            return path
        there: KeyPath = ()
        for part in path:
            if isinstance(part, int):
                gone = {p[-1] for p in self.lost if p[:-1] == there}
                kept = (i for i in count() if i not in gone)
                part = next(islice(kept, part, None))
            there = (*there, part)
        return there

    def lacks(self, *path: str | int) -> bool:
        """Say whether something at a path, in it or around it was taken out."""
        lost = self.lost
        return bool(lost) and any(p[: len(path)] == path[: len(p)] for p in lost)

    def problem(
        self,
        code: str,
        message: str,
        path: KeyPath = (),
        hint: str = "",
        severity: Severity = Severity.ERROR,
        *,
        key: bool = False,
    ) -> Problem:
        """Return a problem of the value at a path, or of its key."""
        where = self.at(path, key=key)
        return Problem(code, message, hint, where, key_path(self.spelt(path)), severity)


class Findings:
    """The problems of one document, in the order in which they were found."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def report(
        self,
        code: str,
        message: str,
        path: KeyPath = (),
        hint: str = "",
        severity: Severity = Severity.ERROR,
        *,
        key: bool = False,
    ) -> None:
        """Take note of a problem of the value at a path, or of its key."""
        self.problems.append(self.document.problem(code, message, path, hint, severity, key=key))


class Places(Mapping[str, Position]):
    """Places of facts by name, looked for when one is asked for: most profiles are never asked."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: Mapping[str, Position] | None = None

    def look(self) -> Mapping[str, Position]:
        """Find them all."""
        raise NotImplementedError

    def _all(self) -> Mapping[str, Position]:
        if self._found is None:
            self._found = self.look()
        return self._found

    def __getitem__(self, fact: str) -> Position:
        return self._all()[fact]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


def parse_toml(source: Source, limit: int = TOML_BYTES) -> Document:
    """Parse a text; raises `InputError` with the one problem that keeps it from being TOML."""
    text = source.text
    if len(text) > limit:
        decode(text.encode(), source.file, limit)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if (at := text.find("\0")) >= 0:
        raise _wrong(source, "file-not-text", f"the file is not text: character {at} is NUL", 0, 0)
    if _may_be_deep(text):
        found = locate(text)
        if found.deep is not None:
            raise _too_deep(source, *found.line_column(found.deep))
    try:
        return Document(source, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise _syntax(source, text, str(error)) from None
    except RecursionError:
        raise _too_deep(source, 0, 0) from None
    except ValueError:
        # A whole number of more digits than Python converts: no TOMLDecodeError.
        number = _LONG_NUMBER.search(text)
        place = locate(text).line_column(number.start()) if number else (0, 0)
        message = "a number has more digits than can be read"
        raise _wrong(source, "number-too-large", message, *place) from None


def _may_be_deep(text: str) -> bool:
    """Say, cheaply, whether nesting could go past the bound; brackets in strings count too."""
    if text.count("[") + text.count("{") > DEPTH:
        depth = 0
        for bracket in _BRACKETS.findall(text):
            depth += 1 if bracket in "[{" else -1
            if depth > DEPTH:
                return True
            depth = max(depth, 0)
    return text.count(".") > DEPTH and any(line.count(".") > DEPTH for line in text.split("\n"))


def _syntax(source: Source, text: str, said: str) -> InputError:
    place = _AT.search(said)
    end = text.count("\n") + 1, len(text) - text.rfind("\n")
    line, column = (int(place[1]), int(place[2])) if place and place[1] else end
    found = locate(text)
    if found.again is not None:
        path, offset = found.again
        again = found.line_column(offset)
        if again[0] <= line:
            first = found.spots[path].key
            hint = f"the first one is in line {found.line_column(first)[0]}; keep one of them"
            message = f"the key `{key_path(path)}` is given twice"
            problem = Problem("duplicate-key", message, hint, Position(source.file, *again))
            return InputError(problem)
    why = _AT.sub("", said)
    message = f"the text is not TOML: {why[:1].lower()}{why[1:]}"
    return _wrong(source, "toml-syntax", message, line, column)


def _too_deep(source: Source, line: int, column: int) -> InputError:
    message = f"lists and tables nest more than {DEPTH} deep"
    return _wrong(source, "too-deep", message, line, column)


def _wrong(source: Source, code: str, message: str, line: int, column: int) -> InputError:
    return InputError(Problem(code, message, "", Position(source.file, line, column)))
