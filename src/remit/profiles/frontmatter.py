"""Frontmatter: the strict YAML between the first two lines of dashes, and the body below them.

Values are made from the parser's events, not by a YAML loader: aliases, tags and merge keys are
never acted on, a key may not be given twice, and words such as ``on`` and ``yes`` stay words. Depth
is bounded while parsing, which is lazy, and size before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import yaml
from attrs import define, field, frozen

from remit.policy.problems import InputError, Position, Problem
from remit.profiles.document import Document
from remit.profiles.positions import DEPTH, KeyPath, Located, Spot, key_path
from remit.profiles.source import MODE_BYTES, Source, decode

__all__ = ["ModeDocument", "parse_mode"]

_FENCE = re.compile(r"---[ \t]*")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
#: Of a whole number; longer ones are no sizes of anything, and reading them takes long.
_DIGITS = 18

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@frozen
class ModeDocument(Document):
    """The values of a mode's frontmatter, and its body."""

    body: str = field(default="", repr=False)

    @cached_property
    def located(self) -> Located:
        """The place of every key and value, in the whole file."""
        text = self.source.text.replace("\r\n", "\n")
        walk = _Walk(self.source, places=True)
        start, yaml_text, _ = _parts(self.source, text)
        walk.read(yaml_text)
        spots = {p: Spot(s.key + start, s.value + start) for p, s in walk.spots.items()}
        return Located(text, spots, None, None, True)


def parse_mode(source: Source) -> tuple[ModeDocument, tuple[Problem, ...]]:
    """Parse a mode's file; return its values, and what of its YAML is not allowed.

    Raises `InputError` with the one problem that keeps it from being parsed at all.
    """
    text = decode(source.text.encode(errors="surrogatepass"), source.file, MODE_BYTES)
    _, yaml_text, body = _parts(source, text.replace("\r\n", "\n"))
    walk = _Walk(source)
    data = walk.read(yaml_text)
    if data is None and not walk.lost:
        data = {}
    if not isinstance(data, dict):
        raise _wrong(source, "yaml-syntax", "the frontmatter is no map of keys", 2, 1)
    return ModeDocument(source, data, lost=frozenset(walk.lost), body=body), tuple(walk.problems)


def _parts(source: Source, text: str) -> tuple[int, str, str]:
    """Return where the frontmatter starts, the frontmatter, and the body."""
    lines = text.split("\n")
    if not _FENCE.fullmatch(lines[0]):
        message = "the file does not begin with a line `---`"
        raise _wrong(source, "no-frontmatter", message, 1, 1)
    for n, line in enumerate(lines[1:], 1):
        if _FENCE.fullmatch(line):
            start = len(lines[0]) + 1
            return start, "\n".join((*lines[1:n], "")), "\n".join(lines[n + 1 :])
    raise _wrong(source, "no-frontmatter", "no second line `---` ends the frontmatter", 1, 1)


