"""The client: which era it is of, what it can be asked, and the way to ask it."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from attrs import define, field
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession

from remit.harness.gateway.relay import modern

__all__ = ["Context", "Peer", "Reply"]

Context = ServerRequestContext[Any, Any]
#: What a server that asked is told.
Reply = types.InputResponse | types.ErrorData


@define(eq=False)
class Peer:
    """What is known of the client, from each of its requests anew.

    A legacy client says what it can do once, a modern one with every request.
    """

    version: str = field(default="", init=False)
    session: ServerSession | None = field(default=None, init=False)
    _able: types.ClientCapabilities = field(factory=types.ClientCapabilities, init=False)

    def meet(self, ctx: Context) -> None:
        """Remember who is there."""
        self.version, self.session = ctx.protocol_version, ctx.session
        if (able := ctx.session.client_capabilities) is not None:
            self._able = able

    def open(self, version: str, able: object) -> None:
        """Note what a client says of itself as it opens the connection."""
        self.version = version
        if isinstance(able, dict):
            self._able = types.ClientCapabilities.model_validate(able, by_name=False)

    @property
    def modern(self) -> bool:
        """Is it of the era in which only answers go to a client."""
        return modern(self.version)

    @property
    def samples(self) -> bool:
        """Can a server have its model say something."""
        return self._able.sampling is not None

    def fills(self, kind: str = "form") -> bool:
        """Can its user be asked, by a form or by being sent to an address (``url``)."""
        how = self._able.elicitation
        if how is None:
            return False
        # One that names neither is of the time when there were forms alone.
        return how.url is not None if kind == "url" else how.form is not None or how.url is None

    @property
    def offered(self) -> dict[str, Any]:
        """What a server may be told that the client can do; its folders are no business of it."""
        able = self._able
        told = types.ClientCapabilities(sampling=able.sampling, elicitation=able.elicitation)
        return told.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def ask(self, request: types.InputRequest) -> types.InputResponse:
        """Ask a legacy client; raises `MCPError` with its refusal."""
        assert self.session is not None, "a client that opened the connection"
        if isinstance(request, types.CreateMessageRequest):
            wide = request.params.tools is not None
            kind = types.CreateMessageResultWithTools if wide else types.CreateMessageResult
            return await self.session.send_request(request, kind)
        return await self.session.send_request(request, types.ElicitResult)
