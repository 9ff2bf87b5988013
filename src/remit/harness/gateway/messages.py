"""Messages over bytes: one line each, read and written without a task in between.

The SDK's transports hand each message from task to task on its way; a proxy has four such ways, so
its two sides read and write in the task that wants to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from itertools import chain
from types import TracebackType
from typing import Self

import anyio
from attrs import define, field
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse, jsonrpc_message_adapter
from pydantic_core import from_json

from remit.harness.gateway.pieces import long, pieces

__all__ = ["Incoming", "Lines", "Outgoing", "Received", "parsed"]

Received = SessionMessage | Exception
#: Bytes from which on a line is long.
_LONG = 1 << 20


def parsed(line: bytes) -> Received:
    """Return the message of a line, or what is wrong with it as a value."""
    try:
        if len(line) >= _LONG:
            # Reading JSON and telling apart what it is, in one, takes five times the line.
            value = from_json(line)
            message = jsonrpc_message_adapter.validate_python(value, by_name=False)
        else:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        # A request with an id that is none passes for a notification, and who sent it would wait.
        if isinstance(message, JSONRPCNotification) and b'"id"' in line and "id" in from_json(line):
            return ValueError("the id of a request is a text or a whole number")
        return SessionMessage(message)
    except ValueError as wrong:
        return wrong


@define
class Lines:
    """Cuts a stream of bytes into lines, in time linear in what arrives."""

    #: What came of a line that is not complete; grown in place, so that it is held once.
    _rest: bytearray = field(factory=bytearray)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk; return the lines that it completes, without blank ones."""
        first, *others = chunk.split(b"\n")
        self._rest += first
        if not others:
            return []
        # As bytes, and the array let go of: what reads JSON would copy an array once more.
        *complete, rest = (bytes(self._rest), *others)
        self._rest = bytearray(rest)
        return [line for line in complete if not _blank(line)]


def _blank(line: bytes) -> bool:
    return not line or line.isspace()


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
            self._take(chunk)
        return self._ready.popleft()

    def _take(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk):
            message = parsed(line)
            if isinstance(message, Exception):
                self.on_garbage(line)
            else:
                self._ready.append(message)

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

    ``put`` takes bytes, of one message whole. That nobody takes them any more is ``broken``, and
    told to the sender as `anyio.BrokenResourceError`. Where there is ``push``, which takes bytes
    without waiting for room, a long message is written in pieces.
    """

    put: Callable[[bytes], Awaitable[None]]
    push: Callable[[bytes], None] | None = None
    _writing: anyio.Event | None = field(default=None, init=False)
    broken: bool = field(default=False, init=False)
    _closed: bool = field(default=False, init=False)

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message."""
        if self._closed:
            raise anyio.ClosedResourceError
        while self._writing is not None:
            await self._writing.wait()
        message = item.message
        try:
            if (
                self.push is not None
                and isinstance(message, JSONRPCResponse)
                and long(message.result)
            ):
                await self._send_pieces(message)
            else:
                text = message.model_dump_json(by_alias=True, exclude_unset=True)
                await self.put(text.encode() + b"\n")
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            self.broken = True
            raise anyio.BrokenResourceError from error

    async def _send_pieces(self, message: JSONRPCResponse) -> None:
        """Send a result in pieces: with nothing between them, and no part without the others."""
        assert self.push is not None, "asked for before"
        head = {"jsonrpc": message.jsonrpc, "id": message.id, "result": message.result}
        rest = chain(pieces(head), (b"\n",))
        self._writing = anyio.Event()
        try:
            for piece in rest:
                await self.put(piece)
        except anyio.get_cancelled_exc_class():
            for piece in rest:
                self.push(piece)
            raise
        finally:
            self._writing.set()
            self._writing = None

    async def aclose(self) -> None:
        """Send no more."""
        self._closed = True
