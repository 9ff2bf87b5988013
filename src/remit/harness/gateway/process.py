"""An upstream as a process: its pipes, its end, and the end of whatever it started."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress

import anyio
from anyio.abc import Process
from attrs import define, field

from remit.harness.gateway.messages import Incoming, Outgoing
from remit.harness.sandbox.box import Box
from remit.harness.sandbox.process import Opened, opened

__all__ = ["Running", "running"]

_POLL = 0.05
#: Seconds between the end of a process and the end of its output, whichever comes first.
_LAST_WORDS = 0.3
#: Seconds that a server has to end by itself, and then after SIGTERM.
_GRACE, _FORCE = 1.5, 1.5
#: What a pipe raises once either end is gone.
_BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


@define(eq=False)
class Running:
    """A process that serves MCP on its pipes.

    ``ended`` is set when it can say nothing more: it exited, or closed its pipes.
    """

    incoming: Incoming
    outgoing: Outgoing
    process: Process
    ended: anyio.Event = field(factory=anyio.Event)

    def kill(self) -> None:
        """End it at once, with all of its group."""
        _signal(self.process.pid, signal.SIGKILL)

    @property
    def how(self) -> str:
        """How it ended, as the rest of a sentence about it."""
        match self.process.returncode:
            case None:
                return "closed its pipes"
            case code if code < 0:
                with suppress(ValueError):
                    return f"was killed by {signal.Signals(-code).name}"
                return f"was killed by signal {-code}"
            case code:
                return f"exited with status {code}"


@asynccontextmanager
async def running(
    command: Sequence[str],
    env: Mapping[str, str],
    on_garbage: Callable[[bytes], None],
    box: Box | None = None,
) -> AsyncIterator[Running]:
    """Start a server in a process group of its own; on leaving, end the whole group.

    Raises `OSError` if it cannot be started. Its standard error is ours. In a ``box`` it runs
    confined, and what it started ends with it.
    """
    with _started(command, env, box) as how:
        async with _running(how, on_garbage) as server:
            yield server


def _started(
    command: Sequence[str], env: Mapping[str, str], box: Box | None
) -> AbstractContextManager[Opened]:
    if box is None:
        return nullcontext(Opened(tuple(command), env, os.getcwd(), ()))
    return opened(box, tuple(command), env)


@asynccontextmanager
async def _running(how: Opened, on_garbage: Callable[[bytes], None]) -> AsyncIterator[Running]:
    process = await anyio.open_process(
        how.argv,
        env=how.environment,
        cwd=how.cwd,
        pass_fds=how.descriptors,
        stderr=None,
        start_new_session=True,
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None, "both are pipes"
    assert stdout is not None, "both are pipes"

    async def read() -> bytes:
        try:
            return await stdout.receive()
        except (anyio.EndOfStream, *_BROKEN):
            return b""

    async def put(data: bytes) -> None:
        try:
            await stdin.send(data)
        except _BROKEN:
            server.incoming.end()
            raise

    async def ended() -> None:
        await _until_gone(process, _LAST_WORDS)  # so that it can say with which status
        server.ended.set()

    async def watch() -> None:
        # A child that holds the pipes open would keep a server that died from being missed.
        await _until_gone(process, math.inf)
        await anyio.sleep(_LAST_WORDS)
        server.incoming.end()

    server = Running(Incoming(read, on_garbage, ended), Outgoing(put), process)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            yield server
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(process)


async def _stop(process: Process) -> None:
    """Close its input, then ask, then force; what is left of its group goes with it."""
    async with anyio.create_task_group() as tasks:
        # A server that still has something to say would else fail over a broken pipe, aloud.
        tasks.start_soon(_drain, process)
        if process.stdin:
            with suppress(*_BROKEN):
                await process.stdin.aclose()
        await _until_gone(process, _GRACE)
        if _signal(process.pid, signal.SIGTERM):
            with anyio.move_on_after(_FORCE):
                while _signal(process.pid, 0):
                    await anyio.sleep(_POLL)
            _signal(process.pid, signal.SIGKILL)
        await _until_gone(process, _FORCE)
        tasks.cancel_scope.cancel()
    with suppress(*_BROKEN):
        await process.aclose()


async def _drain(process: Process) -> None:
    with suppress(anyio.EndOfStream, *_BROKEN):
        while process.stdout:
            await process.stdout.receive()


async def _until_gone(process: Process, seconds: float) -> None:
    with anyio.move_on_after(seconds):
        while process.returncode is None:
            await anyio.sleep(_POLL)


def _signal(group: int, number: int) -> bool:
    """Signal a process group; say whether there was one."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
