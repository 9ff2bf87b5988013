"""One upstream server: started, listed, missed when it dies, and started again on request."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
from attrs import define, field
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError

from remit.harness.gateway.link import Gone, Link, negotiate
from remit.harness.gateway.process import Running, running
from remit.harness.gateway.relay import modern
from remit.harness.sandbox.box import Box
from remit.policy.escape import escape, quoted
from remit.policy.problems import Problem, RemitError, Severity

__all__ = ["Upstream"]

#: Seconds for a server to start, negotiate and list; some install themselves first.
START = 30.0
#: Seconds that a call waits for a restart, so that it is answered within two.
PATIENCE = 1.0
#: Seconds that a call waits for a server that was ended because another posture holds.
RENEWAL = 20.0
#: Seconds between attempts to restart a server that does not stay up: the first, the longest.
_BACKOFF, _LONGEST = 1.0, 30.0


@define(eq=False)
class Upstream:
    """A server by the operator's name for it, over as many lives as it takes.

    ``on_tools`` hears what it lists: at each start, and whenever it says that this changed.
    ``report`` hears problems, for people.
    """

    name: str
    command: tuple[str, ...]
    environment: Callable[[], Mapping[str, str]]
    on_tools: Callable[[tuple[Any, ...]], Awaitable[None]]
    report: Callable[[Problem], None]
    client: types.Implementation
    start_seconds: float = START
    #: Makes the box that a life is lived in; None runs it as it is.
    box: Callable[[Mapping[str, str]], Awaitable[Box]] | None = None
    _life: anyio.CancelScope | None = field(default=None, init=False)
    _server: Running | None = field(default=None, init=False)
    _patience: float = field(default=PATIENCE, init=False)
    _renewing: bool = field(default=False, init=False)
    _link: Link | None = field(default=None, init=False)
    _why: str = field(default="", init=False)
    _told: bool = field(default=False, init=False)
    _failures: int = field(default=0, init=False)
    _not_before: float = field(default=0.0, init=False)
    _wanted: anyio.Event = field(factory=anyio.Event, init=False)
    _settled: anyio.Event = field(factory=anyio.Event, init=False)
    _changed: anyio.Event = field(factory=anyio.Event, init=False)
    _garbage: bool = field(default=False, init=False)

    async def run(self) -> None:
        """Keep it, until cancelled. It dies as often as it likes; each restart is asked for."""
        while True:
            with anyio.CancelScope() as self._life:
                await self._live()
            await self._wanted.wait()

    def renew(self, why: str) -> None:
        """End the server at once and start it again; calls wait for it and are not told.

        Nothing of the old life is asked to end: what was started under another posture is to do
        nothing more.
        """
        if self._server is None and self._settled.is_set():
            return
        if self._server is not None:
            self._server.kill()
        self._down(why, Severity.WARNING)
        self._failures, self._not_before, self._told = 0, 0.0, True
        self._patience, self._renewing = RENEWAL, True
        self._restart()
        if self._life is not None:
            self._life.cancel()

    @property
    def link(self) -> Link | None:
        """The connection to send a request on, None while there is none."""
        return self._link

    @property
    def starting(self) -> bool:
        """Is it in its first start, before which nothing is known of its tools."""
        return not self._why and self.link is None

    async def settled(self) -> None:
        """Wait for the first or present start to succeed or fail."""
        await self._settled.wait()

    async def reach(self) -> Link:
        """Return the link to send a request on.

        Raises `Gone` if there is none, with what became of the server and what to do. A death is
        told once before anything is sent to a successor, because what the server knew is lost.
        """
        if (link := self.link) is not None:
            return link
        if self.starting:
            await self._settled.wait()
            if (link := self.link) is not None:
                return link
        wait = self._not_before - time.monotonic()
        if wait > 0 and self._settled.is_set():
            self.told()
            raise Gone(f"{self._why}; a call in {wait:.0f} s or later starts it again")
        self._restart()
        if self._told:
            with anyio.move_on_after(self._patience):
                await self._settled.wait()
                while self.link is None and self._renewing:
                    # It was ended once more before it was there.
                    await self._settled.wait()
            if (link := self.link) is not None:
                return link
        self.told()
        raise Gone(f"{self._why}; it is being started again, so call once more in a moment")

    def told(self) -> None:
        """Note that the conversation knows of the death."""
        self._told = True

    def _restart(self) -> None:
        if self._settled.is_set():
            # Cleared here too, so that who asks for a restart waits for it and not for the last.
            self._settled = anyio.Event()
            self._wanted.set()

    def _down(self, why: str, severity: Severity = Severity.ERROR) -> None:
        """Note that there is no server any more, before what is left of it is cleared away."""
        self._failures = 0 if self.link else self._failures + 1
        pause = min(_BACKOFF * 2 ** (self._failures - 1), _LONGEST) if self._failures else 0.0
        self._not_before = time.monotonic() + pause
        self._link, self._why, self._told, self._renewing = None, why, False, False
        self._wanted = anyio.Event()
        self._settled.set()
        message = f"the server `{self.name}` {why}"
        self.report(Problem("server-down", message, severity=severity))

    async def _live(self) -> None:
        """Live one life."""
        self._garbage = False
        try:
            environment = self.environment()
            made = await self.box(environment) if self.box is not None else None
            async with running(self.command, environment, self._hear_garbage, made) as server:
                self._server = server
                dispatcher = JSONRPCDispatcher[TransportContext](server.incoming, server.outgoing)
                session = ClientSession(
                    dispatcher=dispatcher, client_info=self.client, message_handler=self._hear
                )
                async with session:
                    self._down(await self._serve(Link(dispatcher, session, server, self.client)))
        except OSError as error:
            self._down(f"could not be started: {error.strerror or error}")
        except RemitError as error:
            self._down(f"could not be started: {error.problems[0].message}")
        except Exception as error:
            # Nothing that a server does may end the gateway, which would end the conversation.
            if self._link is not None or not self._settled.is_set():
                self._down(f"could not be talked to: {escape(repr(error))}")
        finally:
            self._server = None

    async def _serve(self, link: Link) -> str:
        """Use a server while it lives; return what ended that."""
        why = None
        with anyio.move_on_after(self.start_seconds) as start:
            why = await self._greet(link)
        if start.cancelled_caught:
            return f"did not answer `initialize` and `tools/list` within {self.start_seconds:g} s"
        if why is not None:
            return why
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._relist, link)
            if modern(link.session.protocol_version or ""):
                tasks.start_soon(self._subscribe, link)
            await link.server.ended.wait()
            tasks.cancel_scope.cancel()
        return link.server.how

    async def _greet(self, link: Link) -> str | None:
        """Negotiate and list; return why that failed, None if it did not."""
        try:
            await negotiate(link.session)
            await self.on_tools(await link.tools())
            # What they are may have shown that this life is to end.
            await anyio.lowlevel.checkpoint()
        except Gone as gone:
            return str(gone)
        except MCPError as refusal:
            if link.server.ended.is_set():
                return link.server.how
            return f"refused to start: {escape(refusal.error.message)}"
        except (ValidationError, RuntimeError) as error:
            return f"answered in no protocol that is known here: {escape(str(error))[:200]}"
        self._link = link
        self._patience, self._renewing = PATIENCE, False
        self._settled.set()
        return None

    async def _relist(self, link: Link) -> None:
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            try:
                with anyio.fail_after(self.start_seconds):
                    await self.on_tools(await link.tools())
            except (Gone, MCPError, TimeoutError) as error:
                message = (
                    f"the server `{self.name}` did not list its tools again: {escape(str(error))}"
                )
                self.report(Problem("server-list", message))

    async def _subscribe(self, link: Link) -> None:
        """Hear of changed tools as a modern server tells it, where it does."""
        capabilities = link.session.server_capabilities
        if not (capabilities and capabilities.tools and capabilities.tools.list_changed):
            return
        while True:
            try:
                async with listen(link.session, tools_list_changed=True) as events:
                    self._changed.set()  # what changed before this was heard by nobody
                    async for _ in events:
                        self._changed.set()
            except MCPError:
                return
            except SubscriptionLost:
                pass
            await anyio.sleep(_BACKOFF)

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()

    def _hear_garbage(self, line: bytes) -> None:
        if self._garbage:
            return
        self._garbage = True
        text = quoted(line[:240].decode(errors="replace"))
        message = f"the server `{self.name}` printed {text} on its standard output"
        hint = "standard output belongs to the protocol; such lines are passed over"
        self.report(Problem("server-garbage", message, hint))
