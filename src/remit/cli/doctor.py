"""`remit doctor`: what of this machine works, and what to do about the rest."""

from __future__ import annotations

import importlib.util
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from attrs import asdict, frozen

from remit.cli.failures import FINE, NO
from remit.cli.log import gaps
from remit.cli.options import Place, as_json, in_workspace
from remit.cli.output import emit, verdict, width
from remit.policy.escape import escape
from remit.policy.problems import RemitError, Severity

if TYPE_CHECKING:
    from remit.harness.engine import Engine
    from remit.harness.store import Space

__all__ = ["doctor"]

_OK, _WARNING, _FAILED = "ok", "warning", "failed"


@frozen
class Finding:
    """One part of the machine: ``state`` is ok, warning or failed; ``todo`` says what to do."""

    part: str
    state: str
    found: str
    todo: str = ""


@click.command()
@as_json
@in_workspace
def doctor(place: Place, as_json: bool) -> int:
    """Look at every part that remit uses here; exits 1 if one of them failed."""
    findings = list(_look(place))
    if as_json:
        emit([_finding_value(f) for f in findings])
    else:
        _print(findings)
    return NO if any(f.state == _FAILED for f in findings) else FINE


def _print(findings: Sequence[Finding]) -> None:
    """Print what was found, and under it what to do, within the terminal's width."""
    parts = max(len(f.part) for f in findings) + 2
    indent = " " * (parts + len(_WARNING) + 2)
    for finding in findings:
        pad = " " * (len(_WARNING) + 2 - len(finding.state))
        head = f"{finding.part:<{parts}}{verdict(finding.state)}{pad}"
        told = _lines(finding.found, len(indent), "")
        if finding.todo:
            told += _lines(finding.todo, len(indent), "to do: ")
        for i, text in enumerate(told):
            click.echo((indent if i else head) + escape(text))


