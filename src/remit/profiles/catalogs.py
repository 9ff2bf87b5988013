"""Catalogues: what the tools of one source can do, from TOML, or nothing but names from a server.

A tool that cannot be told from another, or from a native verb, is never guessed at.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import PurePath

from attrs import frozen

from remit.policy.digest import tool_digest
from remit.policy.problems import InputError, Problem, Severity, near
from remit.policy.selectors import RESERVED_SOURCES
from remit.policy.tools import ARGUMENT_ROLES, NATIVE, Catalog, Learnt, Tool
from remit.policy.vocabulary import EFFECTS, EffectClass
from remit.profiles.document import Findings, parse_toml
from remit.profiles.names import SOURCE_NAME, TOOL_NAME
from remit.profiles.positions import KeyPath
from remit.profiles.shapes import CatalogFile, ToolFile
from remit.profiles.shipped import NATIVE_FILE, shipped_catalog, shipped_catalogs
from remit.profiles.source import Source, read_source
from remit.profiles.structure import quoted, salvage
from remit.profiles.terms import Terms
from remit.profiles.tools_list import parse_tools_list

__all__ = [
    "LoadedCatalog",
    "catalog_source",
    "load_catalog",
    "native_catalog",
    "parse_catalog",
    "read_catalog",
]

_HASH = re.compile(r"[0-9a-f]{64}")
_JSON = re.compile(r"\s*+(?:\{|\[\s*+[\]{])")
_SOURCES = "up to 64 letters, digits and `_.-`, and not `group`, `tier` or `remit`"


@frozen
class LoadedCatalog:
    """A catalogue file, and all that is wrong with it; without errors its tools can be used."""

    source: Source
    catalog: Catalog
    problems: tuple[Problem, ...] = ()

    def require(self) -> Catalog:
        """Return the tools; raises `InputError` if a problem keeps them from being used."""
        wrong = tuple(p for p in self.problems if p.severity is Severity.ERROR)
        if wrong:
            raise InputError(wrong)
        return self.catalog


def load_catalog(
    name_or_path: str | os.PathLike[str],
    *,
    source: str | None = None,
    known: Mapping[str, EffectClass] = EFFECTS,
) -> Catalog:
    """Return the catalogue of a shipped name or of a file; raises `InputError`.

    ``source`` is the source of its tools instead of what the file says: the operator's name for
    the server that they bind it to.
    """
    return parse_catalog(catalog_source(name_or_path), source=source, known=known).require()


def catalog_source(name_or_path: str | os.PathLike[str]) -> Source:
    """Return the text of a shipped catalogue or of a file; raises `InputError`."""
    name = os.fspath(name_or_path)
    if name in shipped_catalogs():
        return shipped_catalog(name)
    if PurePath(name).suffix in (".toml", ".json") or os.path.exists(name):
        return read_source(name)
    hint = near(name, shipped_catalogs()) or f"shipped are {', '.join(shipped_catalogs())}"
    message = f"`{quoted(name)}` is neither a shipped catalogue nor a file"
    raise InputError(Problem("unknown-catalog", message, hint))


def parse_catalog(
    text: Source,
    *,
    source: str | None = None,
    known: Mapping[str, EffectClass] = EFFECTS,
) -> LoadedCatalog:
    """Read a catalogue of either format; never raises, whatever the text."""
    listed = PurePath(text.file).suffix == ".json" or _JSON.match(text.text)
    try:
        if listed:
            tools, problems = parse_tools_list(
                text, source, {t.name for t in native_catalog().tools}
            )
        else:
            tools, problems = _parse(text, source, Terms(known))
        return LoadedCatalog(text, Catalog(tools), problems)
    except InputError as error:
        return LoadedCatalog(text, Catalog(), error.problems)


def read_catalog(
    text: Source,
    known: Mapping[str, EffectClass] = EFFECTS,
    classifiers: Iterable[str] = (),
) -> tuple[Catalog, tuple[Problem, ...]]:
    """Read a catalogue whose tools these classifiers may judge; never raises."""
    loaded = parse_catalog(text, known=known)
    return Catalog(loaded.catalog.tools, classifiers), loaded.problems


@cache
def native_catalog() -> Catalog:
    """Return the verbs that remit serves itself on every host."""
    return parse_catalog(shipped_catalog(NATIVE_FILE)).require()


def _parse(
    text: Source, source: str | None, terms: Terms
) -> tuple[list[Tool], tuple[Problem, ...]]:
    document = parse_toml(text)
    file, document, misshapen = salvage(document, CatalogFile)
    if file is None:
        raise InputError(misshapen)
    found = Findings(document)
    found.problems += misshapen
    stem = PurePath(text.file).stem
    where = ("source",) if file.source is not None else ()
    named = next(s for s in (source, file.source, stem) if s is not None)
    check_source(named, where, found)
    if not file.tools and not document.lacks("tools"):
        message = "the file declares no tool"
        found.report("no-tools", message, (), "write `[tools.NAME]` for each", Severity.WARNING)
    tools = [_tool(named, name, tool, terms, found) for name, tool in file.tools.items()]
    # What lost something may look laxer than it was meant, so none of it is handed out.
    return [] if misshapen else tools, tuple(found.problems)


def check_source(name: str, path: KeyPath, found: Findings) -> None:
    """Report a name that no source may have."""
    ours = found.document.source.built_in and name == NATIVE
    if not SOURCE_NAME.fullmatch(name) or (name in RESERVED_SOURCES and not ours):
        message = f"`{quoted(name)}` may not be the name of a source"
        hint = f'{_SOURCES}; `source = "name"` at the top of the file says another'
        found.report("bad-source", message, path, hint)


def _tool(source: str, name: str, file: ToolFile, terms: Terms, found: Findings) -> Tool:
    at: KeyPath = ("tools", name)
    if not TOOL_NAME.fullmatch(name):
        hint = "up to 128 letters, digits and `_.:/-`"
        message = f"`{quoted(name)}` is no name of a tool"
        found.report("bad-tool-name", message, at, hint, key=True)
    effects = _effects(file.effects or (), (*at, "effects"), terms, found)
    for i, group in enumerate(file.groups):
        if not SOURCE_NAME.fullmatch(group):
            message = f"`{quoted(group)}` is no name of a group"
            found.report("bad-group", message, (*at, "groups", i), "up to 64 letters and digits")
    if file.classify == "":
        found.report("bad-classifier", "`` names no classifier", (*at, "classify"), "name one")
    least = _least(file, at, effects, terms, found)
    for key in ("verb", "exit"):
        open_ended = file.effects is None or file.classify is not None
        if getattr(file, key) and open_ended and not found.document.lacks(*at, "effects"):
            message = "a verb is always allowed, so all that it does must be declared"
            hint = "give it `effects` and no classifier"
            found.report("open-verb", message, (*at, key), hint, key=True)
    if file.verb and file.exit:
        message = "it cannot both deliver the result and leave the mode"
        found.report("contradiction", message, (*at, "exit"), "keep one of the two", key=True)
    learnt = _learnt(name, file, at, found)
    return Tool(
        source=source,
        name=name,
        tier=file.tier,
        effects=effects,
        groups=file.groups,
        classify=file.classify,
        least=least,
        declared=file.effects is not None,
        verb=file.verb,
        exit=file.exit,
        learnt=learnt,
        arguments=_arguments(file, at, found),
        actions=_actions(file, at, effects, terms, found),
        where=found.document.at(at, key=True),
    )


def _unclassified(file: ToolFile, at: KeyPath, found: Findings) -> bool:
    return file.classify is None and not found.document.lacks(*at, "classify")


def _beyond(
    names: Iterable[str], at: KeyPath, effects: frozenset[str], terms: Terms, found: Findings
) -> Iterator[tuple[int, str]]:
    """Yield the known effects that are not among a tool's own, by place."""
    if not found.document.lacks(*at, "effects"):
        for i, name in enumerate(names):
            if name in terms.known and name not in effects:
                yield i, name


