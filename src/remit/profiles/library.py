"""The library: every profile there is, each under its parent, or with what keeps it from use.

A profile with a problem stays listed and is unavailable; nothing else takes its place. So does one
whose parent is broken: a ceiling is never made of fewer sides than its file says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property

from attrs import evolve, field, frozen

from remit.policy.problems import InputError, Problem, Severity
from remit.policy.profile import Profile
from remit.policy.staged import StagedMode
from remit.policy.tools import Catalog
from remit.policy.vocabulary import EFFECTS, EffectClass
from remit.profiles.catalogs import native_catalog
from remit.profiles.declaration import Declaration
from remit.profiles.inheritance import mode_hint
from remit.profiles.mode_declaration import declare_all
from remit.profiles.names import (
    ALIASES,
    BUILT_IN,
    BUILT_IN_STAGED,
    DEFAULT_CHILDREN,
    RESERVED,
    TOP_MODE,
)
from remit.profiles.resolution import Entry, resolve
from remit.profiles.shipped import built_in_modes, built_in_sources
from remit.profiles.source import WRITTEN_BY_US, Source, read_source
from remit.profiles.structure import quoted
from remit.profiles.terms import Terms

__all__ = ["Entry", "Library"]


@frozen
class Library:
    """Modes by name. Made by `Library.load`; a change gives another library.

    ``declarations`` are the files in order, ``entries`` what became of each.
    """

    terms: Terms
    declarations: tuple[Declaration, ...] = field(repr=False)
    entries: tuple[Entry, ...] = field(repr=False)
    #: Of files that could not be read at all.
    unread: tuple[Problem, ...] = ()

    @classmethod
    def load(
        cls,
        sources: Iterable[Source] = (),
        tools: Catalog | None = None,
        known: Mapping[str, EffectClass] = EFFECTS,
    ) -> Library:
        """Read profile files beside the built-in ones, which come first, given or not.

        ``tools`` are the native verbs and the operator's catalogues, the native ones alone unless
        given. Never raises for what is wrong in a file: that is in `problems`.
        """
        terms = Terms(known, native_catalog() if tools is None else tools)
        given = tuple(sources)
        ours = () if any(s.built_in for s in given) else built_in_sources()
        every = (*ours, *built_in_modes(), *given)
        declared = tuple(sorted(declare_all(*every, terms=terms), key=_listing))
        return cls(terms, declared, resolve(declared, terms, {}))

    def replace(self, source: Source) -> Library:
        """Return this library with one file more, or in place of that of the same file name.

        Costs that file and what extends it, unless a name comes or goes.
        """
        (new,) = declare_all(source, terms=self.terms)
        files = [d.source.file for d in self.declarations]
        declared = list(self.declarations)
        if source.file not in files:
            return self._with((*declared, new), {})
        old = declared[files.index(source.file)]
        declared[files.index(source.file)] = new
        same = old.name == new.name and old.claims == new.claims
        return self._with(tuple(declared), self._untouched(new.name) if same else {})

    def _with(self, declared: tuple[Declaration, ...], done: Mapping[str, Entry]) -> Library:
        entries = resolve(declared, self.terms, done)
        return Library(self.terms, declared, entries, self.unread)

    def with_problems(self, problems: Iterable[Problem]) -> Library:
        """Return this library with problems of files that could not be read."""
        return evolve(self, unread=(*self.unread, *problems))

    @cached_property
    def _by_name(self) -> Mapping[str, Entry]:
        both = list(zip(self.declarations, self.entries, strict=True))
        others = {e.name: e for d, e in both if not d.claims}
        return others | {e.name: e for d, e in both if d.claims}

    def names(self) -> tuple[str, ...]:
        """Return the names of all modes, unavailable ones too, in order."""
        return tuple(dict.fromkeys(e.name for e in self.entries))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with any of the files, warnings too, in the order of the files."""
        return (*(p for e in self.entries for p in e.problems), *self.unread)

    @property
    def default(self) -> Profile:
        """The top profile: what a space without a mode is in (S003-23)."""
        return self.get(TOP_MODE)

    def resolve(self, name: str) -> str:
        """Return the mode that a name means: old callers' names are aliases, others themselves."""
        return ALIASES.get(name, name)

    def aliases(self, name: str) -> tuple[str, ...]:
        """Return the other names of a mode."""
        return tuple(alias for alias, mode in ALIASES.items() if mode == name)

    def entry(self, name: str) -> Entry:
        """Return what is known of a mode; raises `InputError` for an unknown one."""
        found = self._by_name.get(self.resolve(name))
        if found is None:
            message = f"unknown mode `{quoted(name)}`"
            raise InputError(Problem("unknown-mode", message, mode_hint(name, self.names())))
        return found

    def find(self, name: str) -> Profile | None:
        """Return a profile, None if it is unknown or unusable."""
        found = self._by_name.get(self.resolve(name))
        return found.profile if found else None

    def get(self, name: str) -> Profile:
        """Return a profile; raises `InputError` if it is unknown, or saying why it is unusable."""
        return _usable(self.entry(name))

    def staged(self, name: str) -> StagedMode | None:
        """Return a mode with its stages, as a run keeps it; None for one that has none.

        Raises `InputError` as `get` does. Turns of the host's own have the space's dial in modes
        that remit ships, in others a lower one (S000-84, S000-85).
        """
        entry = self.entry(name)
        if entry.workflow is None:
            return None
        return StagedMode(
            _usable(entry), entry.workflow, entry.stages, entry.source == WRITTEN_BY_US
        )

    def home(self, name: str) -> str:
        """Return the mode that a run returns to: the one named, the top one if that is gone."""
        found = self.find(name)
        return TOP_MODE if found is None else found.name

    def choose(self, name: str) -> Profile:
        """Return a profile that an operator may give a space; raises `InputError` (S003-21)."""
        profile = self.get(name)
        if not profile.selectable:
            choice = ", ".join(f"`{e.name}`" for e in self.entries if e.selectable)
            raise InputError(
                Problem(
                    "not-selectable",
                    f"mode `{profile.name}` is set by the system, not chosen",
                    f"an operator chooses among {choice}",
                )
            )
        return profile

    def from_file(self, file: str) -> Profile:
        """Return the profile that a file of this library declares; raises `InputError`."""
        return _usable(next(e for e in self.entries if e.source == file))

    def children(self, profile: Profile) -> tuple[str, ...]:
        """Return the modes that an agent started from a profile may have."""
        return profile.brief.children if profile.brief else DEFAULT_CHILDREN

    def read(self, path: str | os.PathLike[str]) -> Profile:
        """Return the profile in a file; raises `InputError` with the file's own problems."""
        return self.parse(read_source(path))

    def parse(self, source: Source) -> Profile:
        """Return the profile in a text, whatever else bears its name.

        A text that says exactly what a built-in profile says is that profile: so what was written
        out of one loads back.
        """
        return _usable(self.examine(source))

    def examine(self, source: Source) -> Entry:
        """Return what a text declares, with all that is wrong with it; never raises."""
        (declared,) = declare_all(source, terms=self.terms)
        if not source.built_in and declared.name in RESERVED:
            (as_ours,) = declare_all(evolve(source, built_in=True), terms=self.terms)
            ours, same = self._by_name.get(declared.name), self._alone(as_ours)
            alike = ours and (same.profile, same.workflow) == (ours.profile, ours.workflow)
            if ours and same.profile and alike:
                return ours
        return self._alone(declared)

    def _alone(self, declaration: Declaration) -> Entry:
        """Resolve a declaration as if it were the only one of its name."""
        others = [d for d in self.declarations if d.name != declaration.name]
        done = self._untouched(declaration.name)
        return resolve((*others, declaration), self.terms, done)[-1]

    def _untouched(self, name: str) -> Mapping[str, Entry]:
        """Return what a change of one profile leaves as it is."""
        return {
            e.name: e
            for e in self.entries
            if e.profile and not any(name in p.chain for p in (e.profile, *e.stages.values()))
        }


def _usable(entry: Entry) -> Profile:
    if entry.profile is None:
        raise InputError(p for p in entry.problems if p.severity is Severity.ERROR)
    return entry.profile


_LISTED = (*BUILT_IN, *BUILT_IN_STAGED)


def _listing(declaration: Declaration) -> int:
    """Return where a profile is listed: ours first, then the others as they came."""
    ours = declaration.source.built_in and declaration.name in _LISTED
    return _LISTED.index(declaration.name) if ours else len(_LISTED)