def _lines(text: str, indent: int, first: str) -> list[str]:
    room = max(30, width() - indent)
    return textwrap.wrap(
        text, room, initial_indent=first, subsequent_indent=" " * len(first),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _finding_value(finding: Finding) -> dict[str, Any]:
    return asdict(finding)


def _look(place: Place) -> Iterator[Finding]:
    try:
        workspace = place.workspace
    except RemitError as error:
        yield from _failures("configuration", error)
        return
    there = "read" if workspace.file.exists() else "none, and none is needed"
    yield Finding("configuration", _OK, f"{workspace.file}: {there}")
    yield from _database(place)
    yield from _engine(place)
    yield from _sandboxes(place)
    yield from _programs()


def _sandboxes(place: Place) -> Iterator[Finding]:
    """Each sandbox, in the order of choice; the first that works is the one that `auto` takes."""
    from remit.harness.sandbox.box import backends

    try:
        further = place.engine.registry.backends
    except RemitError:
        further = ()
    chosen = False
    for backend in backends(further):
        found = backend.probe()
        if not backend.holds:
            continue
        if found.works:
            leaves = ", ".join(backend.leaves)
            said = f"{found.version or 'works'}{'' if chosen else ', chosen'}"
            said += f"; not closed by it: {leaves}" if leaves else ""
            yield Finding(f"sandbox {backend.name}", _OK, said)
            chosen = chosen or backend.chosen
        elif backend.chosen:
            yield Finding(f"sandbox {backend.name}", _WARNING, found.why, found.hint)
    if not chosen:
        said = "none works: the surface and the guard hold alone, and mounts are advisory"
        yield Finding("sandbox", _WARNING, said, "install bubblewrap")


def _database(place: Place) -> Iterator[Finding]:
    try:
        with place.store() as store:
            where, spaces, found = store.location, store.spaces.list(), store.log.verify()
            pending = [a for a in store.approvals.list(now=_now()) if a.state == "pending"]
    except RemitError as error:
        if error.problems[0].code == "store-missing":
            # Nobody made one yet, and that breaks nothing.
            yield Finding("database", _WARNING, error.problems[0].message, "`remit init` makes it")
        else:
            yield from _failures("database", error)
        return
    count = "1 space" if len(spaces) == 1 else f"{len(spaces)} spaces"
    yield Finding("database", _OK, f"{where}: {count}")
    if found.problem:
        yield Finding("log", _FAILED, found.problem.message, found.problem.hint)
    else:
        yield Finding("log", _OK, f"{found.records} records, whole")
        for gap in gaps(found):
            yield Finding("log", _WARNING, gap, "`remit log` shows the turns they were in")
    if pending:
        todo = "`remit approvals list --state pending`"
        yield Finding("approvals", _WARNING, f"{len(pending)} wait for you", todo)
    yield from _token(place)
    yield from _repositories(spaces)
    modes = _modes(place)
    if modes is not None and (unknown := sorted({s.mode for s in spaces} - modes)):
        todo = "mend the mode, or `remit space set` another"
        found_text = f"modes that are not available: {', '.join(unknown)}; they admit nothing"
        yield Finding("spaces", _FAILED, found_text, todo)


def _repositories(spaces: Iterable[Space]) -> Iterator[Finding]:
    """Programs that git would run on its own account in a space's worktree."""
    from remit.harness.git_programs import git_programs

    for worktree in dict.fromkeys(s.worktree for s in spaces if s.worktree):
        for problem in git_programs(worktree):
            yield Finding("worktree", _WARNING, problem.message, problem.hint)


def _now() -> Any:
    from remit.cli.options import now

    return now()


def _modes(place: Place) -> set[str] | None:
    """Return the modes that are available; None where a plugin or catalogue keeps all away."""
    try:
        return {e.name for e in place.engine.library.entries if e.profile}
    except RemitError:
        return None


def _token(place: Place) -> Iterator[Finding]:
    from remit.harness.operators import read_token

    try:
        read_token(place.workspace.token_file)
    except RemitError as error:
        yield from _failures("operator token", error)
        return
    yield Finding("operator token", _OK, str(place.workspace.token_file))


def _engine(place: Place) -> Iterator[Finding]:
    """Look at plugins, catalogues, servers and modes one by one, so that one hides no other."""
    from remit.harness.engine import Engine
    from remit.profiles.source import read_source

    workspace = place.workspace
    try:
        engine = Engine.load(plugins=workspace.plugins)
    except RemitError as error:
        # Without them hosts do not start, which is stricter.
        todo = f"or take it out of `plugins` in {workspace.file}"
        yield from _failures("plugins", error, todo)
        engine = Engine.load()
    else:
        yield Finding("plugins", _OK, ", ".join(workspace.plugins) or "none enabled")
    good: list[str] = []
    for name in workspace.catalogs:
        try:
            engine.catalog(name)
            good.append(name)
        except RemitError as error:
            yield from _failures("catalogues", error, f"`remit check {name}` says all of it")
    if len(good) == len(workspace.catalogs):
        yield Finding("catalogues", _OK, ", ".join(good) or "none configured")
    for server, name in workspace.servers.items():
        try:
            engine.catalog(name, source=server)
        except RemitError as error:
            todo = f"mend what `servers` in {workspace.file} binds `{server}` to"
            yield from _failures(f"server {server}", error, todo)
        else:
            yield Finding(f"server {server}", _OK, f"bound to {name}")
    if workspace.overlay is not None:
        try:
            engine.overlay(read_source(workspace.overlay))
        except RemitError as error:
            todo = f"mend what `overlay` in {workspace.file} names"
            yield from _failures("workspace overlay", error, todo)
        else:
            yield Finding("workspace overlay", _OK, workspace.overlay)
    yield from _passed_over(place)
    yield from _user_modes(place, engine, good)


def _passed_over(place: Place) -> Iterator[Finding]:
    try:
        problems = place.passed_over()
    except RemitError:
        return  # the folder cannot be read, which is told of the modes
    for problem in problems:
        yield Finding("user modes", _WARNING, problem.message, problem.hint)


def _user_modes(place: Place, engine: Engine, catalogs: list[str]) -> Iterator[Finding]:
    from remit.harness.engine import Engine
    from remit.profiles.fit import blocks_host

    try:
        # Plugins that work bring effects and tools that modes may name.
        enabled = [p for p in place.workspace.plugins if p in engine.registry.plugins]
        loaded = Engine.load(place.mode_files, catalogs, enabled)
    except RemitError as error:
        yield from _failures("user modes", error)
        return
    problems = list(loaded.library.problems)
    own = [e for e in loaded.library.entries if e.source != "built-in"]
    tools = loaded.with_natives(loaded.operators)
    held = [e.profile for e in own if e.profile] if loaded.operators.tools else []
    for problem in (*problems, *(p for m in held for p in loaded.fit(m, tools, place.host()))):
        wrong = problem.severity is Severity.ERROR
        state = _FAILED if wrong and (problem in problems or blocks_host(problem)) else _WARNING
        where = f" ({problem.where})" if problem.where.file else ""
        todo = problem.hint or f"mend it; `remit check {problem.where.file}` says all of it"
        yield Finding("user modes", state, problem.message + where, todo)
    sound = [e.name for e in own if e.profile]
    yield Finding("user modes", _OK, ", ".join(sound) or "none")


def _programs() -> Iterator[Finding]:
    if importlib.util.find_spec("mcp"):
        yield Finding("gateway", _OK, "`mcp` is installed")
    else:
        todo = "`pip install 'remit[mcp]'`"
        yield Finding("gateway", _WARNING, "`mcp` is not installed", todo)
    if importlib.util.find_spec("sqlglot"):
        yield Finding("sql", _OK, "`sqlglot` is installed")
    else:
        said = "`sqlglot` is not installed: SQL is not read, so a command that would run it is "
        said += "opaque, and tools that are judged by it are undeclared"
        yield Finding("sql", _WARNING, said, "`pip install 'remit[guard]'`")
    # Only a workspace on a server needs it, and that one says so where the database is looked at.
    if importlib.util.find_spec("psycopg"):
        yield Finding("PostgreSQL", _OK, "`psycopg` is installed")
    if importlib.util.find_spec("mcp_server_git") and shutil.which("git"):
        yield Finding("demo", _OK, "git and `mcp-server-git` are installed")
    else:
        todo = "install git, and `pip install 'remit[demo]'`"
        yield Finding("demo", _WARNING, "git or `mcp-server-git` is not installed", todo)


def _failures(part: str, error: RemitError, todo: str = "") -> Iterator[Finding]:
    for problem in error.problems:
        where = f" ({problem.where})" if problem.where.file else ""
        yield Finding(part, _FAILED, problem.message + where, problem.hint or todo)
