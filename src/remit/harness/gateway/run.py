"""Starting a gateway: what is composed, what goes to whom, and how it ends."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types

from remit.harness.engine import Engine
from remit.harness.gateway.boxes import Boxes, Survey
from remit.harness.gateway.environment import upstream_environment
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.server import Gateway
from remit.harness.gateway.shelf import Shelf
from remit.harness.gateway.stdio import standard_streams
from remit.harness.gateway.upstream import START, Upstream
from remit.harness.session import Session
from remit.harness.store import Store
from remit.policy.backend import Backend
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem, Severity
from remit.policy.projection import Host
from remit.policy.tools import NATIVE, Catalog
from remit.profiles.names import SOURCE_NAME

__all__ = ["UNBOUND", "compose", "run_gateway", "to_stderr"]

#: The name of a server that the operator gave none.
UNBOUND = "server"

#: What a selector of a profile means by these (design section 5).
_NOT_NAMES = frozenset({NATIVE, "group", "tier"})


def to_stderr(problem: Problem) -> None:
    """Show a problem to whoever started the gateway: standard output is the protocol's."""
    with suppress(OSError, ValueError):
        print(f"remit gateway: {problem}", file=sys.stderr, flush=True)


def run_gateway(
    store: Store,
    engine: Engine,
    space: str,
    command: Sequence[str],
    *,
    server: tuple[str, str] | None = None,
    protected: Iterable[str] = (),
    secret: Iterable[str] = (),
    backend: Backend | None = None,
    survey: Survey | None = None,
    report: Callable[[Problem], None] = to_stderr,
) -> int:
    """Serve one client on standard input and output until it leaves or a signal ends it.

    ``server`` is the operator's name for the upstream and the catalogue that declares its tools;
    ``protected`` are the paths that no tool may change, ``secret`` those that none may read either;
    ``backend`` is the sandbox that the upstream runs in, which needs ``survey``. Returns 0. Raises
    `RemitError` before anything is started: for an unknown space, a bad name, a catalogue with
    problems.
    """
    gateway = compose(
        store,
        engine,
        space,
        command,
        server=server,
        protected=protected,
        secret=secret,
        backend=backend,
        survey=survey,
        report=report,
    )
    _quiet(report)
    try:
        anyio.run(_serve, gateway, report)
    finally:
        gateway.judge.close()
    return 0


def compose(
    store: Store,
    engine: Engine,
    space: str,
    command: Sequence[str],
    *,
    server: tuple[str, str] | None = None,
    protected: Iterable[str] = (),
    secret: Iterable[str] = (),
    backend: Backend | None = None,
    survey: Survey | None = None,
    report: Callable[[Problem], None] = to_stderr,
    start_seconds: float = START,
) -> Gateway:
    """Return a gateway that was not started; takes and raises what `run_gateway` does."""
    name, bound = _bound(engine, server)
    worktree = store.spaces.get(space).worktree
    if bound is None:
        message = f"no tool of `{command[0]}` is declared, so none runs without being asked for"
        hint = "bind a catalogue to it: `--server NAME=CATALOG`"
        report(Problem("server-unbound", message, hint, severity=Severity.WARNING))
    held = (*protected, *((os.path.abspath(server[1]),) if server and _is_file(server[1]) else ()))
    sandboxed = backend is not None and backend.holds
    host = Host(
        "mcp-gateway",
        worktree=worktree,
        protected=held,
        secret=tuple(secret),
        sandbox=backend.name if backend is not None and sandboxed else None,
    )
    conversation = f"gw-{secrets.token_hex(8)}"
    judge = Judge(Session(engine, store, space, conversation, host))
    taken = frozenset(n for t in engine.natives.tools for n in (t.name, t.key))
    shelf = Shelf(name, bound, taken, report)
    boxes = None
    if backend is not None and sandboxed:
        assert survey is not None, "a sandbox stands on a ground"
        boxes = Boxes(judge, backend, survey)
    us = types.Implementation(name="remit", version=_version())

    async def on_tools(listed: tuple[Any, ...]) -> None:
        await gateway.restock(listed)

    upstream = Upstream(
        name,
        tuple(command),
        lambda: upstream_environment(os.environ, _folders(worktree, command)),
        on_tools,
        report,
        us,
        start_seconds,
        boxes.make if boxes else None,
    )
    gateway = Gateway(judge, upstream, shelf, report, us.version, boxes)
    return gateway


def _bound(engine: Engine, server: tuple[str, str] | None) -> tuple[str, Catalog | None]:
    if server is None:
        return UNBOUND, None
    name, catalog = server
    if not SOURCE_NAME.fullmatch(name) or name in _NOT_NAMES:
        message = f"{quoted(name)} cannot be the source name of a server"
        hint = "use 1 to 64 of A-Z a-z 0-9 _ . -, and not group, tier or remit"
        raise InputError(Problem("bad-source-name", message, hint))
    return name, engine.catalog(catalog)


def _is_file(catalog: str) -> bool:
    return Path(catalog).is_file()


def _folders(worktree: str | None, command: Sequence[str]) -> list[str]:
    """Return where an upstream may work: the worktree, here, and folders it is started with."""
    named = (part.partition("=")[2] or part for part in command[1:])
    there = [worktree] if worktree else []
    return [*there, os.getcwd(), *(n for n in named if Path(n).is_dir())]


async def _serve(gateway: Gateway, report: Callable[[Problem], None]) -> None:
    def garbage(line: bytes) -> None:
        text = quoted(line[:240].decode(errors="replace"))
        report(Problem("client-garbage", f"the client sent {text}, which is no message"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_until_signal, tasks.cancel_scope)
        async with standard_streams(garbage) as (incoming, outgoing):
            await gateway.serve(incoming, outgoing)
        tasks.cancel_scope.cancel()


async def _until_signal(scope: anyio.CancelScope) -> None:
    ends = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    with anyio.open_signal_receiver(*ends) as received:
        async for _ in received:
            scope.cancel()
            return


def _quiet(report: Callable[[Problem], None]) -> None:
    """Have the SDK's errors told in one line each; it logs traces, of both sides' doings."""

    class Tell(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            report(Problem("mcp", record.getMessage().splitlines()[0]))

    for name in ("mcp", "client"):
        logger = logging.getLogger(name)
        logger.addHandler(Tell(logging.ERROR))
        logger.propagate = False


def _version() -> str:
    try:
        return version("remit")
    except PackageNotFoundError:
        return "0"
