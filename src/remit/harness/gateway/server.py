"""The gateway as its client sees it: one MCP server whose offers are the surface of a space.

What is listed, called and read is answered in a middleware, before the SDK shapes anything:
requests are judged as they came and results relayed as they came. The SDK's server does the rest
(both eras' openings, subscriptions, cancellation).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
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
from remit.harness.gateway.directory import Directory
from remit.harness.gateway.fleet import Fleet, Served
from remit.harness.gateway.forwarding import Forwarding
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.lists import Lists
from remit.harness.gateway.logs import Logs
from remit.harness.gateway.offers import PROMPTS, RESOURCES, TEMPLATES, Kind
from remit.harness.gateway.peer import Context, Peer, Reply
from remit.harness.gateway.relay import modern
from remit.harness.gateway.requests import Requests, sentence
from remit.harness.gateway.shelf import PROMPT, READ
from remit.harness.gateway.watching import Watching
from remit.policy.problems import Problem, RemitError, Severity
from remit.policy.tools import Call

__all__ = ["INSTRUCTIONS", "Gateway"]

#: Sent once, so it names no mode: a mode can change while a client keeps these words.
INSTRUCTIONS = (
    "The tools here stand behind remit: what may be called depends on the mode of this space, "
    "which its operator can change at any time. Call the tool `mode` to read what holds now. "
    "A result with a line that begins with [remit] tells of a change."
)

#: Seconds between two looks at whether another process changed the workspace.
_LOOK = 0.05
#: Seconds that an opening waits for the servers to say what they can do.
_OPENING = 5.0

_LISTS: Mapping[str, Kind] = {kind[0]: kind for kind in (RESOURCES, TEMPLATES, PROMPTS)}


@define(eq=False)
class Gateway:
    """One client in front of its servers; ``report`` hears problems, for people."""

    judge: Judge
    fleet: Fleet
    report: Callable[[Problem], None]
    version: str = ""
    elicit: bool = False
    _peer: Peer = field(factory=Peer, init=False)
    _news: News = field(init=False)
    _logs: Logs = field(init=False)
    _directory: Directory = field(init=False)
    _lists: Lists = field(init=False)
    _asks: Asks = field(init=False)
    _watching: Watching = field(init=False)
    _requests: Requests = field(init=False)
    _server: Server[Any] = field(init=False)
    _tasks: TaskGroup = field(init=False)
    _opened: bool = field(default=False, init=False)
    _started: anyio.Event = field(factory=anyio.Event, init=False)
    #: What was told last of a trouble that lasts, so that it is told once.
    _trouble: str = field(default="", init=False)

    def __attrs_post_init__(self) -> None:
        self._server = Server(
            "remit",
            version=self.version,
            instructions=INSTRUCTIONS,
            on_list_tools=_answered_before,
            on_call_tool=_answered_before,
            on_subscriptions_listen=ListenHandler(self._made().bus),
        )
        # In place of what traces each request: that costs, and nobody listens.
        self._server.middleware[:] = [self._answer]

    def _made(self) -> News:
        """Make the parts, each of which knows those before it."""
        self._news = News(self._peer)
        self._logs = Logs(self._peer)
        self._directory = Directory(self.fleet, self.report)
        self._lists = Lists(self.judge, self.fleet, self._directory)
        self._asks = Asks(self._peer, self.judge)
        self._watching = Watching(self.judge, self._directory, self._peer, self._news)
        forwarding = Forwarding(
            self._peer, self._asks, self._logs, lambda work: self._tasks.start_soon(work)
        )
        calls = Calls(self.judge, self._peer, self.fleet, forwarding, self.elicit)
        self._requests = Requests(
            calls, self._directory, self._watching, Notice(), lambda: self._server.server_info_stamp
        )
        for served in self.fleet:
            served.hub = self
        return self._news

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

    # What a client asks

    async def _answer(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "initialize":
            able = (ctx.params or {}).get("capabilities")
            await self._open("", able)
            result = await call_next(ctx)
            self._opened = True
            return self._claiming(result, await self._able(legacy=True))
        if modern(ctx.protocol_version) and ctx.request_id is not None:
            self._peer.meet(ctx)
            await self._open(ctx.protocol_version, None)
            if ctx.method == "server/discover":
                able = await self._able(legacy=False)
                return self._claiming(await call_next(ctx), able)
        elif self._opened and ctx.request_id is not None:
            self._peer.meet(ctx)
            self._news.ready = True
        elif ctx.method == "notifications/initialized":
            self._peer.meet(ctx)
            self._news.ready = True
            return await call_next(ctx)
        else:
            return await call_next(ctx)
        answer = self._answers(ctx, call_next)
        return await (call_next(ctx) if answer is None else answer)

    def _answers(self, ctx: Context, call_next: CallNext) -> Awaitable[HandlerResult] | None:
        """Return what answers a request here, None for what the SDK answers."""
        method, requests, old = ctx.method, self._requests, not modern(ctx.protocol_version)
        if method == "tools/list":
            return self._list_tools(ctx)
        if method == "tools/call":
            return requests.call(ctx)
        if method == "subscriptions/listen":
            return self._listen(ctx, call_next)
        if self.fleet.able("resources"):
            if method in (RESOURCES[0], TEMPLATES[0]):
                return self._list(ctx, _LISTS[method])
            if method == READ:
                return requests.read(ctx)
            if method == "resources/subscribe" and old:
                return requests.subscribe(ctx)
            if method == "resources/unsubscribe" and old:
                return requests.unsubscribe(ctx)
        if self.fleet.able("prompts"):
            if method == PROMPTS[0]:
                return self._list(ctx, PROMPTS)
            if method == PROMPT:
                return requests.prompt(ctx)
        if method == "completion/complete" and self.fleet.able("completions"):
            return requests.complete(ctx)
        if method == "logging/setLevel" and old and self.fleet.able("logging"):
            return self._set_level(ctx)
        return None

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

    async def _able(self, *, legacy: bool) -> types.ServerCapabilities:
        """Return what this gateway can do: of what is relayed, that which a server can do."""
        with anyio.move_on_after(_OPENING):
            for served in self.fleet:
                await served.upstream.settled()
        for served in self.fleet:
            if served.upstream.starting:
                message = f"the server `{served.name}` is late, so only tools are claimed of it"
                self.report(Problem("server-late", message, severity=Severity.WARNING))
        resources = self.fleet.able("resources")
        watched = any(one.able.resources and one.able.resources.subscribe for one in resources)
        return types.ServerCapabilities(
            tools=types.ToolsCapability(list_changed=True),
            resources=(
                types.ResourcesCapability(subscribe=watched, list_changed=True)
                if resources
                else None
            ),
            prompts=(
                types.PromptsCapability(list_changed=True) if self.fleet.able("prompts") else None
            ),
            completions=types.CompletionsCapability() if self.fleet.able("completions") else None,
            logging=types.LoggingCapability() if self.fleet.able("logging") else None,
        )

    def _claiming(self, result: HandlerResult, able: types.ServerCapabilities) -> HandlerResult:
        assert isinstance(result, dict), "what the SDK made for the wire"
        claims = able.model_dump(by_alias=True, mode="json", exclude_none=True)
        return result | {"capabilities": claims}

    async def _list_tools(self, ctx: Context) -> HandlerResult:
        _one_page(ctx)
        try:
            frame, listed = await self._lists.tools(ctx.protocol_version)
        except RemitError as error:
            raise MCPError(types.INTERNAL_ERROR, sentence(error)) from None
        self._requests.notice.begin(frame.projection.mode, frame.space.revision)
        return self._requests.result(ctx, {"tools": listed})

    async def _list(self, ctx: Context, kind: Kind) -> HandlerResult:
        _one_page(ctx)
        try:
            listed = await self._lists.others(kind, ctx.protocol_version)
        except RemitError as error:
            raise MCPError(types.INTERNAL_ERROR, sentence(error)) from None
        return self._requests.result(ctx, {kind[1]: listed})

    async def _listen(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Have a modern client listen to what it may."""
        params = dict(ctx.params or {})
        wanted = params.get("notifications")
        uris = wanted.get("resourceSubscriptions") if isinstance(wanted, Mapping) else None
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            return await call_next(ctx)
        async with self._watching.held(uris) as watched:
            params["notifications"] = {**(wanted or {}), "resourceSubscriptions": watched}
            return await call_next(replace(ctx, params=params))

    async def _set_level(self, ctx: Context) -> HandlerResult:
        links = [one.link for one in self.fleet if one.link is not None]
        await self._logs.set((ctx.params or {}).get("level"), links)
        return {}

    # What servers tell

    async def restocked(self, served: Served) -> None:
        """Take what a server lists now; the client hears of it if its surface changed."""
        try:
            await self.judge.set_catalog(self.fleet.catalog)
            self._report_shared()
            if served.shelf.changed:
                await self.judge.keep(served.shelf.changed, served.shelf.file)
        except RemitError as error:
            self._report_all(error)
        served.turns.update(("resources", "prompts"))
        served.offers.forget(RESOURCES, TEMPLATES, PROMPTS)
        await self._tell_news()

    async def told(self, served: Served, message: types.ServerNotification) -> None:
        """Pass on what a server tells."""
        if isinstance(message, types.ResourceUpdatedNotification):
            await self._watching.updated(served, message.params.uri)
        elif isinstance(message, types.LoggingMessageNotification):
            await self._logs.tell(served, message.params)
        elif isinstance(message, types.ResourceListChangedNotification):
            served.offers.forget(RESOURCES, TEMPLATES)
            served.turns["resources"] += 1
            await self._tell_news()
        elif isinstance(message, types.PromptListChangedNotification):
            served.offers.forget(PROMPTS)
            served.turns["prompts"] += 1
            await self._tell_news()

    async def asked(self, served: Served, request: types.InputRequest) -> Reply:
        """Answer what a server with a handshake asks of the client."""
        return await self._asks.put(served, request)

    # What a client hears

    async def _watch(self) -> None:
        """Look for changes that other processes made, and tell the client."""
        last = None
        await self._started.wait()
        for served in self.fleet:
            await served.upstream.settled()  # no client has seen a surface before that
        while True:
            try:
                version = await self.judge.version()
            except RemitError as error:
                self._report_all(error)
                await anyio.sleep(1)
                continue
            self._trouble = ""
            if version != last:
                last = version
                await self._tell_news()
            await anyio.sleep(_LOOK)

    async def _tell_news(self) -> None:
        """Announce the surface of now, if it is another."""
        try:
            frame = await self.judge.frame()
            self.fleet.fit(frame)
            projection = frame.projection
            tools = tuple(tool.key for tool in projection.tools)
            prints = tuple(one.shelf.print for one in self.fleet)
            await self._news.tell("tools", (projection.mode, tools, prints))
            for what, request in (("resources", READ), ("prompts", PROMPT)):
                able = self.fleet.able(what)
                calls = [Call(f"{one.name}:{request}") for one in able]
                let = await self.judge.admitted(frame, calls)
                seen = tuple(
                    (one.name, one.turns[what]) for one, ok in zip(able, let, strict=True) if ok
                )
                if able:
                    await self._news.tell(what, seen)
        except RemitError as error:
            self._report_all(error)

    def _report_shared(self) -> None:
        """Tell which tools share a name, and what each is called."""
        catalog = self.judge.session.catalog
        for name, keys in catalog.ambiguous.items():
            called = ", ".join(f"`{catalog.called(key)}`" for key in keys)
            told = " and ".join(f"`{key}`" for key in keys)
            problem = Problem(
                "name-shared",
                f"{told} share the name `{name}`, so the client knows them as {called}",
                severity=Severity.WARNING,
            )
            self._directory.tell(problem)

    def _report_all(self, error: RemitError) -> None:
        if str(error) != self._trouble:
            self._trouble = str(error)
            for problem in error.problems:
                self.report(problem)


def _one_page(ctx: Context) -> None:
    if (ctx.params or {}).get("cursor") is not None:
        raise MCPError(types.INVALID_PARAMS, "the list has one page, so it knows no cursor")


async def _answered_before(ctx: Context, params: object) -> NoReturn:
    """Stand for a request that the middleware answers; the SDK reads capabilities off these."""
    raise MCPError(types.INVALID_REQUEST, "the connection is not open")
