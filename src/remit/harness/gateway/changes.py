"""How a client hears that the mode or the surface changed: once as news, once in a result."""

from __future__ import annotations

from typing import Any

from attrs import define, field
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ToolsListChanged

from remit.harness.gateway.relay import modern

__all__ = ["News", "Notice"]


@define(eq=False)
class News:
    """Tells the client's program that its list of tools is old, in the way of its era.

    A modern client hears it on the subscriptions that it opened (`bus`), a legacy one as a
    notification, which it may get from the moment that it said it is initialized.
    """

    bus: InMemorySubscriptionBus = field(factory=InMemorySubscriptionBus)
    _legacy: ServerSession | None = field(default=None, init=False)
    _last: object = field(default=None, init=False)

    def meet(self, ctx: ServerRequestContext[Any, Any]) -> None:
        """Remember who is there."""
        if not modern(ctx.protocol_version):
            self._legacy = ctx.session

    async def tell(self, surface: object) -> None:
        """Announce a surface if it differs from the last one; the first is no news."""
        last, self._last = self._last, surface
        if last is None or last == surface:
            return
        await self.bus.publish(ToolsListChanged())
        if self._legacy is not None:
            await self._legacy.send_tool_list_changed()


@define
class Notice:
    """Tells the conversation, in the first result after a switch, that there was one.

    Results come in any order, so each says by its revision whether it knows more than the last.
    """

    _mode: str | None = field(default=None, init=False)
    _revision: int = field(default=0, init=False)

    def begin(self, mode: str, revision: int) -> None:
        """Note what the conversation began in."""
        if self._mode is None:
            self._mode, self._revision = mode, revision

    def told(self, mode: str) -> None:
        """Note that a result told the mode itself."""
        self._mode = mode

    def due(self, mode: str, revision: int) -> str | None:
        """Return the line to add to a result judged in a mode, None if it is no news."""
        self.begin(mode, revision)
        if revision <= self._revision:
            return None
        before, self._mode, self._revision = self._mode, mode, revision
        if before == mode:
            return None
        return (
            f"[remit] this space was switched from {before} to {mode} mode; "
            "call `mode` to read what holds now"
        )
