"""Which of a client's requests are answered here, and by what; the SDK answers the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import replace

import mcp_types as types
from attrs import define
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError

from remit.harness.gateway.fleet import Fleet
from remit.harness.gateway.lists import Lists
from remit.harness.gateway.logs import Logs
from remit.harness.gateway.offers import PROMPTS, RESOURCES, TEMPLATES, Kind
from remit.harness.gateway.peer import Context
from remit.harness.gateway.relay import modern
from remit.harness.gateway.requests import Requests, sentence
from remit.harness.gateway.shelf import PROMPT, READ
from remit.harness.gateway.watching import Watching
from remit.policy.problems import RemitError

__all__ = ["Routes"]

_LISTS: Mapping[str, Kind] = {kind[0]: kind for kind in (RESOURCES, TEMPLATES, PROMPTS)}


@define(eq=False)
class Routes:
    """From a request to what answers it: of what no server can do there is nothing."""

    fleet: Fleet
    lists: Lists
    requests: Requests
    logs: Logs
    watching: Watching

    def answer(self, ctx: Context, call_next: CallNext) -> Awaitable[HandlerResult]:
        """Return the answer to a request."""
        method, requests, old = ctx.method, self.requests, not modern(ctx.protocol_version)
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
        return call_next(ctx)

    async def _list_tools(self, ctx: Context) -> HandlerResult:
        _one_page(ctx)
        try:
            frame, listed = await self.lists.tools(ctx.protocol_version)
        except RemitError as error:
            raise MCPError(types.INTERNAL_ERROR, sentence(error)) from None
        self.requests.notice.begin(frame.projection.mode, frame.space.revision)
        return self.requests.result(ctx, {"tools": listed})

    async def _list(self, ctx: Context, kind: Kind) -> HandlerResult:
        _one_page(ctx)
        try:
            listed = await self.lists.others(kind, ctx.protocol_version)
        except RemitError as error:
            raise MCPError(types.INTERNAL_ERROR, sentence(error)) from None
        return self.requests.result(ctx, {kind[1]: listed})

    async def _listen(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Have a modern client listen to what it may."""
        params = dict(ctx.params or {})
        wanted = params.get("notifications")
        uris = wanted.get("resourceSubscriptions") if isinstance(wanted, Mapping) else None
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            return await call_next(ctx)
        async with self.watching.held(uris) as watched:
            params["notifications"] = {**(wanted or {}), "resourceSubscriptions": watched}
            return await call_next(replace(ctx, params=params))

    async def _set_level(self, ctx: Context) -> HandlerResult:
        links = [one.link for one in self.fleet if one.link is not None]
        await self.logs.set((ctx.params or {}).get("level"), links)
        return {}


def _one_page(ctx: Context) -> None:
    if (ctx.params or {}).get("cursor") is not None:
        raise MCPError(types.INVALID_PARAMS, "the list has one page, so it knows no cursor")
