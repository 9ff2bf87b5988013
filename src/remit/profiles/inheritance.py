"""Inheritance: a declaration and its parent become one profile, or contradict each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from attrs import evolve

from remit.policy.problems import Position, Problem, Severity, near
from remit.policy.profile import Brief, Profile, Side, shown
from remit.policy.tools import Catalog
from remit.policy.vocabulary import Posture, Unknown
from remit.profiles.ceilings import CeilingPlaces
from remit.profiles.declaration import Declaration
from remit.profiles.document import Document, Findings, Places
from remit.profiles.names import ALIASES
from remit.profiles.positions import KeyPath, key_path
from remit.profiles.shapes import CeilingFile, ProfileFile
from remit.profiles.source import WRITTEN_BY_US
from remit.profiles.structure import quoted
from remit.profiles.terms import Terms

__all__ = ["inherit", "mode_hint"]


def mode_hint(name: str, names: Collection[str]) -> str:
    """Say which mode was probably meant, else which there are."""
    return near(name, [*names, *ALIASES]) or f"there are {', '.join(f'`{n}`' for n in names)}"


def inherit(
    declaration: Declaration,
    document: Document,
    file: ProfileFile,
    parent: Profile | None,
    names: Collection[str],
    terms: Terms,
) -> tuple[Profile, list[Problem]]:
    """Return the profile of a declaration under its parent, and what is wrong with it.

    ``names`` are all the modes that briefs may lead to.
    """
    found = Findings(document)
    own = declaration.brief and _led(declaration.brief, names, found)
    inherited = parent.brief if parent else None
    side = Side(file.name, declaration.ceiling, CeilingPlaces(document, file.ceiling, terms))
    profile = Profile(
        name=file.name,
        label=declaration.label,
        intent=file.intent,
        extends=parent.name if parent else None,
        selectable=file.selectable,
        sides=(*parent.sides, side) if parent else (side,),
        own_brief=own,
        brief=inherited if own is None else own,
        examples=declaration.examples,
        where=_ProfilePlaces(document, parent),
        origin=WRITTEN_BY_US if declaration.source.built_in else declaration.source.file,
    )
    if parent is not None:
        _check_widening(file.ceiling, parent, found)
    said = not document.lacks("ceiling", "unknown")
    if said and profile.ceiling.refuse and profile.ceiling.unknown is Unknown.ASK:
        path: KeyPath = ("ceiling", "refuse") if file.ceiling.refuse else ("ceiling", "posture")
        message = "it refuses effects, yet a call that cannot be judged may be approved"
        hint = '`unknown = "refuse"` makes the refusal hold against programs that lie'
        found.report("porous-refusal", message, path, hint, Severity.WARNING, key=True)
    if profile.ceiling.deny:
        _check_denied(profile, file, terms.tools, found)
    return profile, found.problems


def _led(brief: Brief, names: Collection[str], found: Findings) -> Brief:
    """Return a brief whose modes are known ones, old names put into ours."""

    if brief.exit_to in names and all(child in names for child in brief.children):
        return brief

    def known(name: str, path: KeyPath) -> str:
        name = ALIASES.get(name, name)
        if name not in names:
            message = f"unknown mode `{quoted(name)}`"
            found.report("unknown-mode", message, path, mode_hint(name, names))
        return name

    exit_to = known(brief.exit_to, ("brief", "exit_to"))
    children = tuple(known(c, ("brief", "children", i)) for i, c in enumerate(brief.children))
    return evolve(brief, exit_to=exit_to, children=children)


class _ProfilePlaces(Places):
    """The places of what a profile states besides its ceiling, or has for its brief."""

    __slots__ = ("_document", "_parent")

    def __init__(self, document: Document, parent: Profile | None) -> None:
        super().__init__()
        self._document, self._parent = document, parent

    def look(self) -> Mapping[str, Position]:
        """Find them all: keys, ``brief.<key>``, ``example[<n>]``."""
        document = self._document
        facts: dict[str, Position] = {}
        for path in document.located.spots:
            deep = len(path) == 2 and path[0] in ("brief", "example")
            if len(path) == 1 or deep:
                facts[key_path(path)] = document.at(path, key=True)
        if self._parent is not None and "brief" not in facts:
            where = self._parent.where
            facts |= {f: where[f] for f in where if f.partition(".")[0] == "brief"}
        return facts


def _check_widening(file: CeilingFile, parent: Profile, found: Findings) -> None:
    """Report each key that tries to widen; a meet would ignore it without a word."""
    above = parent.ceiling
    tried: list[tuple[str, str, str]] = []
    if file.tier is not None and file.tier.rank > above.tier.rank:
        tried.append(("tier", file.tier, above.tier))
    if file.unknown is Unknown.ASK and above.unknown is Unknown.REFUSE:
        tried.append(("unknown", file.unknown, above.unknown))
    if file.posture is Posture.WRITABLE and above.posture is Posture.READ_ONLY:
        tried.append(("posture", file.posture, above.posture))
    for key, wanted, held in tried:
        message = f"`{key}` says `{wanted}`, its parent `{parent.name}` holds it to `{held}`"
        hint = "a mode only narrows its parent: leave the key out, or extend another mode"
        found.report("widens-parent", message, ("ceiling", key), hint)


def _check_denied(profile: Profile, file: ProfileFile, tools: Catalog, found: Findings) -> None:
    """Report entries that deny a verb of the mode's own: one of the two cannot be meant.

    The verbs that every mode has may be among those of a glob, but naming one is a mistake.
    """
    brief = profile.brief
    leave = (brief.exit,) if brief and brief.exit else ()
    own = {tools.index.get(key): key for key in (*(brief.verbs if brief else ()), *leave)}
    spelled = _spelled(profile.pins)
    for side in profile.sides:
        for selector in sorted(side.ceiling.deny) if side.ceiling.deny else ():
            named = tools.select(selector)
            if selector not in spelled and named.isdisjoint(own):
                continue
            denied = {key for at, key in own.items() if at in named}
            for key in sorted(denied | {spelled.get(selector, "")} - {""}):
                path: KeyPath = ("brief",)
                if side.name == profile.name:
                    path = ("ceiling", "deny", file.ceiling.deny.index(selector))
                message = f"`{quoted(selector)}` denies the mode's own verb `{shown(key)}`"
                hint = "a verb is always allowed: take the entry out, or name another verb"
                found.report("verb-denied", message, path, hint)


@lru_cache(maxsize=256)
def _spelled(keys: tuple[str, ...]) -> Mapping[str, str]:
    """Return the ways in which an entry can name a verb, with the key of each."""
    return {name: key for key in keys for name in (key, shown(key))}
