"""Our own end of the client's pipes.

The SDK's transport reads in a thread that nothing can interrupt, so a gateway whose client keeps
standard input open could not be stopped by a signal. This one waits for readiness instead.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from attrs import define, field

from remit.harness.gateway.messages import Incoming, Outgoing

__all__ = ["standard_streams"]

_CHUNK = 65536
#: A pipe that is ready takes this much without blocking (POSIX).
_ATOMIC = select.PIPE_BUF
#: Bytes that may wait for a client that reads slowly, before who sends has to wait too.
_BACKLOG = 1 << 20
#: Seconds for what was answered to reach a client that leaves.
_FLUSH = 1.0


@define(eq=False)
class _Pipe:
    """The writing end of a pipe that must never block, nor tear a message when a task ends.

    What the pipe takes at once is written at once; the rest waits for `run`.
    """

    fd: int
    _waiting: deque[memoryview] = field(factory=deque, init=False)
    _size: int = field(default=0, init=False)
    _more: anyio.Event = field(factory=anyio.Event, init=False)
    _less: anyio.Event = field(factory=anyio.Event, init=False)
    _broken: OSError | None = field(default=None, init=False)

    def push(self, data: bytes) -> None:
        """Take bytes, room or not; raises `OSError` if nobody reads any more."""
        if self._broken is not None:
            raise self._broken
        rest = memoryview(data)
        if not self._waiting:
            rest = self._write(rest)
        if rest:
            self._waiting.append(rest)
            self._size += len(rest)
            self._more.set()

    async def put(self, data: bytes) -> None:
        """Take bytes and wait for room; raises as `push`."""
        self.push(data)
        while self._size > _BACKLOG and self._broken is None:
            self._less = anyio.Event()
            await self._less.wait()

    async def run(self, on_break: Callable[[], None]) -> None:
        """Write what waits, until cancelled or broken."""
        try:
            while True:
                while self._waiting:
                    await anyio.wait_writable(self.fd)
                    before = self._waiting[0]
                    rest = self._write(before)
                    self._size -= len(before) - len(rest)
                    if rest:
                        self._waiting[0] = rest
                    else:
                        self._waiting.popleft()
                    self._less.set()
                self._more = anyio.Event()
                await self._more.wait()
        except OSError as error:
            self._break(error)
            on_break()

    async def flush(self) -> None:
        """Wait until nothing waits."""
        while self._waiting and self._broken is None:
            self._less = anyio.Event()
            await self._less.wait()

    def _write(self, rest: memoryview) -> memoryview:
        try:
            while rest and select.select((), (self.fd,), (), 0)[1]:
                rest = rest[os.write(self.fd, rest[:_ATOMIC]) :]
        except OSError as error:
            self._break(error)
            raise
        return rest

    def _break(self, error: OSError) -> None:
        self._broken = error
        self._waiting.clear()
        self._size = 0
        self._more.set()
        self._less.set()


@asynccontextmanager
async def standard_streams(
    on_garbage: Callable[[bytes], None],
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Serve the protocol on standard input and output; what else prints goes to standard error.

    The read stream ends when the client closes its end, of either pipe.
    """
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    pipe = _Pipe(wire_out)

    async def put(data: bytes) -> None:
        try:
            await pipe.put(data)
        except OSError:
            # Nobody listens any more, so nothing that is still asked can be answered.
            incoming.end()
            raise

    async def read() -> bytes:
        try:
            with suppress(PermissionError):  # a file is always ready, and epoll refuses it
                await anyio.wait_readable(wire_in)
            return os.read(wire_in, _CHUNK)
        except OSError:
            return b""

    incoming = Incoming(read, on_garbage, anyio.lowlevel.checkpoint)
    outgoing = Outgoing(put, pipe.push)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipe.run, incoming.end)
            yield incoming, outgoing
            with anyio.move_on_after(_FLUSH):
                await pipe.flush()
            tasks.cancel_scope.cancel()
    finally:
        os.dup2(wire_in, 0)
        os.dup2(wire_out, 1)
        os.close(wire_in)
        os.close(wire_out)
