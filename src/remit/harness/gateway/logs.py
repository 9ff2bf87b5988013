"""Log lines of servers, which the client asked for in the way of its era."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, get_args

import anyio
import mcp_types as types
from attrs import define, field
from mcp.shared.exceptions import MCPError

from remit.harness.gateway.fleet import Served
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.link import Gone, Link
from remit.harness.gateway.peer import Context, Peer
from remit.harness.gateway.relay import modern
from remit.harness.gateway.untrusted import plain
from remit.policy.escape import unmarked

__all__ = ["LEVELS", "Logs"]

#: Levels, the least urgent first.
LEVELS: Final[tuple[str, ...]] = get_args(types.LoggingLevel)


@define(eq=False)
class Logs:
    """Who wants which lines: a legacy client says so once, a modern one with each request."""

    peer: Peer
    judge: Judge
    _level: str | None = field(default=None, init=False)

    async def set(self, level: object, links: Iterable[Link]) -> None:
        """Take what a legacy client says; raises `MCPError` for what is no level."""
        if level not in LEVELS:
            known = ", ".join(f"`{one}`" for one in LEVELS)
            raise MCPError(types.INVALID_PARAMS, f"`level` of a log is one of {known}")
        self._level = str(level)
        for link in links:
            await self.attune(link, self._level)

    def wanted(self, ctx: Context) -> str | None:
        """Return the level that the client wants of one request, None if it said nothing."""
        if not modern(ctx.protocol_version):
            return self._level
        level = ((ctx.params or {}).get("_meta") or {}).get(types.LOG_LEVEL_META_KEY)
        return level if level in LEVELS else None

    async def attune(self, link: Link, level: str | None) -> None:
        """Have a server with a handshake tell what is wanted; `tell` leaves out the rest."""
        if link.modern or level is None or link.able.logging is None or link.level == level:
            return
        link.level = level
        try:
            await link.request("logging/setLevel", {"level": level})
        except (MCPError, Gone):
            return  # then it tells what it tells

    async def tell(self, served: Served, params: types.LoggingMessageNotificationParams) -> None:
        """Pass a line on, under the server's name."""
        passed = anyio.Event()
        served.lines.append(passed)
        try:
            await self._pass(served, params)
        finally:
            served.lines.remove(passed)
            passed.set()

    async def told(self, served: Served) -> None:
        """Wait for the lines that came before an answer: a modern client has none after it."""
        for line in tuple(served.lines):
            await line.wait()

    async def _pass(self, served: Served, params: types.LoggingMessageNotificationParams) -> None:
        session = self.peer.session
        if session is None or await self.judge.locked():
            return
        data: Any = unmarked(params.data) if isinstance(params.data, str) else plain(params.data)
        logger = served.name if params.logger is None else f"{served.name}: {params.logger}"
        line = types.LoggingMessageNotification(
            params=types.LoggingMessageNotificationParams(
                level=params.level, logger=unmarked(logger), data=data
            )
        )
        if not self.peer.modern:
            if _enough(params.level, self._level or LEVELS[0]):
                await session.send_notification(line)
            return
        for flight in reversed(served.flights):
            level = self.wanted(flight.ctx)
            if level is not None and _enough(params.level, level):
                await flight.ctx.session.send_notification(line, flight.ctx.request_id)
                return


def _enough(level: str, wanted: str) -> bool:
    return LEVELS.index(level) >= LEVELS.index(wanted)
