"""Declarations: one profile file read and checked by itself, before it meets its parent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from remit.policy.ceiling import TOP, Ceiling
from remit.policy.placeholders import PLACEHOLDERS, unknown_placeholders
from remit.policy.problems import InputError, Position, Problem, Severity
from remit.policy.profile import Brief, Example
from remit.policy.workflow import Workflow
from remit.profiles.ceilings import read_ceiling
from remit.profiles.document import Document, Findings, parse_toml
from remit.profiles.names import DEFAULT_CHILDREN, MODE_NAME, RESERVED, TOOL_NAME, TOP_MODE
from remit.profiles.positions import KeyPath
from remit.profiles.shapes import BriefFile, ExampleFile, ProfileFile
from remit.profiles.source import Source
from remit.profiles.structure import Misshapen, described, quoted, salvage, structure
from remit.profiles.terms import Terms

__all__ = ["Declaration", "check_line", "check_name", "declare"]


_NOTHING: Mapping[str, Any] = MappingProxyType({})


@frozen
class Declaration:
    """A profile file by itself.

    ``file`` and ``document`` are None where the text could not be read at all; ``name`` is then
    the file's own, and so it is where ``named`` is false.
    """

    source: Source
    name: str
    label: str = ""
    document: Document | None = field(default=None, repr=False)
    file: ProfileFile | None = None
    ceiling: Ceiling = TOP
    brief: Brief | None = None
    examples: tuple[Example, ...] = ()
    problems: tuple[Problem, ...] = ()
    named: bool = False
    #: The key that names the parent.
    parent_key: str = "extends"
    #: The stages of a mode that has any.
    workflow: Workflow | None = None

    @property
    def broken(self) -> bool:
        """Does a problem of its own keep it from use."""
        return self.file is None or any(p.severity is Severity.ERROR for p in self.problems)

    @property
    def claims(self) -> bool:
        """Does it lay claim to its name, so that no other file may bear it.

        Where it says no name there is no claim, and nobody can claim a reserved one.
        """
        ours = self.source.built_in or self.name not in RESERVED
        return self.named and ours


def declare(*sources: Source, terms: Terms) -> list[Declaration]:
    """Read profile files; never raises, whatever the texts.

    All are parsed first, then all are structured, then all are checked: a pass at a time stays
    within a processor's cache, which is a tenth of the load of many.
    """
    parsed = [_parse(source) for source in sources]
    shaped = [_shape(document) for document in parsed]
    checked = zip(sources, parsed, shaped, strict=True)
    return [_check(source, document, shape, terms) for source, document, shape in checked]


def _parse(source: Source) -> Document | tuple[Problem, ...]:
    try:
        return _shipped(source) if source.built_in else parse_toml(source)
    except InputError as error:
        return error.problems


#: What comes with remit is the same at each load.
_shipped = lru_cache(maxsize=32)(parse_toml)


def _shape(
    document: Document | tuple[Problem, ...],
) -> tuple[ProfileFile | None, frozenset[KeyPath], tuple[Problem, ...]]:
    """Return the file, as far as it can be checked, what it lost, and what is wrong in shape."""
    if not isinstance(document, Document):
        return None, frozenset(), document
    try:
        return structure(document, ProfileFile), frozenset(), ()
    except Misshapen:
        stem = PurePath(document.source.file).stem
        file, left, problems = salvage(document, ProfileFile, {"name": stem})
        return file, left.lost, problems


def _check(
    source: Source,
    document: Document | tuple[Problem, ...],
    shape: tuple[ProfileFile | None, frozenset[KeyPath], tuple[Problem, ...]],
    terms: Terms,
) -> Declaration:
    file, lost, problems = shape
    if file is None or not isinstance(document, Document):
        return Declaration(source, PurePath(source.file).stem, problems=problems)
    named = not problems or isinstance(document.data.get("name"), str)
    # Places need the text alone; what was parsed would be half of what a library holds.
    document = Document(source, _NOTHING, lost=lost)
    found = Findings(document)
    found.problems += problems
    check_name(file.name, source.built_in, found)
    if file.label is not None:
        check_line(file.label, ("label",), found)
    if file.intent:
        check_line(file.intent, ("intent",), found)
    return Declaration(
        source,
        file.name,
        file.name if file.label is None else file.label,
        document,
        file,
        read_ceiling(file.ceiling, terms, found),
        None if file.brief is None else _brief(file.brief, terms, found),
        tuple(_example(e, i, found) for i, e in enumerate(file.example)) if file.example else (),
        tuple(found.problems),
        named,
    )


def check_name(name: str, built_in: bool, found: Findings) -> None:
    """Report a name that no mode may have, or no mode of a user's."""
    if not MODE_NAME.fullmatch(name):
        hint = "up to 64 small letters, digits and dashes, a letter first"
        found.report("bad-name", f"`{quoted(name)}` is no name of a mode", ("name",), hint)
    elif name in RESERVED and not built_in:
        hint = f'choose another name; `extends = "{name}"` makes a mode of your own out of it'
        found.report("reserved-name", f"the name `{name}` is reserved", ("name",), hint)


