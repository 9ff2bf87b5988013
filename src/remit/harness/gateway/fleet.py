"""The servers behind one gateway: each by its operator's name, and all of them as one catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import anyio
import mcp_types as types
from attrs import define, field

from remit.harness.gateway.boxes import Boxes
from remit.harness.gateway.errand import Errand
from remit.harness.gateway.link import Gone, Link
from remit.harness.gateway.offers import Offers
from remit.harness.gateway.peer import Context, Reply
from remit.harness.gateway.relay import LiveTool
from remit.harness.gateway.shelf import Shelf
from remit.harness.gateway.upstream import Upstream
from remit.harness.session import Frame
from remit.policy.tools import Catalog, Tool

__all__ = ["Fleet", "Flight", "Hub", "Served"]


class Hub(Protocol):
    """Where what a server says by itself comes together."""

    async def restocked(self, served: Served) -> None:
        """Hear that a server offers other tools."""

    async def told(self, served: Served, message: types.ServerNotification) -> None:
        """Hear what else a server tells."""

    async def asked(self, served: Served, request: types.InputRequest) -> Reply:
        """Answer what a server asks of the client."""


@define(eq=False)
class Flight:
    """A request of the client that a server is at."""

    ctx: Context
    errand: Errand | None = None


@define(eq=False)
class Served:
    """One server as the gateway serves it."""

    upstream: Upstream
    shelf: Shelf
    #: The sandboxes that it runs in, None where it runs as it is.
    boxes: Boxes | None = None
    hub: Hub = field(init=False)
    offers: Offers = field(factory=Offers, init=False)
    #: What it said that it can do; kept over its deaths.
    able: types.ServerCapabilities = field(factory=types.ServerCapabilities, init=False)
    #: Its tools and what else can be asked of it, as of its last list; None before the first one.
    offered: tuple[Tool, ...] | None = field(default=None, init=False)
    #: The client's requests that it is at, the newest last.
    flights: list[Flight] = field(factory=list, init=False)
    #: Its log lines that are on their way to the client.
    lines: list[anyio.Event] = field(factory=list, init=False)
    #: How often it said that its resources or prompts changed.
    turns: Counter[str] = field(factory=Counter, init=False)
    #: Can the client's model be asked.
    samples: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.upstream.hears = self

    @property
    def name(self) -> str:
        """The operator's name for it."""
        return self.upstream.name

    @property
    def told_name(self) -> str:
        """What it is called in a sentence."""
        return f"the server `{self.name}`"

    @property
    def link(self) -> Link | None:
        """The connection to it, None while there is none."""
        return self.upstream.link

    async def reach(self) -> None:
        """Have it up; raises `Gone`, with its name, if it is not."""
        try:
            await self.upstream.reach()
        except Gone as gone:
            raise Gone(f"{self.told_name} {gone}") from None

    async def tools(self, listed: tuple[Any, ...], able: types.ServerCapabilities) -> None:
        """Take what it offers now."""
        self.able = able
        self.offered = self.shelf.stock(listed, able, self.samples)
        await self.hub.restocked(self)

    async def told(self, message: types.ServerNotification) -> None:
        """Pass on what it tells."""
        await self.hub.told(self, message)

    async def asked(self, request: types.InputRequest) -> Reply:
        """Pass on what it asks."""
        return await self.hub.asked(self, request)


@define(eq=False)
class Fleet:
    """The servers, in the operator's order."""

    members: Mapping[str, Served]

    @classmethod
    def of(cls, members: Iterable[Served]) -> Fleet:
        """Return it for servers of different names."""
        return cls({one.name: one for one in members})

    def __iter__(self) -> Iterator[Served]:
        return iter(self.members.values())

    @property
    def catalog(self) -> Catalog:
        """All that they offer."""
        return Catalog.union(
            Catalog(tool for one in self for tool in one.offered or ()),
            classifiers=(c for one in self if one.shelf.bound for c in one.shelf.bound.classifiers),
        )

    def fit(self, frame: Frame) -> None:
        """Have each server run in the sandbox of the mode in force."""
        for one in self:
            if one.boxes is not None and one.boxes.stale(frame):
                mode = frame.projection.mode
                one.upstream.renew(f"was ended, for another sandbox holds in {mode} mode")

    @property
    def boxed(self) -> bool:
        """Does one of them run in a sandbox."""
        return any(one.boxes is not None for one in self)

    def of_tool(self, tool: Tool) -> Served | None:
        """Return the server of a tool."""
        return self.members.get(tool.source)

    def live(self, tool: Tool | None) -> LiveTool | None:
        """Return a tool as its server lists it."""
        one = self.of_tool(tool) if tool is not None else None
        return one.shelf.find(tool) if one is not None and tool is not None else None

    def able(self, what: str) -> list[Served]:
        """Return the servers that said that they have a capability."""
        return [one for one in self if getattr(one.able, what) is not None]
