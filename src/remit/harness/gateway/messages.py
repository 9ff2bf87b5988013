"""Messages over bytes: one line each, read and written without a task in between.

The SDK's transports hand each message from task to task on its way; a proxy has four such ways, so
its two sides read and write in the task that wants to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import anyio
from attrs import define, field
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

__all__ = ["Incoming", "Lines", "Outgoing", "Received", "parsed"]

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


class _Stream:
    """What a stream of the SDK is besides its messages: something to close."""

    async def aclose(self) -> None:
        """Close it; a second time does nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


@define(eq=False)
class Incoming(_Stream):
    """Messages as they come: a read stream of the SDK.

    ``more`` returns the next bytes and nothing at the end; ``on_garbage`` hears each line that is
    no message, ``on_end`` that there will be no more.
    """

    more: Callable[[], Awaitable[bytes]]
    on_garbage: Callable[[bytes], None]
    on_end: Callable[[], Awaitable[None]]
    _lines: Lines = field(factory=Lines, init=False)
    _ready: deque[Received] = field(factory=deque, init=False)
    _ended: bool = field(default=False, init=False)
    _waiting: anyio.CancelScope | None = field(default=None, init=False)

    async def receive(self) -> Received:
        """Return the next message; raises `anyio.EndOfStream` at the end."""
        while not self._ready:
            if self._ended:
                await self.on_end()
                raise anyio.EndOfStream
            chunk = b""
            with anyio.CancelScope() as self._waiting:
                chunk = await self.more()
            self._waiting = None
            if not chunk:
                self._ended = True
            for line in self._lines.feed(chunk):
                message = parsed(line)
                if isinstance(message, Exception):
                    self.on_garbage(line)
                else:
                    self._ready.append(message)
        return self._ready.popleft()

    def end(self) -> None:
        """Have it end now, whoever waits for more."""
        self._ended = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def aclose(self) -> None:
        """End it."""
        self.end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Received:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


@define(eq=False)
class Outgoing(_Stream):
    """Messages as they go: a write stream of the SDK.

    ``put`` takes the bytes of one message, whole. That nobody takes them any more is ``broken``,
    and told to the sender as `anyio.BrokenResourceError`.
    """

    put: Callable[[bytes], Awaitable[None]]
    broken: bool = field(default=False, init=False)
    _closed: bool = field(default=False, init=False)

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        if self._closed:
            raise anyio.ClosedResourceError
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await self.put(text.encode() + b"\n")
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            self.broken = True
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        """Send no more."""
        self._closed = True
