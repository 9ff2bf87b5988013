"""Resolution: every declaration finds its parent, or what is wrong with it is told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from attrs import evolve, field, frozen

from remit.policy.problems import Problem, Severity
from remit.policy.profile import Profile
from remit.policy.workflow import Workflow
from remit.profiles.declaration import Declaration
from remit.profiles.inheritance import inherit, mode_hint
from remit.profiles.names import ALIASES, TOP_MODE
from remit.profiles.source import WRITTEN_BY_US
from remit.profiles.staging import stage_profiles
from remit.profiles.structure import quoted
from remit.profiles.terms import Terms

__all__ = ["Entry", "resolve"]


@frozen
class Entry:
    """One mode as a list of modes shows it; ``profile`` is None where it is unavailable."""

    name: str
    label: str
    #: ``built-in``, or the file.
    source: str
    selectable: bool = False
    problems: tuple[Problem, ...] = ()
    profile: Profile | None = field(default=None, repr=False)
    #: The stages of a mode that has any, and the profile of each.
    workflow: Workflow | None = field(default=None, repr=False)
    stages: Mapping[str, Profile] = field(factory=dict, repr=False)

    @property
    def kind(self) -> str:
        """Is it ``simple``, or ``staged``: has it runs."""
        return "staged" if self.workflow else "simple"


def resolve(
    declarations: Sequence[Declaration], terms: Terms, done: Mapping[str, Entry]
) -> tuple[Entry, ...]:
    """Return what becomes of each declaration, in their order.

    ``done`` are entries, by name, that are known to be still right.
    """
    claims: dict[str, list[Declaration]] = {}
    for declaration in declarations:
        if declaration.claims:
            claims.setdefault(declaration.name, []).append(declaration)
    names = dict.fromkeys(d.name for d in declarations)
    entries = {name: done[name] for name in claims if name in done and len(claims[name]) == 1}
    sound = {name: group[0] for name, group in claims.items() if len(group) == 1 and group[0].file}
    for name in sound:
        _settle(name, sound, names, entries, terms)
    # As they are before any stage is looked at, so that the order of files is nothing.
    usable = {name: e.profile for name, e in entries.items() if e.profile is not None}
    for name, declaration in sound.items():
        if declaration.workflow is not None and name not in done:
            entries[name] = _staged(declaration, entries[name], usable, names)
    return tuple(
        entries[d.name] if d.claims and d.name in entries else _unavailable(d, claims)
        for d in declarations
    )


def _settle(
    name: str,
    sound: Mapping[str, Declaration],
    names: Collection[str],
    entries: dict[str, Entry],
    terms: Terms,
) -> None:
    """Settle a profile after its ancestors, without recursion however long the line is."""
    line: dict[str, str | None] = {}
    at: str | None = name
    while at is not None and at in sound and at not in entries:
        if at in line:
            cycle = [*list(line)[list(line).index(at) :], at]
            for member in cycle[:-1]:
                entries[member] = _in_cycle(sound[member], cycle)
            break
        parent = line[at] = parent_of(sound[at])
        at = parent
    for step, parent in reversed(line.items()):
        if step not in entries:
            entries[step] = _settled(sound[step], parent, names, entries, terms)


def parent_of(declaration: Declaration) -> str | None:
    """Return the name of the parent, None for the top of all."""
    extends = declaration.file.extends if declaration.file else None
    if extends is not None:
        return ALIASES.get(extends, extends)
    top = declaration.name == TOP_MODE and declaration.source.built_in
    return None if top else TOP_MODE


def _settled(
    declaration: Declaration,
    name: str | None,
    names: Collection[str],
    entries: Mapping[str, Entry],
    terms: Terms,
) -> Entry:
    """Settle a profile whose parent is of this name, and settled if it can be."""
    document, file = declaration.document, declaration.file
    if document is None or file is None:
        raise AssertionError(declaration.name)
    above = entries.get(name) if name else None
    parent = above.profile if above else None
    if name is not None and parent is None:
        known = name in names
        message = f"its parent `{quoted(name)}` is unavailable"
        hint = "mend the parent first; its own problems are listed with it"
        if not known:
            message, hint = f"unknown parent `{quoted(name)}`", mode_hint(name, names)
        code = "broken-parent" if known else "unknown-parent"
        return _entry(
            declaration, (document.problem(code, message, (declaration.parent_key,), hint),)
        )
    profile, problems = inherit(declaration, document, file, parent, names, terms)
    return _entry(declaration, problems, profile)


def _staged(
    declaration: Declaration,
    entry: Entry,
    usable: Mapping[str, Profile],
    names: Collection[str],
) -> Entry:
    """Return the entry of a mode whose stages have met their permissions."""
    workflow = declaration.workflow
    if entry.profile is None or workflow is None or declaration.document is None:
        return evolve(entry, workflow=workflow)
    stages, found = stage_profiles(entry.profile, workflow, declaration.document, usable, names)
    problems = (*entry.problems, *found.problems)
    if any(p.severity is Severity.ERROR for p in problems):
        return evolve(entry, problems=problems, profile=None, workflow=workflow)
    return evolve(entry, problems=problems, workflow=workflow, stages=stages)


def _in_cycle(declaration: Declaration, cycle: Sequence[str]) -> Entry:
    start = cycle.index(declaration.name)
    turned = [*cycle[start:-1], *cycle[:start], declaration.name]
    message = f"it extends itself: {' extends '.join(f'`{n}`' for n in turned)}"
    hint = "one of them must extend a mode outside the circle"
    document = declaration.document
    problem = document and document.problem(
        "parent-cycle", message, (declaration.parent_key,), hint
    )
    return _entry(declaration, (problem,) if problem else ())


def _unavailable(declaration: Declaration, claims: Mapping[str, Sequence[Declaration]]) -> Entry:
    others = [d for d in claims.get(declaration.name, ()) if d is not declaration]
    document = declaration.document
    if not (others and document and declaration.claims):
        return _entry(declaration)
    files = " and ".join(f"`{d.source.file}`" for d in others)
    message = f"the name `{declaration.name}` is also that of {files}"
    hint = "none of them is used until each has a name of its own"
    return _entry(declaration, (document.problem("duplicate-name", message, ("name",), hint),))


def _entry(
    declaration: Declaration,
    problems: Sequence[Problem] = (),
    profile: Profile | None = None,
) -> Entry:
    found = (*declaration.problems, *problems)
    if found and any(p.severity is Severity.ERROR for p in found):
        profile = None
    return Entry(
        declaration.name,
        declaration.label or declaration.name,
        WRITTEN_BY_US if declaration.source.built_in else declaration.source.file,
        profile is not None and profile.selectable,
        found,
        profile,
        declaration.workflow,
    )
