"""One upstream server: started, listed, missed when it dies, and started again on request."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import anyio
import anyio.lowlevel
import mcp_types as types
from attrs import define, field
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError

from remit.harness.gateway.following import Following
from remit.harness.gateway.link import Gone, Link, negotiate
from remit.harness.gateway.peer import Reply
from remit.harness.gateway.process import Running, running
from remit.harness.sandbox.box import Box
from remit.policy.escape import escape, quoted
from remit.policy.problems import Problem, RemitError, Severity

__all__ = ["Hears", "Upstream"]

#: Seconds for a server to start, negotiate and list; some install themselves first.
START = 30.0
#: Seconds that a call waits for a restart, so that it is answered within two.
PATIENCE = 1.0
#: Seconds that a call waits for a server that was ended because another posture holds.
RENEWAL = 20.0
#: Seconds between attempts to restart a server that does not stay up: the first, the longest.
_BACKOFF, _LONGEST = 1.0, 30.0
#: Seconds for a server that closed its pipes to be seen to end.
_LAST_WORDS = 1.0


class Hears(Protocol):
    """Who hears what a server says besides its answers."""

    async def tools(self, listed: tuple[Any, ...], able: types.ServerCapabilities) -> None:
        """Hear what it lists and can do: at each start, and whenever it says that tools changed."""

    async def told(self, message: types.ServerNotification) -> None:
        """Hear that other things changed, and what it logs."""

    async def asked(self, request: types.InputRequest) -> Reply:
        """Answer what it asks of a client."""


@define(eq=False)
class Upstream:
    """A server by the operator's name for it, over as many lives as it takes.

    ``report`` hears problems, for people. ``offered`` are the capabilities of the client, which a
    server with a handshake is told at its start.
    """

    name: str
    command: tuple[str, ...]
    environment: Callable[[], Mapping[str, str]]
    report: Callable[[Problem], None]
    client: types.Implementation
    start_seconds: float = START
    #: Makes the box that a life is lived in; None runs it as it is.
    box: Callable[[Mapping[str, str]], Awaitable[Box]] | None = None
    hears: Hears = field(init=False)
    offered: Mapping[str, Any] = field(factory=dict, init=False)
    following: Following = field(factory=Following, init=False)
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
    #: Begin with the handshake: the server is known to want it, or died of the newer question.
    _handshake: bool = field(default=False, init=False)

    async def run(self) -> None:
        """Keep it, until cancelled. It dies as often as it likes; each restart is asked for."""
        while True:
            with anyio.CancelScope() as self._life:
                await self._live()
            if self._settled.is_set():  # else it is tried again, in the other way
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
            self.known_dead()
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
        self.known_dead()
        raise Gone(f"{self._why}; it is being started again, so call once more in a moment")

    def known_dead(self) -> None:
        """Note that the conversation knows of the death."""
        self._told = True

    def _restart(self) -> None:
        if self._settled.is_set():
            # Cleared here too, so that who asks for a restart waits for it and not for the last.
            self._settled = anyio.Event()
            self._wanted.set()

    def _down(self, why: str, severity: Severity = Severity.ERROR, hint: str = "") -> None:
        """Note that there is no server any more, before what is left of it is cleared away."""
        self._failures = 0 if self.link else self._failures + 1
        pause = min(_BACKOFF * 2 ** (self._failures - 1), _LONGEST) if self._failures else 0.0
        self._not_before = time.monotonic() + pause
        self._link, self._why, self._told, self._renewing = None, why, False, False
        self._wanted = anyio.Event()
        self._settled.set()
        message = f"the server `{self.name}` {why}"
        self.report(Problem("server-down", message, hint, severity=severity))

    async def _live(self) -> None:
        """Live one life; one that ends with nothing settled is to be followed by another."""
        self._garbage = False
        try:
            environment = self.environment()
            made = await self.box(environment) if self.box is not None else None
            async with running(self.command, environment, self._hear_garbage, made) as server:
                self._server = server
                dispatcher = JSONRPCDispatcher[TransportContext](server.incoming, server.outgoing)
                async with self._session(dispatcher) as session:
                    link = Link(dispatcher, session, server, self.client)
                    if (why := await self._serve(link)) is not None:
                        self._down(why)
        except OSError as error:
            program, why = self.command[0], (error.strerror or str(error)).lower()
            self._down(f"could not be started: {quoted(program)}: {why}", hint=_where(program))
        except RemitError as error:
            self._down(f"could not be started: {error.problems[0].message}")
        except Exception as error:
            # Nothing that a server does may end the gateway, which would end the conversation.
            if self._link is not None or not self._settled.is_set():
                self._down(f"could not be talked to: {escape(repr(error))}")
        finally:
            self._server = None

    def _session(self, dispatcher: JSONRPCDispatcher[TransportContext]) -> ClientSession:
        """Return the SDK's side of it; it claims what has a callback."""

        async def fill(
            context: ClientRequestContext, params: types.ElicitRequestParams
        ) -> types.ElicitResult | types.ErrorData:
            answer = await self.hears.asked(types.ElicitRequest(params=params))
            assert isinstance(answer, types.ElicitResult | types.ErrorData), "what was asked for"
            return answer

        async def sample(
            context: ClientRequestContext, params: types.CreateMessageRequestParams
        ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData:
            answer = await self.hears.asked(types.CreateMessageRequest(params=params))
            assert not isinstance(answer, types.ElicitResult | types.ListRootsResult)
            return answer

        sampling = self.offered.get("sampling")
        return ClientSession(
            dispatcher=dispatcher,
            client_info=self.client,
            message_handler=self._hear,
            elicitation_callback=fill if "elicitation" in self.offered else None,
            sampling_callback=sample if sampling is not None else None,
            sampling_capabilities=(
                types.SamplingCapability.model_validate(sampling) if sampling else None
            ),
        )

    async def _serve(self, link: Link) -> str | None:
        """Use a server while it lives; return what ended that, None if it is to be tried again."""
        why = None
        with anyio.move_on_after(self.start_seconds) as start:
            why = await self._greet(link)
        if start.cancelled_caught:
            return f"did not answer `initialize` and `tools/list` within {self.start_seconds:g} s"
        if why is not None:
            if link.server.ended.is_set() and not self._handshake:
                # Some end where they are asked what they do not know.
                self._handshake = True
                return None
            return why
        self._handshake = not link.modern
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._relist, link)
            tasks.start_soon(self.following.run, link, self._hear)
            await link.server.ended.wait()
            tasks.cancel_scope.cancel()
        return link.server.how

    async def _greet(self, link: Link) -> str | None:
        """Negotiate and list; return why that failed, None if it did not."""
        try:
            await negotiate(link.session, handshake=self._handshake)
            await self._list(link)
            # What they are may have shown that this life is to end.
            await anyio.lowlevel.checkpoint()
        except Gone as gone:
            return str(gone)
        except MCPError as refusal:
            if refusal.code == types.CONNECTION_CLOSED:
                # Sending may fail a moment before it is seen to be gone.
                with anyio.move_on_after(_LAST_WORDS):
                    await link.server.ended.wait()
            if link.server.ended.is_set():
                return link.server.how
            return f"refused to start: {escape(refusal.error.message)}"
        except (ValidationError, RuntimeError) as error:
            return f"answered in no protocol that is known here: {escape(str(error))[:200]}"
        self._link = link
        self._patience, self._renewing = PATIENCE, False
        self._settled.set()
        return None

    async def _list(self, link: Link) -> None:
        """List the tools; a server of resources or prompts alone need have none."""
        able = link.able
        other = able.resources or able.prompts or able.completions
        listed = await link.pages("tools/list", "tools") if able.tools or not other else ()
        await self.hears.tools(listed, able)

    async def _relist(self, link: Link) -> None:
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            try:
                with anyio.fail_after(self.start_seconds):
                    await self._list(link)
            except (Gone, MCPError, TimeoutError) as error:
                message = (
                    f"the server `{self.name}` did not list its tools again: {escape(str(error))}"
                )
                self.report(Problem("server-list", message))

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()
        elif not isinstance(message, Exception):
            await self.hears.told(message)

    def _hear_garbage(self, line: bytes) -> None:
        if self._garbage:
            return
        self._garbage = True
        text = quoted(line[:240].decode(errors="replace"))
        message = f"the server `{self.name}` printed {text} on its standard output"
        hint = "standard output belongs to the protocol; such lines are passed over"
        self.report(Problem("server-garbage", message, hint))


def _where(program: str) -> str:
    """Say where a program that cannot be started is to be looked for."""
    if "/" in program:
        return "name a program that is there and may be run"
    return "give its whole path: the `PATH` here is that of the client that started the gateway"
