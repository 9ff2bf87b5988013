"""`remit doctor`: what of this machine works, and what to do about the rest."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from typing import Any

import click
from attrs import asdict, frozen

from remit.cli.failures import FINE, NO
from remit.cli.options import Place, as_json, in_workspace
from remit.cli.output import emit, table
from remit.policy.problems import RemitError, Severity

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
        table(
            ("part", "state", "found", "what to do"),
            ((f.part, f.state, f.found, f.todo or "-") for f in findings),
        )
    return NO if any(f.state == _FAILED for f in findings) else FINE


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
    workspace = place.workspace
    try:
        with place.store() as store:
            spaces, found = store.spaces.list(), store.log.verify()
            pending = [a for a in store.approvals.list(now=_now()) if a.state == "pending"]
    except RemitError as error:
        if error.problems[0].code == "store-missing":
            # Nobody made one yet, and that breaks nothing.
            yield Finding("database", _WARNING, f"none at {workspace.db}", "`remit init` makes it")
        else:
            yield from _failures("database", error)
        return
    yield Finding("database", _OK, f"{workspace.db}: {len(spaces)} spaces")
    if found.problem:
        yield Finding("log", _FAILED, found.problem.message, found.problem.hint)
    else:
        yield Finding("log", _OK, f"{found.records} records, whole")
    if pending:
        todo = "`remit approvals list --state pending`"
        yield Finding("approvals", _WARNING, f"{len(pending)} wait for you", todo)
    yield from _token(place)
    unknown = sorted({s.mode for s in spaces} - set(_modes(place)))
    if unknown:
        todo = "mend the mode, or `remit space set` another"
        found_text = f"modes that are not available: {', '.join(unknown)}; they admit nothing"
        yield Finding("spaces", _FAILED, found_text, todo)


def _now() -> Any:
    from remit.cli.options import now

    return now()


def _modes(place: Place) -> list[str]:
    try:
        return [e.name for e in place.engine.library.entries if e.profile]
    except RemitError:
        return []


def _token(place: Place) -> Iterator[Finding]:
    from remit.harness.operators import read_token

    try:
        read_token(place.workspace.token_file)
    except RemitError as error:
        yield from _failures("operator token", error)
        return
    yield Finding("operator token", _OK, str(place.workspace.token_file))


def _engine(place: Place) -> Iterator[Finding]:
    try:
        engine = place.engine
    except RemitError as error:
        # Plugins and catalogues: without them hosts do not start, which is stricter.
        yield from _failures("plugins", error)
        return
    own = place.workspace.plugins
    yield Finding("plugins", _OK, ", ".join(own) or "none enabled")
    yield Finding("catalogues", _OK, ", ".join(place.workspace.catalogs) or "none configured")
    broken = [p for p in engine.library.problems if p.severity is Severity.ERROR]
    user = [e for e in engine.library.entries if e.source != "built-in"]
    if broken:
        for problem in broken:
            where = f" ({problem.where})" if problem.where.file else ""
            yield Finding("user modes", _FAILED, problem.message + where, problem.hint)
    else:
        yield Finding("user modes", _OK, ", ".join(e.name for e in user) or "none")


def _programs() -> Iterator[Finding]:
    if importlib.util.find_spec("mcp"):
        yield Finding("gateway", _OK, "`mcp` is installed")
    else:
        todo = "`pip install 'remit[mcp]'`"
        yield Finding("gateway", _WARNING, "`mcp` is not installed", todo)
    if importlib.util.find_spec("mcp_server_git") and shutil.which("git"):
        yield Finding("demo", _OK, "git and `mcp-server-git` are installed")
    else:
        todo = "install git, and `pip install 'remit[demo]'`"
        yield Finding("demo", _WARNING, "git or `mcp-server-git` is not installed", todo)


def _failures(part: str, error: RemitError) -> Iterator[Finding]:
    for problem in error.problems:
        yield Finding(part, _FAILED, problem.message, problem.hint)