def check_line(text: str, path: KeyPath, found: Findings) -> None:
    """Report a text that is not one short line."""
    if not (text.strip() and text.isprintable() and len(text) <= 400):
        message = f"`{quoted(text)}` is not one line of text"
        found.report("bad-text", message, path, "write up to 400 letters on one line")


def _brief(file: BriefFile, terms: Terms, found: Findings) -> Brief:
    verbs = [terms.verb(name, ("brief", "verbs", i), found) for i, name in enumerate(file.verbs)]
    leave = terms.verb(file.exit, ("brief", "exit"), found, leaves=True) if file.exit else None
    if file.exit == "":
        found.report("unknown-verb", "`` names no tool", ("brief", "exit"), "leave the key out")
    if file.required and not file.verbs and not found.document.lacks("brief", "verbs"):
        message = "`required` asks for a result, and no verb delivers one"
        found.report("no-verb", message, ("brief", "required"), "name one in `verbs`", key=True)
    if file.noun is not None:
        check_line(file.noun, ("brief", "noun"), found)
    for i, name in enumerate(file.missed):
        if not TOOL_NAME.fullmatch(name):
            message = f"`{quoted(name)}` is no name of a tool"
            found.report("bad-tool-name", message, ("brief", "missed", i), "write a bare name")
    for key in ("guidance", "nudge"):
        if "{{" in (getattr(file, key) or ""):
            _check_words(file, key, found)
    return Brief(
        verbs=tuple(v for v in verbs if v),
        required=file.required,
        noun="result" if file.noun is None else file.noun,
        nudge=file.nudge or "",
        exit=leave,
        exit_to=TOP_MODE if file.exit_to is None else file.exit_to,
        children=DEFAULT_CHILDREN if file.children is None else file.children,
        missed=file.missed,
        announce=file.announce,
        guidance=file.guidance,
    )


def _check_words(file: BriefFile, key: str, found: Findings) -> None:
    text = getattr(file, key)
    for name in unknown_placeholders(text):
        message = f"unknown placeholder `{{{{{quoted(name)}}}}}`"
        hint = f"there are {', '.join(f'`{{{{{p}}}}}`' for p in PLACEHOLDERS)}"
        found.report("unknown-placeholder", message, ("brief", key), hint, key=True)
    for name in ("verbs", "exit"):
        there = getattr(file, name) or found.document.lacks("brief", name)
        if not there and f"{{{{{name}}}}}" in text.replace(" ", ""):
            message = f"`{{{{{name}}}}}` stands for nothing: the brief has no `{name}`"
            hint = "leave it out, or say what it stands for"
            found.report("unknown-placeholder", message, ("brief", key), hint, key=True)


def _example(file: ExampleFile, i: int, found: Findings) -> Example:
    path = ("example", i, "call")
    if not TOOL_NAME.fullmatch(file.call.tool):
        message = f"`{quoted(file.call.tool)}` is no name of a tool"
        found.report("bad-example", message, (*path, "tool"), "write a name or `source:name`")
    for at, value in _unsendable(file.call.args, (*path, "args")):
        message = f"a model cannot send {described(value)}"
        hint = "write text, a finite number, `true`, `false`, a list or a table"
        found.report("bad-example", message, at, hint)
    where = Position(found.document.source.file)
    return Example(file.call.tool, file.call.args, file.verdict, where)


def _unsendable(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    """Yield what JSON has no word for; nesting is bounded by the parser."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _unsendable(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _unsendable(inner, (*path, i))
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield path, value
    elif not isinstance(value, str | int):
        yield path, value
