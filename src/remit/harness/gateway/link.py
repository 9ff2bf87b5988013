"""A connection to a server that answered, in whichever era of MCP it speaks.

The SDK's client session negotiates and hears notifications; requests go around it, because it
holds results against schemas and would turn a sloppy server's answer into an error of ours.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from attrs import define
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from pydantic import ValidationError

from remit.harness.gateway.process import Running
from remit.harness.gateway.relay import modern

__all__ = ["Gone", "Link", "negotiate"]

#: Seconds for a server that takes no more to be seen to end.
_LAST_WORDS = 1.0
#: Pages of a list after which a server is taken to turn in circles.
_PAGES = 1000


class Gone(Exception):
    """There is no server to send a request to, or it died while it had one; it says which."""


@define(eq=False)
class Link:
    """A connection to a server that answered: requests as they are, in its own era's envelope."""

    dispatcher: JSONRPCDispatcher[TransportContext]
    session: ClientSession
    server: Running
    client: types.Implementation
    #: The log level that the server was told, None if it was told none.
    level: str | None = None

    @property
    def modern(self) -> bool:
        """Is the server of the era in which it sends no requests of its own."""
        return modern(self.session.protocol_version or "")

    @property
    def able(self) -> types.ServerCapabilities:
        """What the server said that it can do."""
        return self.session.server_capabilities or types.ServerCapabilities()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        progress: ProgressFnT | None = None,
        *,
        offered: Mapping[str, Any] | None = None,
        level: str | None = None,
    ) -> dict[str, Any]:
        """Send a request; return the raw result.

        ``offered`` are the client's capabilities and ``level`` that of the log lines which it wants
        of this request; servers with a handshake were told both before. Raises `MCPError` with the
        server's own refusal, `Gone` if it died. If the caller is cancelled, the server is told so.
        """
        sent = dict(params)
        if self.modern:
            sent["_meta"] = {
                **sent.get("_meta", {}),
                types.PROTOCOL_VERSION_META_KEY: self.session.protocol_version,
                types.CLIENT_INFO_META_KEY: self.client.model_dump(
                    by_alias=True, mode="json", exclude_none=True
                ),
                types.CLIENT_CAPABILITIES_META_KEY: dict(offered or {}),
            }
            if level is not None:
                sent["_meta"][types.LOG_LEVEL_META_KEY] = level
        options: CallOptions = {"on_progress": progress} if progress else {}
        try:
            return await self.dispatcher.send_raw_request(method, sent, options)
        except MCPError as refusal:
            server = self.server
            over = server.ended.is_set() or server.outgoing.broken
            if refusal.code != types.CONNECTION_CLOSED or not over:
                raise
            with anyio.move_on_after(_LAST_WORDS):
                await server.ended.wait()
            raise Gone(server.how) from None

    async def pages(self, method: str, key: str) -> tuple[Any, ...]:
        """Return what the server lists, page by page; raises as `request` does."""
        listed: list[Any] = []
        params: dict[str, Any] = {}
        for _ in range(_PAGES):
            page = await self.request(method, params)
            more = page.get(key)
            listed += more if isinstance(more, list) else []
            if not isinstance(cursor := page.get("nextCursor"), str):
                break
            params = {"cursor": cursor}
        return tuple(listed)


async def negotiate(session: ClientSession, *, handshake: bool = False) -> None:
    """Open the connection in the newest era that the server knows.

    ``handshake`` begins with the older one, for a server that cannot bear the newer one's question.
    """
    ways: list[Callable[[], Awaitable[object]]] = [session.discover, session.initialize]
    first, second = reversed(ways) if handshake else ways
    try:
        await first()
        return
    except MCPError as refusal:
        if refusal.code == types.CONNECTION_CLOSED:
            raise
    except (RuntimeError, ValidationError):
        pass
    try:
        await second()
    except MCPError as refusal:
        # A slow modern server, whose answer to the first question came too late, says so.
        if refusal.code != types.UNSUPPORTED_PROTOCOL_VERSION or handshake:
            raise
        await first()
