"""Our own end of the client's pipes.

The SDK's transport reads in a thread that nothing can interrupt, so a gateway whose client keeps
standard input open could not be stopped by a signal. This one waits for readiness instead, which
also saves a change of threads a message.
"""

from __future__ import annotations

import os
import select
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from attrs import define, field
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

__all__ = ["Lines", "Received", "parsed", "standard_streams"]

_CHUNK = 65536
#: A pipe that is ready takes this much without blocking (POSIX).
_ATOMIC = select.PIPE_BUF
#: Seconds for what was answered to reach a client that leaves.
_FLUSH = 1.0

Received = SessionMessage | Exception


def parsed(line: bytes) -> Received:
    """Return the message of a line, or what is wrong with it as a value."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as wrong:
        return wrong


@define
class Lines:
    """Cuts a stream of bytes into lines, in time linear in what arrives."""

    _parts: list[bytes] = field(factory=list)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk; return the lines that it completes, without blank ones."""
        *complete, rest = chunk.split(b"\n")
        if not complete:
            self._parts.append(rest)
            return []
        complete[0] = b"".join((*self._parts, complete[0]))
        self._parts = [rest]
        return [line for line in complete if line.strip()]


@asynccontextmanager
async def standard_streams(
    on_garbage: Callable[[bytes], None],
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]
]:
    """Serve the protocol on standard input and output; what else prints goes to standard error.

    The read stream ends when the client closes its end, of either pipe.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    to_us, from_client = anyio.create_memory_object_stream[Received](0)
    to_client, from_us = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        lines = Lines()
        async with to_us:
            while chunk := await _read(wire_in):
                for line in lines.feed(chunk):
                    message = parsed(line)
                    if isinstance(message, Exception):
                        on_garbage(line)
                    else:
                        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                            await to_us.send(message)

    async def write() -> None:
        async with from_us:
            async for item in from_us:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                if not await _write(wire_out, text.encode() + b"\n"):
                    break
        # Nobody listens any more, so nothing that is still asked can be answered.
        to_us.close()

    written = anyio.Event()

    async def write_all() -> None:
        try:
            await write()
        finally:
            written.set()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write_all)
            yield from_client, to_client
            to_client.close()
            with anyio.move_on_after(_FLUSH):
                await written.wait()
            tasks.cancel_scope.cancel()
    finally:
        for stream in (to_us, from_client, to_client, from_us):
            stream.close()
        os.dup2(wire_in, 0)
        os.dup2(wire_out, 1)
        os.close(wire_in)
        os.close(wire_out)


async def _read(fd: int) -> bytes:
    """Return what there is to read, nothing at the end."""
    try:
        with suppress(PermissionError):  # a file is always ready, and epoll refuses it
            await anyio.wait_readable(fd)
        return os.read(fd, _CHUNK)
    except OSError:
        return b""


async def _write(fd: int, data: bytes) -> bool:
    """Write without ever blocking the loop; say whether the other side took it."""
    rest = memoryview(data)
    try:
        while rest:
            if select.select((), (fd,), (), 0)[1]:
                rest = rest[os.write(fd, rest[:_ATOMIC]) :]
            else:
                await anyio.wait_writable(fd)
    except OSError:
        return False
    return True
