"""The gateway as its client sees it: one MCP server whose offers are the surface of a space.

What is listed, called and read is answered in a middleware, before the SDK shapes anything:
requests are judged as they came and results relayed as they came. The SDK's server does the rest
(both eras' openings, subscriptions, cancellation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from attrs import define, field
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import ListenHandler
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from remit.harness.gateway.asks import Asks
from remit.harness.gateway.calls import Calls
from remit.harness.gateway.changes import News, Notice
from remit.harness.gateway.claims import claims
from remit.harness.gateway.directory import Directory
from remit.harness.gateway.fleet import Fleet
from remit.harness.gateway.forwarding import Forwarding
from remit.harness.gateway.hearing import Hearing
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.lists import Lists
from remit.harness.gateway.logs import Logs
from remit.harness.gateway.peer import Context, Peer
from remit.harness.gateway.relay import modern
from remit.harness.gateway.requests import Requests
from remit.harness.gateway.routes import Routes
from remit.harness.gateway.stages import Stages
from remit.harness.gateway.watching import Watching
from remit.policy.problems import Problem

__all__ = ["INSTRUCTIONS", "Gateway"]

#: Sent once, so it names no mode: a mode can change while a client keeps these words.
INSTRUCTIONS = (
    "The tools here stand behind remit: what may be called depends on the mode of this space, "
    "which its operator can change at any time. Call the tool `mode` to read what holds now. "
    "A result with a line that begins with [remit] tells of a change."
)


@define(eq=False)
class Gateway:
    """One client in front of its servers; ``report`` hears problems, for people."""

    judge: Judge
    fleet: Fleet
    report: Callable[[Problem], None]
    version: str = ""
    elicit: bool = False
    #: The client's turns at runs of the space.
    stages: Stages | None = None
    _peer: Peer = field(factory=Peer, init=False)
    _news: News = field(init=False)
    _hearing: Hearing = field(init=False)
    _routes: Routes = field(init=False)
    _server: Server[Any] = field(init=False)
    _tasks: TaskGroup = field(init=False)
    _opened: bool = field(default=False, init=False)
    _started: anyio.Event = field(factory=anyio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self._news = News(self._peer)
        self._server = Server(
            "remit",
            version=self.version,
            instructions=INSTRUCTIONS,
            on_list_tools=_answered_before,
            on_call_tool=_answered_before,
            on_subscriptions_listen=ListenHandler(self._news.bus),
        )
        # In place of what traces each request: that costs, and nobody listens.
        self._server.middleware[:] = [self._answer]
        self._make()

    def _make(self) -> None:
        """Make the parts, each of which knows those before it."""
        judge, fleet, peer, news = self.judge, self.fleet, self._peer, self._news
        logs = Logs(peer, judge)
        directory = Directory(fleet, self.report)
        asks = Asks(peer, judge)
        watching = Watching(judge, directory, peer, news)
        forwarding = Forwarding(peer, asks, logs, lambda work: self._tasks.start_soon(work))
        calls = Calls(judge, peer, fleet, forwarding, self.elicit)
        requests = Requests(
            calls, directory, watching, Notice(), lambda: self._server.server_info_stamp,
            self.stages,
        )  # fmt: skip
        self._routes = Routes(fleet, Lists(judge, fleet, directory), requests, logs, watching)
        self._hearing = Hearing(judge, fleet, directory, news, logs, asks, watching, self.report)
        for served in fleet:
            served.hub = self._hearing

    async def serve(
        self,
        incoming: ReadStream[SessionMessage | Exception],
        outgoing: WriteStream[SessionMessage],
    ) -> None:
        """Serve one client until it closes its end; the servers live as long."""
        options = self._server.create_initialization_options(
            NotificationOptions(tools_changed=True)
        )
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self._watch)
            await self._server.run(incoming, outgoing, options)
            self._tasks.cancel_scope.cancel()

    async def _watch(self) -> None:
        await self._started.wait()
        await self._hearing.watch()

    async def _answer(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "initialize":
            able = (ctx.params or {}).get("capabilities")
            await self._open("", able)
            result = await call_next(ctx)
            self._opened = True
            return await self._claiming(result)
        if modern(ctx.protocol_version) and ctx.request_id is not None:
            self._peer.meet(ctx)
            await self._open(ctx.protocol_version, None)
            if ctx.method == "server/discover":
                return await self._claiming(await call_next(ctx))
            return await self._routes.answer(ctx, call_next)
        if self._opened and ctx.request_id is not None:
            self._peer.meet(ctx)
            self._news.ready = True
            return await self._routes.answer(ctx, call_next)
        if ctx.method == "notifications/initialized":
            self._peer.meet(ctx)
            self._news.ready = True
        return await call_next(ctx)

    async def _open(self, version: str, able: object) -> None:
        """Start the servers, which are told what the client can do, as it opens the connection."""
        if self._started.is_set():
            return
        if not modern(version):
            self._peer.open(version, able)
        self._started.set()
        for served in self.fleet:
            served.samples = self._peer.samples
            served.upstream.offered = self._peer.offered
            self._tasks.start_soon(served.upstream.run)

    async def _claiming(self, result: HandlerResult) -> HandlerResult:
        assert isinstance(result, dict), "what the SDK made for the wire"
        return result | {"capabilities": await claims(self.fleet, self.report)}


async def _answered_before(ctx: Context, params: object) -> NoReturn:
    """Stand for a request that the middleware answers; the SDK reads capabilities off these."""
    raise MCPError(types.INVALID_REQUEST, "the connection is not open")