@define
class _Walk:
    """One pass over the events of a text; with ``places`` it notes where each value stands."""

    source: Source
    places: bool = False
    problems: list[Problem] = field(factory=list)
    lost: set[KeyPath] = field(factory=set)
    spots: dict[KeyPath, Spot] = field(factory=dict)

    def read(self, text: str) -> Any:
        """Return the one value of a text; raises `InputError` where it is no YAML."""
        events = yaml.parse(text, Loader=_LOADER)
        value: Any = None
        documents = 0
        try:
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1 or event.version or event.tags:
                        raise self.wrong("yaml-strict", "directives and documents", event)
                elif isinstance(event, yaml.NodeEvent):
                    value = self.value(event, events, ())
        except yaml.YAMLError as error:
            raise _syntax(self.source, text, error) from None
        return value

    def wrong(self, code: str, what: str, event: Any) -> InputError:
        mark = event.start_mark
        message = f"{what} are not allowed in a mode's frontmatter"
        return _wrong(self.source, code, message, mark.line + 2, mark.column + 1)

    def note(self, what: str, event: Any, path: KeyPath, code: str = "yaml-strict") -> None:
        (problem,) = self.wrong(code, what, event).problems
        self.problems.append(
            Problem(code, problem.message, problem.hint, problem.where, key_path(path))
        )

    def value(self, event: Any, events: Iterator[Any], path: KeyPath) -> Any:
        if len(path) > DEPTH:
            mark = event.start_mark
            message = f"lists and maps nest more than {DEPTH} deep"
            raise _wrong(self.source, "too-deep", message, mark.line + 2, mark.column + 1)
        if self.places:
            at = event.start_mark.index
            self.spots.setdefault(path, Spot(at, at))
        if type(event) is yaml.AliasEvent:
            self.note("aliases", event, path)
            self.lost.add(path)
            return None
        if event.anchor is not None:
            self.note("anchors", event, path)
        if event.tag is not None:
            self.note("tags", event, path)
        if type(event) is yaml.ScalarEvent:
            return self.scalar(event, path)
        if type(event) is yaml.SequenceStartEvent:
            return self.sequence(events, path)
        return self.mapping(events, path)

    def scalar(self, event: Any, path: KeyPath) -> Any:
        text: str = event.value
        if event.style:
            return text
        if text in _WORDS:
            return _WORDS[text]
        first = text[0]
        if first == "-" or first.isdigit():
            if _WHOLE.fullmatch(text):
                if len(text) <= _DIGITS:
                    return int(text)
                self.note(f"numbers of more than {_DIGITS} digits", event, path, "number-too-large")
                return 0
            if _FLOAT.fullmatch(text):
                return float(text)
        return text

    def sequence(self, events: Iterator[Any], path: KeyPath) -> list[Any]:
        items: list[Any] = []
        for n, event in enumerate(events):
            if type(event) is yaml.SequenceEndEvent:
                break
            at = (*path, n)
            item = self.value(event, events, at)
            if at not in self.lost:
                items.append(item)
        return items

    def mapping(self, events: Iterator[Any], path: KeyPath) -> dict[str, Any]:
        table: dict[str, Any] = {}
        event: Any
        for event in events:
            if type(event) is yaml.MappingEndEvent:
                break
            if type(event) is not yaml.ScalarEvent:
                raise self.wrong("yaml-strict", "keys that are no plain words", event)
            key: str = event.value
            at = (*path, key)
            if event.anchor is not None or event.tag is not None:
                self.note("tags and anchors", event, at)
            merge = key == "<<" and not event.style
            if merge:
                self.note("merge keys", event, at)
            inner: Any = next(events)
            if key in table or at in self.lost:
                self.again(event, at)
                # Read as something else, so that nothing of the first one is touched.
                self.value(inner, events, (*path, f"{key}\0"))
                continue
            if self.places:
                start: Any = event.start_mark
                self.spots[at] = Spot(start.index, inner.start_mark.index)
            value = self.value(inner, events, at)
            if merge:
                self.lost.add(at)
            elif at not in self.lost:
                table[key] = value
        return table

    def again(self, event: Any, at: KeyPath) -> None:
        mark = event.start_mark
        where = Position(self.source.file, mark.line + 2, mark.column + 1)
        message = f"the key `{key_path(at)}` is given twice"
        self.problems.append(
            Problem("duplicate-key", message, "keep one of them", where, key_path(at))
        )


def _syntax(source: Source, text: str, error: yaml.YAMLError) -> InputError:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        why = " ".join(filter(None, (error.context, error.problem)))
        line, column = mark.line + 2, mark.column + 1
    else:
        at = getattr(error, "position", 0)
        line, column = text.count("\n", 0, at) + 2, at - text.rfind("\n", 0, at)
        why = getattr(error, "reason", "it cannot be read")
    return _wrong(source, "yaml-syntax", f"the frontmatter is not YAML: {why}", line, column)


def _wrong(source: Source, code: str, message: str, line: int, column: int) -> InputError:
    return InputError(Problem(code, message, "", Position(source.file, line, column)))
