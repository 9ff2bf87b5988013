"""Starting a gateway: what is composed, what goes to whom, and how it ends."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

import anyio
from anyio.abc import ObjectReceiveStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError

from remit.harness.engine import Engine
from remit.harness.gateway.boxes import Boxes, Survey
from remit.harness.gateway.environment import upstream_environment
from remit.harness.gateway.garbage import refusal
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.messages import Outgoing
from remit.harness.gateway.muster import catalog_files, muster, us
from remit.harness.gateway.server import Gateway
from remit.harness.gateway.servers import ServerSpec
from remit.harness.gateway.stages import Stages
from remit.harness.gateway.stdio import standard_streams
from remit.harness.gateway.upstream import START
from remit.harness.loop.belt import Station
from remit.harness.owners import gone
from remit.harness.sandbox.box import Box, box
from remit.harness.session import Session
from remit.harness.store import Store
from remit.policy.backend import Backend
from remit.policy.ceiling import Ceiling
from remit.policy.escape import quoted
from remit.policy.problems import Problem
from remit.policy.projection import Host

__all__ = ["compose", "run_gateway", "to_stderr"]

#: Refusals of garbage that may wait for a client that does not read them.
_REFUSALS = 64


def to_stderr(problem: Problem) -> None:
    """Show a problem to whoever started the gateway: standard output is the protocol's."""
    with suppress(OSError, ValueError):
        print(f"remit gateway: {problem}", file=sys.stderr, flush=True)


def run_gateway(
    store: Store,
    engine: Engine,
    space: str,
    servers: Iterable[ServerSpec],
    *,
    elicit: bool = False,
    protected: Iterable[str] = (),
    secret: Iterable[str] = (),
    backend: Backend | None = None,
    survey: Survey | None = None,
    report: Callable[[Problem], None] = to_stderr,
) -> int:
    """Serve one client on standard input and output until it leaves or a signal ends it.

    ``elicit`` lets the client's user decide approvals; ``protected`` are the paths that no tool may
    change, ``secret`` those that none may read either; ``backend`` is the sandbox that each server
    runs in, which needs ``survey``. Returns 0. Raises `RemitError` before anything is started: for
    an unknown space, a bad name, a catalogue with problems.
    """
    gateway = compose(
        store,
        engine,
        space,
        servers,
        elicit=elicit,
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
    servers: Iterable[ServerSpec],
    *,
    elicit: bool = False,
    protected: Iterable[str] = (),
    secret: Iterable[str] = (),
    backend: Backend | None = None,
    survey: Survey | None = None,
    report: Callable[[Problem], None] = to_stderr,
    start_seconds: float = START,
) -> Gateway:
    """Return a gateway that was not started; takes and raises what `run_gateway` does."""
    specs = tuple(servers)
    worktree = store.spaces.get(space).worktree
    sandboxed = backend is not None and backend.holds
    host = Host(
        "mcp-gateway",
        worktree=worktree,
        protected=(*protected, *catalog_files(specs)),
        secret=tuple(secret),
        sandbox=backend.name if backend is not None and sandboxed else None,
    )
    conversation = f"gw-{secrets.token_hex(8)}"
    session = Session(engine, store, space, conversation, host)
    judge = Judge(session)
    # What a process had that was killed is paused, whoever opens the workspace next.
    store.runs.restart(now=session.clock(), gone=gone)

    def boxes(spec: ServerSpec) -> Boxes | None:
        if backend is None or not sandboxed:
            return None
        assert survey is not None, "a sandbox stands on a ground"
        return Boxes(judge, backend, partial(survey, spec.command))

    fleet = muster(engine, specs, worktree, report, boxes=boxes, start_seconds=start_seconds)
    environment = upstream_environment(os.environ, [worktree] if worktree else [])

    def make(ceiling: Ceiling) -> Box:
        assert backend is not None, "commands of exit gates run in a sandbox that holds"
        assert survey is not None, "a sandbox stands on a ground"
        return box(ceiling, survey(("bash",), environment), backend, worktree)

    station = Station(
        worktree, host.protected, host.secret, None, make if sandboxed else None, environment
    )
    stages = Stages(session, station)
    return Gateway(judge, fleet, report, us().version, elicit, stages)


async def _serve(gateway: Gateway, report: Callable[[Problem], None]) -> None:
    told, answers = anyio.create_memory_object_stream[JSONRPCError](_REFUSALS)

    def garbage(line: bytes) -> None:
        text = quoted(line[:240].decode(errors="replace"))
        report(Problem("client-garbage", f"the client sent {text}, which is no message"))
        if (answer := refusal(line)) is not None:
            with suppress(anyio.WouldBlock):  # a client that only talks is not answered for ever
                told.send_nowait(answer)

    async with anyio.create_task_group() as tasks, told, answers:
        tasks.start_soon(_until_signal, tasks.cancel_scope)
        async with standard_streams(garbage) as (incoming, outgoing):
            tasks.start_soon(_refuse, answers, outgoing)
            await gateway.serve(incoming, outgoing)
        tasks.cancel_scope.cancel()


async def _refuse(answers: ObjectReceiveStream[JSONRPCError], outgoing: Outgoing) -> None:
    with suppress(anyio.BrokenResourceError):
        async for answer in answers:
            await outgoing.send(SessionMessage(answer))


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
