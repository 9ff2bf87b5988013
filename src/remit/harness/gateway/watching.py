"""Resources that the client watches: asked of their servers, and told while they may be read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress

from attrs import define, field
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError

from remit.harness.gateway.changes import News
from remit.harness.gateway.directory import Directory
from remit.harness.gateway.fleet import Served
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.link import Gone
from remit.harness.gateway.lists import call_of
from remit.harness.gateway.offers import RESOURCES
from remit.harness.gateway.peer import Peer
from remit.harness.session import Run
from remit.policy.problems import RemitError

__all__ = ["Watching"]


@define(eq=False)
class Watching:
    """Who watches is the client; what is told of a resource is judged as reading it."""

    judge: Judge
    directory: Directory
    peer: Peer
    news: News
    #: What a legacy client watches, with the server of each.
    _legacy: dict[str, Served] = field(factory=dict, init=False)

    async def begin(self, uri: str, served: Served) -> None:
        """Watch for a legacy client that was let to; raises as a request does."""
        if uri in self._legacy or served.link is None:
            return
        await served.upstream.following.watch(served.link, uri)
        self._legacy[uri] = served

    async def end(self, uri: str) -> None:
        """Watch it no more."""
        if (served := self._legacy.pop(uri, None)) is not None:
            await served.upstream.following.leave(served.link, uri)

    @asynccontextmanager
    async def held(self, uris: Iterable[str]) -> AsyncIterator[list[str]]:
        """Watch for a modern client while it listens; gives those that it may watch."""
        watched: list[tuple[str, Served]] = []
        try:
            for uri in dict.fromkeys(uris):
                served = await self.directory.resource(uri)
                if served is None or served.link is None or not await self._let(served, uri):
                    continue
                with suppress(MCPError, Gone):
                    await served.upstream.following.watch(served.link, uri)
                    watched.append((uri, served))
            yield [uri for uri, _ in watched]
        finally:
            for uri, served in watched:
                with suppress(MCPError, Gone):
                    await served.upstream.following.leave(served.link, uri)

    async def _let(self, served: Served, uri: str) -> bool:
        """Judge a watch, on the record; one that would be asked for is not, as nobody waits."""
        call = call_of(served.name, RESOURCES, uri)
        try:
            frame = await self.judge.frame()
            if not await self.judge.allowed(frame, call):
                return False
            return isinstance(await self.judge.call(frame, call, ""), Run)
        except RemitError:
            return False

    async def updated(self, served: Served, uri: str) -> None:
        """Tell that a resource changed, if it may be read now."""
        try:
            frame = await self.judge.frame()
            let = await self.judge.admitted(frame, [call_of(served.name, RESOURCES, uri)])
        except RemitError:
            return
        if not let[0] or not served.upstream.following.watches(uri):
            return
        if self.peer.modern:
            await self.news.bus.publish(ResourceUpdated(uri))
        elif self.peer.session is not None:
            await self.peer.session.send_resource_updated(uri)
