"""What of a server changes, and which of its resources are watched, in the way of its era."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

import anyio
import mcp_types as types
from attrs import define, field
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError

from remit.harness.gateway.link import Gone, Link

__all__ = ["Following"]

_AGAIN = 1.0


@define(eq=False)
class Following:
    """The resources of one server that somebody watches, over as many lives as it takes.

    A server with a handshake tells by itself what changed, and is asked once a resource; a modern
    one is asked for all of it at once, and anew where that is another set.
    """

    _wanted: Counter[str] = field(factory=Counter, init=False)
    _scope: anyio.CancelScope | None = field(default=None, init=False)
    _more: anyio.Event = field(factory=anyio.Event, init=False)

    async def watch(self, link: Link, uri: str) -> None:
        """Watch a resource; raises `MCPError` where a server refuses, `Gone` where it died."""
        if not link.modern and not self._wanted[uri]:
            await link.request("resources/subscribe", {"uri": uri})
        self._wanted[uri] += 1
        self._again()

    async def leave(self, link: Link | None, uri: str) -> None:
        """Watch it no more, once nobody does; raises as `watch`."""
        if not self._wanted[uri]:
            return
        self._wanted[uri] -= 1
        if self._wanted[uri]:
            return
        del self._wanted[uri]
        self._again()
        if link is not None and not link.modern:
            await link.request("resources/unsubscribe", {"uri": uri})

    def _again(self) -> None:
        self._more.set()
        if self._scope is not None:
            self._scope.cancel()

    def watches(self, uri: str) -> bool:
        """Say whether somebody watches a resource, or one that it is a part of."""
        return any(uri == at or uri.startswith(at.rstrip("/") + "/") for at in self._wanted)

    async def run(self, link: Link, hear: Callable[[IncomingMessage], Awaitable[None]]) -> None:
        """Follow a server while it lives; ``hear`` is told what it does not tell by itself."""
        if not link.modern:
            for uri in tuple(self._wanted):
                try:
                    await link.request("resources/subscribe", {"uri": uri})
                except (MCPError, Gone):
                    continue  # it was there in a former life; whoever watches reads it again
            return
        first = True
        while True:
            self._more = anyio.Event()
            if not (self._wanted or any(_changes(link))):
                await self._more.wait()
                continue
            try:
                with anyio.CancelScope() as self._scope:
                    await self._listen(link, hear, first)
            except MCPError:
                return
            except SubscriptionLost:
                await anyio.sleep(_AGAIN)
            first = False

    async def _listen(
        self, link: Link, hear: Callable[[IncomingMessage], Awaitable[None]], first: bool
    ) -> None:
        tools, prompts, resources = _changes(link)
        async with listen(
            link.session,
            tools_list_changed=tools,
            prompts_list_changed=prompts,
            resources_list_changed=resources,
            resource_subscriptions=sorted(self._wanted),
        ) as events:
            # What changed before this was heard by nobody.
            await hear(types.ToolListChangedNotification())
            if not first:
                await hear(types.PromptListChangedNotification())
                await hear(types.ResourceListChangedNotification())
            async for _ in events:
                pass  # each was heard as the notification that it came by


def _changes(link: Link) -> tuple[bool, bool, bool]:
    """Say whether a server tells of changed tools, prompts and resources."""
    able = link.able
    each = (able.tools, able.prompts, able.resources)
    told = tuple(bool(one and one.list_changed) for one in each)
    return told[0], told[1], told[2]
