"""The gateway as its client sees it: one MCP server whose tools are the surface of a space.

What is listed and called is answered in a middleware, before the SDK shapes anything: requests
are judged as they came and results relayed as they came. The SDK's server does the rest (both
eras' openings, subscriptions, cancellation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import anyio
import mcp_types as types
from attrs import define, field
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import ListenHandler
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from remit.harness.gateway.boxes import Boxes
from remit.harness.gateway.changes import News, Notice
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.link import Gone
from remit.harness.gateway.relay import foreign_free, modern, result_for, said, text_block
from remit.harness.gateway.shelf import Shelf
from remit.harness.gateway.upstream import Upstream
from remit.harness.natives import Answer
from remit.harness.session import Frame, Run
from remit.policy.decision import Cause
from remit.policy.escape import quoted
from remit.policy.problems import Problem, RemitError
from remit.policy.tools import Call
from remit.policy.vocabulary import Verdict

__all__ = ["INSTRUCTIONS", "Gateway"]

#: Sent once, so it names no mode: a mode can change while a client keeps these words.
INSTRUCTIONS = (
    "The tools here stand behind remit: what may be called depends on the mode of this space, "
    "which its operator can change at any time. Call the tool `mode` to read what holds now. "
    "A result with a line that begins with [remit] tells of a change."
)

#: Seconds between two looks at whether another process changed the workspace.
_LOOK = 0.05

_KINDS: Mapping[type, str] = {
    str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list",
}  # fmt: skip

Context = ServerRequestContext[Any, Any]


@define(eq=False)
class Gateway:
    """One client in front of one upstream; ``report`` hears problems, for people."""

    judge: Judge
    upstream: Upstream
    shelf: Shelf
    report: Callable[[Problem], None]
    version: str = ""
    boxes: Boxes | None = None
    _news: News = field(factory=News, init=False)
    _notice: Notice = field(factory=Notice, init=False)
    _opened: bool = field(default=False, init=False)
    #: What was told last of a trouble that lasts, so that it is told once.
    _trouble: str = field(default="", init=False)
    _server: Server[Any] = field(init=False)

    def __attrs_post_init__(self) -> None:
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

    async def serve(
        self,
        incoming: ReadStream[SessionMessage | Exception],
        outgoing: WriteStream[SessionMessage],
    ) -> None:
        """Serve one client until it closes its end; the upstream lives as long."""
        options = self._server.create_initialization_options(
            NotificationOptions(tools_changed=True)
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.upstream.run)
            tasks.start_soon(self._watch)
            await self._server.run(incoming, outgoing, options)
            tasks.cancel_scope.cancel()

    async def restock(self, listed: tuple[Any, ...]) -> None:
        """Take what the upstream lists now; the client hears of it if its surface changed."""
        try:
            await self.judge.set_catalog(self.shelf.stock(listed))
        except RemitError as error:
            self._report_all(error)
        await self._tell_news()

    # What a client asks

    async def _answer(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        ask = {"tools/list": self._list, "tools/call": self._call}.get(ctx.method)
        if ask is not None and (self._opened or modern(ctx.protocol_version)):
            self._news.meet(ctx)
            return await ask(ctx)
        result = await call_next(ctx)
        if ctx.method == "initialize":
            self._opened = True
        elif ctx.method == "notifications/initialized":
            self._news.meet(ctx)
        return result

    async def _list(self, ctx: Context) -> dict[str, Any]:
        """Answer with the surface: what the frame shows of the upstream, and the native verbs."""
        if (ctx.params or {}).get("cursor") is not None:
            raise MCPError(types.INVALID_PARAMS, "the list has one page, so it knows no cursor")
        if self.upstream.starting:
            await self.upstream.settled()
        try:
            frame, native = await self.judge.surface()
        except RemitError as error:
            raise MCPError(types.INTERNAL_ERROR, _sentence(error)) from None
        self._notice.begin(frame.projection.mode, frame.space.revision)
        relayed = [
            raw
            for tool in frame.projection.tools
            if not tool.native and (raw := self.shelf.readable(tool, ctx.protocol_version))
        ]
        verbs = [
            {
                "name": verb.name,
                "description": verb.description,
                "inputSchema": dict(verb.input_schema),
            }
            for verb in native
        ]
        result: dict[str, Any] = {"tools": [*relayed, *verbs]}
        if not modern(ctx.protocol_version):
            return result
        # The next request may see another surface, so nobody is to keep this one.
        kept = {"ttlMs": 0, "cacheScope": "private"}
        return result | kept | {"resultType": "complete", "_meta": self._stamp()}

    async def _call(self, ctx: Context) -> dict[str, Any]:
        """Judge a call by the frame of this request; run it, or answer why not."""
        params = ctx.params or {}
        name, args = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise MCPError(types.INVALID_PARAMS, "`name` of a call must be the name of a tool")
        as_sent = quoted(name)
        if args is not None and not isinstance(args, Mapping):
            got = _KINDS.get(type(args), "something else")
            return self._refuse(ctx, f"`arguments` of {as_sent} must be an object, got {got}")
        if params.get("inputResponses") is not None or params.get("requestState") is not None:
            # The SDK takes answers to questions that nobody asked.
            return self._refuse(ctx, f"{as_sent} came with answers to a question never asked")
        try:
            frame, outcome = await self._judge(Call(name, args or {}))
        except Gone as gone:
            return self._refuse(ctx, f"{as_sent} was not run: {self._server_name} {gone}")
        except RemitError as error:
            return self._refuse(
                ctx, f"{as_sent} was not run, because it could not be judged: {_sentence(error)}"
            )
        if isinstance(outcome, Run):
            result = await self._forward(ctx, outcome, params)
        else:
            result = said(outcome.text, outcome.error, outcome.data)
        line = self._notice.due(frame.projection.mode, frame.space.revision)
        if isinstance(outcome, Answer) and (mode := (outcome.data or {}).get("mode")):
            # The answer itself tells which mode holds from here on.
            self._notice.told(str(mode))
            line = None
        if line and isinstance(result.get("content"), list):
            result["content"] = [*result["content"], text_block(line)]
        return result_for(ctx.protocol_version, result, self._stamp)

    async def _judge(self, call: Call) -> tuple[Frame, Run | Answer]:
        """Return the frame of the request and what the session makes of the call.

        Raises `Gone` where the call would be forwarded and there is nobody to forward it to.
        """
        if self.boxes is not None:
            self._fit(await self.judge.frame())
        if self.upstream.link is not None:
            return await self.judge.frame_and_call(call, self._hash(call))
        if self.upstream.starting:
            await self.upstream.settled()
        frame = await self.judge.frame()
        if _passes_on(frame, call):
            # Before it is judged for good: no approval is spent on a server that is not there.
            await self.upstream.reach()
            space, frame = frame.space, await self.judge.frame()
            if frame.space != space:
                raise Gone("had to be started again, and meanwhile the space changed: call again")
            # The frame of now knows the tools that it listed since.
        return frame, await self.judge.call(frame, call, self._hash(call))

    def _hash(self, call: Call) -> str:
        live = self.shelf.find(call.tool)
        return live.hash if live else ""

    async def _forward(self, ctx: Context, run: Run, params: Mapping[str, Any]) -> dict[str, Any]:
        """Relay a call, once: whatever becomes of it, it is not sent again."""
        name = run.tool.name
        given = {k: params[k] for k in ("arguments", "_meta") if params.get(k) is not None}
        sent = foreign_free({"name": name, **given})
        progress = ctx.session.report_progress if "progress_token" in (ctx.meta or {}) else None
        link = self.upstream.link
        if link is None:
            return said(f"`{name}` was not run: {self._server_name} ended just then", error=True)
        try:
            raw = await link.request("tools/call", sent, progress)
        except Gone as gone:
            self.upstream.told()
            return said(
                f"{self._server_name} {gone} while `{name}` ran, so the call may have had its "
                "effects; it is not sent again, and the next call starts the server again",
                error=True,
            )
        if raw.get("resultType", "complete") != "complete":
            return said(
                f"`{name}` did not end: {self._server_name} asked for input in its midst, which "
                "is not relayed",
                error=True,
            )
        return raw

    def _refuse(self, ctx: Context, text: str) -> dict[str, Any]:
        return result_for(ctx.protocol_version, said(text, error=True), self._stamp)

    def _stamp(self) -> dict[str, Any]:
        return {types.SERVER_INFO_META_KEY: self._server.server_info_stamp}

    @property
    def _server_name(self) -> str:
        return f"the server `{self.upstream.name}`"

    # What a client hears

    async def _watch(self) -> None:
        """Look for changes that other processes made, and tell the client."""
        last = None
        await self.upstream.settled()  # no client has seen a surface before that
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
        except RemitError as error:
            self._report_all(error)
            return
        self._fit(frame)
        projection = frame.projection
        tools = tuple(tool.key for tool in projection.tools)
        await self._news.tell((projection.mode, tools, self.shelf.print))

    def _fit(self, frame: Frame) -> None:
        """Have the upstream run in the sandbox of the mode in force."""
        if self.boxes is not None and self.boxes.stale(frame):
            mode = frame.projection.mode
            self.upstream.renew(f"was ended, for another sandbox holds in {mode} mode")

    def _report_all(self, error: RemitError) -> None:
        if str(error) != self._trouble:
            self._trouble = str(error)
            for problem in error.problems:
                self.report(problem)


def _passes_on(frame: Frame, call: Call) -> bool:
    """Say whether a call would go to the upstream, or is unknown only because that is down."""
    judged = frame.projection.judge(call, frame.space.dial)
    if judged.tool is not None and judged.tool.native:
        return False
    unknown = judged.decision.cause is Cause.UNKNOWN_TOOL
    return unknown or judged.decision.verdict is not Verdict.DENY


def _sentence(error: RemitError) -> str:
    first = error.problems[0]
    return f"{first.message}; {first.hint}" if first.hint else first.message


async def _answered_before(ctx: Context, params: object) -> NoReturn:
    """Stand for a request that the middleware answers; the SDK reads capabilities off these."""
    raise MCPError(types.INVALID_REQUEST, "the connection is not open")
