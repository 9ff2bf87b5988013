"""`remit check`: every problem of files, of all there are or of those named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

import click
from attrs import evolve

from remit.cli.failures import FINE, NO
from remit.cli.options import Place, as_json, in_place, with_catalogs
from remit.cli.output import emit, note, problem_value, say, show_problems
from remit.policy.problems import InputError, Problem, RemitError, Severity
from remit.policy.profile import Profile
from remit.policy.tools import Catalog

if TYPE_CHECKING:
    from remit.profiles.source import Source

__all__ = ["check"]


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@with_catalogs
@as_json
@in_place
def check(place: Place, paths: tuple[str, ...], catalogs: tuple[str, ...], as_json: bool) -> int:
    """Find every problem of each PATH; without one, of all modes, the configuration and plugins.

    A file with [tools] is a catalogue, any other a profile. With --catalog, or with catalogues in
    your remit.toml, profiles are held against the tools too. Exits 1 if a problem is an error.
    """
    problems = tuple(_named(place, paths, catalogs) if paths else _all(place, catalogs))
    if as_json:
        emit([problem_value(p) for p in problems])
    else:
        show_problems(problems, err=False)
    errors = sum(p.severity is Severity.ERROR for p in problems)
    if not as_json:
        counts = ((errors, "error"), (len(problems) - errors, "warning"))
        listed = ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n)
        # Of a whole workspace that names no catalogue, half of what can be wrong is not looked for.
        held = paths or catalogs or place.workspace.catalogs
        said = listed or ("no problems" if held else "no problems (held against no catalogue)")
        (note if problems else say)(said)
    return NO if errors else FINE


def _named(place: Place, paths: Iterable[str], catalogs: tuple[str, ...]) -> Iterator[Problem]:
    """Yield the problems of some files; raises `InputError` for those that cannot be read."""
    from remit.profiles.source import read_source

    sources: list[Source] = []
    problems: list[Problem] = []
    unread: list[Problem] = []
    for path in paths:
        try:
            sources.append(read_source(path))
        except RemitError as error:
            # What is there and can be read, but is no text, is a finding; all else is the command.
            for problem in error.problems:
                found = problem.code in ("file-too-large", "file-not-text")
                (problems if found else unread).append(problem)
    if unread:
        raise InputError(_meant(place, p) for p in unread)
    tools = _tools(place, catalogs)
    yield from problems
    for source in sources:
        yield from _source(place, source, tools)


def _meant(place: Place, problem: Problem) -> Problem:
    """Say where the file of a mode is, to who named the mode itself or left out its folder."""
    if problem.code not in ("file-missing", "file-is-folder"):
        return problem
    there = place.workspace.modes / problem.where.file
    if there.is_file():
        return evolve(problem, hint=f"there is `{there}`")
    try:
        entry = place.engine.library.entry(problem.where.file)
    except RemitError:
        return problem
    where = "it comes with remit" if entry.source == "built-in" else f"its file is {entry.source}"
    return evolve(problem, hint=f"`{entry.name}` is a mode, and {where}")


def _source(place: Place, source: Source, tools: Catalog | None) -> Iterator[Problem]:
    from remit.profiles.catalogs import parse_catalog

    ending = PurePath(source.file).suffix
    if ending == ".json" or (ending != ".md" and _has_tools(source)):
        yield from parse_catalog(source, known=place.engine.effects).problems
    elif PurePath(source.file).name == "remit.toml":
        yield from _configuration(source)
    else:
        entry = place.engine.library.examine(source)
        yield from entry.problems
        yield from _fit(place, entry.profile, tools)


def _has_tools(source: Source) -> bool:
    from remit.profiles.document import parse_toml

    try:
        return "tools" in parse_toml(source).data
    except InputError:
        # It cannot be parsed, so nobody can say what it is; the profile loader tells what is wrong.
        return False


def _configuration(source: Source) -> Iterator[Problem]:
    from pathlib import Path

    from remit.harness.location import locate

    try:
        locate({}, config=str(Path(source.file).parent))
    except RemitError as error:
        yield from error.problems


def _fit(place: Place, profile: Profile | None, tools: Catalog | None) -> Iterator[Problem]:
    if profile is not None and tools is not None:
        yield from place.fit(profile, tools)


def _tools(place: Place, catalogs: tuple[str, ...]) -> Catalog | None:
    """Return the tools that profiles are held against, None where nobody named any."""
    named = catalogs or place.engine.operators.tools
    return place.tools(catalogs) if named else None


def _all(place: Place, catalogs: tuple[str, ...]) -> Iterator[Problem]:
    """Yield the problems of all that a host here would load."""
    try:
        engine = place.engine
    except RemitError as error:
        # Configuration, plugins or catalogues: nothing else can be loaded without them.
        yield from error.problems
        return
    yield from engine.library.problems
    yield from place.passed_over()
    tools = _tools(place, catalogs)
    for entry in engine.library.entries:
        yield from _fit(place, entry.profile, tools)