def _arguments(file: ToolFile, at: KeyPath, found: Findings) -> Mapping[str, str]:
    for name, role in file.arguments.items():
        if role not in ARGUMENT_ROLES:
            message = f"`{quoted(role)}` is nothing that an argument can be"
            hint = near(role, ARGUMENT_ROLES) or f"there are {', '.join(sorted(ARGUMENT_ROLES))}"
            found.report("bad-argument-role", message, (*at, "arguments", name), hint)
    for key in ("arguments", "actions"):
        if getattr(file, key) and _unclassified(file, at, found):
            message = f"`{key}` tells a classifier what to look at, and there is none"
            found.report("unclassified", message, (*at, key), "name one under `classify`", key=True)
    return file.arguments


def _actions(
    file: ToolFile, at: KeyPath, effects: frozenset[str], terms: Terms, found: Findings
) -> Mapping[str, frozenset[str]]:
    actions = {}
    for action, names in file.actions.items():
        actions[action] = _effects(names, (*at, "actions", action), terms, found)
        for j, name in enumerate(names):
            if name in terms.known and name not in effects:
                message = f"`{name}` is not among the tool's `effects`"
                hint = "`effects` is the most that a call can do"
                found.report("least-outside", message, (*at, "actions", action, j), hint)
    return actions


