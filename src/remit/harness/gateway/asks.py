"""What a server asks of the client: labelled with its name, judged where its model is wanted."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types
from attrs import define
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from remit.harness.gateway.fleet import Served
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.peer import Peer, Reply
from remit.harness.gateway.shelf import SAMPLE
from remit.harness.gateway.untrusted import plain
from remit.harness.session import Run
from remit.policy.problems import RemitError
from remit.policy.tools import Call

__all__ = ["Asks"]

_REQUEST: TypeAdapter[types.InputRequest] = TypeAdapter(types.InputRequest)


@define(eq=False)
class Asks:
    """Whether and how what a server asks reaches the client."""

    peer: Peer
    judge: Judge

    async def admit(
        self, served: Served, request: types.InputRequest
    ) -> types.InputRequest | types.ErrorData:
        """Return a request as it may reach the client, or the refusal of it."""
        if await self.judge.locked():
            return _no("the space is locked, so nobody is asked")
        if isinstance(request, types.ElicitRequest):
            params = request.params
            if not self.peer.fills(params.mode):
                return _no(f"the client does not take questions by {params.mode}")
            said = f"The server `{served.name}` asks: {params.message}"
            return types.ElicitRequest(params=params.model_copy(update={"message": said}))
        if isinstance(request, types.CreateMessageRequest):
            return await self._sampled(served, request)
        return _no("the client's folders are no business of a server behind remit")

    async def admit_raw(self, served: Served, requests: object) -> dict[str, types.InputRequest]:
        """Return requests of a modern server likewise; raises `MCPError` with the first refusal."""
        admitted = {}
        for key, raw in requests.items() if isinstance(requests, Mapping) else ():
            try:
                request = _REQUEST.validate_python(plain(raw), by_name=False)
            except ValidationError:
                raise MCPError(types.INVALID_REQUEST, "it asked for what is no request") from None
            one = await self.admit(served, request)
            if isinstance(one, types.ErrorData):
                raise MCPError.from_error_data(one)
            admitted[str(key)] = one
        return admitted

    async def put(self, served: Served, request: types.InputRequest) -> Reply:
        """Ask the client for a server with a handshake, while the client waits for it.

        A server that asks when nobody called it would put words into somebody's day.
        """
        if not served.flights:
            return _no("no request is in progress that this could belong to")
        cleaned = _REQUEST.validate_python(
            plain(request.model_dump(by_alias=True, mode="json", exclude_none=True)), by_name=False
        )
        admitted = await self.admit(served, cleaned)
        if isinstance(admitted, types.ErrorData):
            return admitted
        if self.peer.modern:
            errands = [f.errand for f in served.flights if f.errand is not None]
            if not errands:
                return _no("no request is in progress that this could belong to")
            return await errands[-1].ask(admitted)
        try:
            return await self.peer.ask(admitted)
        except (MCPError, ValidationError) as refusal:
            return _no(getattr(refusal, "message", "") or "the client gave no answer")

    async def _sampled(
        self, served: Served, request: types.CreateMessageRequest
    ) -> types.InputRequest | types.ErrorData:
        params = request.params.model_dump(by_alias=True, mode="json", exclude_none=True)
        params.pop("_meta", None)
        try:
            call = Call(f"{served.name}:{SAMPLE}", params)
            _, outcome = await self.judge.frame_and_call(call, "")
        except RemitError as error:
            return _no(error.problems[0].message)
        return request if isinstance(outcome, Run) else _no(outcome.text)


def _no(why: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_REQUEST, message=why)
