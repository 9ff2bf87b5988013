"""How a client hears that the mode or the surface changed: once as news, once in a result."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ServerEvent,
    ToolsListChanged,
)

from remit.harness.gateway.peer import Peer
from remit.policy.escape import MARK

__all__ = ["News", "Notice"]

#: What there is news of, and how a modern client hears it.
_EVENTS: Mapping[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "resources": ResourcesListChanged(),
    "prompts": PromptsListChanged(),
}


@define(eq=False)
class News:
    """Tells the client's program that one of its lists is old, in the way of its era.

    A modern client hears it on the subscriptions that it opened (`bus`), a legacy one as a
    notification, which it may get from the moment that it said it is initialized.
    """

    peer: Peer
    bus: InMemorySubscriptionBus = field(factory=InMemorySubscriptionBus)
    #: May a legacy client be told something.
    ready: bool = field(default=False, init=False)
    _last: dict[str, object] = field(factory=dict, init=False)

    async def tell(self, what: str, surface: object) -> None:
        """Announce a list if what makes it differs from the last time; the first is no news."""
        first = what not in self._last
        last, self._last[what] = self._last.get(what), surface
        if first or last == surface:
            return
        await self.bus.publish(_EVENTS[what])
        if self.ready and self.peer.session is not None and not self.peer.modern:
            await _SENDS[what](self.peer.session)


_SENDS = {
    "tools": ServerSession.send_tool_list_changed,
    "resources": ServerSession.send_resource_list_changed,
    "prompts": ServerSession.send_prompt_list_changed,
}


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
            f"{MARK} this space was switched from {before} to {mode} mode; "
            "call `mode` to read what holds now"
        )
