"""An upstream as a process: its pipes, its end, and the end of whatever it started."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from attrs import define, field
from mcp.shared.message import SessionMessage

from remit.harness.gateway.stdio import Lines, Received, parsed

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

    ``ended`` is set when it can say nothing more: it exited, or closed its output.
    """

    incoming: MemoryObjectReceiveStream[Received]
    outgoing: MemoryObjectSendStream[SessionMessage]
    process: Process
    ended: anyio.Event = field(factory=anyio.Event)

    @property
    def how(self) -> str:
        """How it ended, as the rest of a sentence about it."""
        match self.process.returncode:
            case None:
                return "closed its output"
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
) -> AsyncIterator[Running]:
    """Start a server in a process group of its own; on leaving, end the whole group.

    Raises `OSError` if it cannot be started. Its standard error is ours.
    """
    process = await anyio.open_process(list(command), env=env, stderr=None, start_new_session=True)
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None, "both are pipes"
    assert stdout is not None, "both are pipes"
    to_us, incoming = anyio.create_memory_object_stream[Received](0)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)
    server = Running(incoming, outgoing, process)

    async def read() -> None:
        lines = Lines()
        with suppress(anyio.EndOfStream, *_BROKEN):
            while True:
                for line in lines.feed(await stdout.receive()):
                    message = parsed(line)
                    if isinstance(message, Exception):
                        on_garbage(line)
                    else:
                        await to_us.send(message)
        await _until_gone(process, _LAST_WORDS)  # so that it can say with which status
        end()

    async def write() -> None:
        with suppress(*_BROKEN):
            async for item in from_us:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(text.encode() + b"\n")

    async def watch() -> None:
        # A child that holds the pipes open would keep a server that died from being missed.
        while process.returncode is None:
            await anyio.sleep(_POLL)
        await anyio.sleep(_LAST_WORDS)
        end()

    def end() -> None:
        server.ended.set()
        to_us.close()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            tasks.start_soon(watch)
            yield server
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            for stream in (outgoing, from_us, to_us, incoming):
                stream.close()
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
