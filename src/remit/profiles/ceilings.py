"""Ceilings: the ``[ceiling]`` table as a value, with every entry checked."""

from __future__ import annotations

from collections.abc import Mapping

from remit.policy.ceiling import TOP, Ceiling, Lists
from remit.policy.problems import InputError, Position
from remit.policy.profile import Side
from remit.policy.vocabulary import Posture
from remit.profiles.document import Document, Findings, Places, parse_toml
from remit.profiles.positions import KeyPath
from remit.profiles.shapes import CeilingFile, OverlayFile
from remit.profiles.source import Source
from remit.profiles.structure import quoted, salvage
from remit.profiles.terms import Fault, Terms, pattern_fault, selector_fault

__all__ = ["CeilingPlaces", "parse_overlay", "read_ceiling"]

_AT = ("ceiling",)
_WRITE = "worktree.write"


def read_ceiling(file: CeilingFile, terms: Terms, found: Findings) -> Ceiling:
    """Return what a table states by itself; what cannot be meant is reported."""
    refuse = TOP.refuse
    for i, entry in enumerate(file.refuse):
        effects = terms.effects(entry)
        refuse |= effects
        if not effects:
            terms.unknown_effect(entry, (*_AT, "refuse", i), found, key=False)
    if file.posture is Posture.READ_ONLY:
        refuse |= {_WRITE}
    elif file.posture is Posture.WRITABLE and _WRITE in refuse:
        message = f"`posture` says writable and `refuse` refuses `{_WRITE}`: these are one fact"
        hint = "keep the one that you mean"
        found.report("contradiction", message, (*_AT, "posture"), hint, key=True)
    for key, selectors in (("allow", file.allow), ("deny", file.deny)):
        for i, selector in enumerate(selectors or ()):
            if (fault := selector_fault(selector)) is not None:
                _report(fault, (*_AT, key, i), found)
    return Ceiling(
        TOP.tier if file.tier is None else file.tier,
        refuse,
        TOP.unknown if file.unknown is None else file.unknown,
        TOP.allow if file.allow is None else frozenset((frozenset(file.allow),)),
        file.deny,
        _limits(file.limit, terms, found) if file.limit else {},
    )


def _report(fault: Fault, path: KeyPath, found: Findings) -> None:
    code, message, hint = fault
    found.report(code, message, path, hint)


def _limits(
    limit: Mapping[str, tuple[str, ...]], terms: Terms, found: Findings
) -> Mapping[str, Lists]:
    limits: dict[str, Lists] = {}
    for entry, patterns in limit.items():
        at = (*_AT, "limit", entry)
        effects = terms.effects(entry)
        if not effects:
            terms.unknown_effect(entry, at, found, key=True)
        excluding = 0
        for i, pattern in enumerate(patterns):
            excluding += pattern.startswith("!")
            if (fault := pattern_fault(pattern)) is not None:
                _report(fault, (*at, i), found)
        if excluding == len(patterns) and not found.document.lacks(*at):
            message = f"no target of `{quoted(entry)}` could match"
            hint = "name what it may act on, or put it under `refuse`"
            found.report("bad-pattern", message, at, hint)
        lists = frozenset((frozenset(patterns),))
        for effect in sorted(effects) if len(effects) > 1 else effects:
            if effect in limits:
                message = f"another entry limits `{effect}` too"
                found.report("contradiction", message, at, "give each class one limit", key=True)
            limits[effect] = lists
    return limits


class CeilingPlaces(Places):
    """The places of the facts of a ceiling, as `Side.where` names them.

    Besides those, ``posture`` has one, and ``allow.<selector>`` is that of one entry.
    """

    __slots__ = ("_document", "_file", "_terms")

    def __init__(self, document: Document, file: CeilingFile, terms: Terms) -> None:
        super().__init__()
        self._document, self._file, self._terms = document, file, terms

    def look(self) -> Mapping[str, Position]:
        """Find them all."""
        file, effects = self._file, self._terms.effects
        given: dict[str, KeyPath] = {
            key: (*_AT, key)
            for key in ("tier", "posture", "unknown", "allow")
            if getattr(file, key) is not None
        }
        for i, entry in enumerate(file.refuse):
            for effect in effects(entry):
                given.setdefault(f"refuse.{effect}", (*_AT, "refuse", i))
        if file.posture is Posture.READ_ONLY:
            given.setdefault(f"refuse.{_WRITE}", (*_AT, "posture"))
        for key, selectors in (("allow", file.allow or ()), ("deny", file.deny)):
            for i, selector in enumerate(selectors):
                given.setdefault(f"{key}.{selector}", (*_AT, key, i))
        for entry in file.limit:
            for effect in effects(entry):
                given.setdefault(f"limit.{effect}", (*_AT, "limit", entry))
        return {fact: self._document.at(path, key=True) for fact, path in given.items()}


def parse_overlay(source: Source, terms: Terms | None = None, name: str = "overlay") -> Side:
    """Return the side that a file with one ``[ceiling]`` states; raises `InputError`."""
    terms = terms or Terms()
    document = parse_toml(source)
    file, document, problems = salvage(document, OverlayFile)
    if file is None:
        raise InputError(problems)
    found = Findings(document)
    found.problems += problems
    ceiling = read_ceiling(file.ceiling, terms, found)
    if found.problems:
        raise InputError(found.problems)
    return Side(name, ceiling, CeilingPlaces(document, file.ceiling, terms))