def _learnt(name: str, file: ToolFile, at: KeyPath, found: Findings) -> Learnt | None:
    """Return what the tool is pinned to; words that are not those of the pin would show lies."""
    if file.hash is None:
        if file.description is not None or file.schema is not None:
            key = "schema" if file.description is None else "description"
            message = "what a server said is kept beside the `hash` that it is pinned by"
            found.report("no-pin", message, (*at, key), "`remit catalog learn` writes both")
        return None
    if not _HASH.fullmatch(file.hash):
        message = "a `hash` is 64 digits of 0-9 a-f"
        found.report("bad-pin", message, (*at, "hash"), "`remit catalog learn` writes it")
        return None
    if file.schema is None:
        return Learnt(file.hash, file.description)
    try:
        schema = json.loads(file.schema)
    except (ValueError, RecursionError):
        message = "the `schema` is not JSON"
        found.report("bad-pin", message, (*at, "schema"), "`remit catalog learn` writes it")
        return None
    if tool_digest(name, file.description, schema) != file.hash:
        message = "the `hash` is not that of the description and the schema beside it"
        hint = "learn the tool again, or take the two out and keep the `hash`"
        found.report("bad-pin", message, (*at, "hash"), hint)
    return Learnt(file.hash, file.description, file.schema)


def _effects(names: Iterable[str], at: KeyPath, terms: Terms, found: Findings) -> frozenset[str]:
    """Return effect ids; here they are spelt out, because a bound must not grow with a plugin."""
    for i, name in enumerate(names):
        if name not in terms.known:
            terms.unknown_effect(name, (*at, i), found, key=False)
    return frozenset(names)


def _least(
    file: ToolFile, at: KeyPath, effects: frozenset[str], terms: Terms, found: Findings
) -> frozenset[frozenset[str]]:
    if file.least is None:
        return frozenset()
    if _unclassified(file, at, found):
        message = "`least` says what a classifier may find, and there is none"
        hint = "name one under `classify`, or leave it out: every call has all the `effects`"
        found.report("least-unclassified", message, (*at, "least"), hint, key=True)
    least = set()
    for i, names in enumerate(file.least):
        one = _effects(names, (*at, "least", i), terms, found)
        least.add(one)
        for j, name in _beyond(names, at, effects, terms, found):
            message = f"`{name}` is not among the tool's `effects`"
            hint = "`effects` is the most that a call can do, `least` the least"
            found.report("least-outside", message, (*at, "least", i, j), hint)
    return frozenset(least)
