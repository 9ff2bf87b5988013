"""A request that was let through, on its way to a server and back, in any combination of eras.

It is sent once: whatever becomes of it, it is not sent again. What a server asks on the way reaches
the client as its era has it: as a request to a legacy one, as the answer to its own request to a
modern one, which then sends that again with what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import mcp_types as types
from attrs import define, frozen
from mcp.shared.exceptions import MCPError

from remit.harness.gateway.asks import Asks
from remit.harness.gateway.errand import Errand, Question
from remit.harness.gateway.fleet import Flight, Served
from remit.harness.gateway.link import Gone, Link
from remit.harness.gateway.logs import Logs
from remit.harness.gateway.peer import Context, Peer, Reply
from remit.harness.session import Run
from remit.policy.escape import unmarked

__all__ = ["Asked", "Forwarding", "Paused"]

Raw = Mapping[str, Any]
#: Times that a server may ask within one request.
_ROUNDS = 10


@frozen(eq=False)
class Paused:
    """A request that waits for the client's answer to what its server asked.

    ``run`` and ``revision`` say what let it through, and when.
    """

    served: Served
    method: str
    sent: Raw
    run: Run
    revision: int
    #: Of a server with a handshake: the errand, and the question that it waits in.
    errand: Errand | None = None
    question: Question | None = None
    #: Of a modern server: its own state, which it wants back.
    state: Any = None
    rounds: int = 0

    def give_up(self) -> None:
        """Have the server stop, where it waits."""
        if self.errand is not None:
            self.errand.scope.cancel()


@frozen
class Asked:
    """What a modern client is asked, in place of a result; ``held`` waits for its answer."""

    requests: Mapping[str, types.InputRequest]
    held: Paused


@define(eq=False)
class Forwarding:
    """Sends what was let through; ``spawn`` starts what outlives a request."""

    peer: Peer
    asks: Asks
    logs: Logs
    spawn: Callable[[Callable[[], Coroutine[Any, Any, None]]], object]

    async def begin(
        self, ctx: Context, served: Served, method: str, sent: Raw, run: Run, revision: int
    ) -> Raw | Asked:
        """Send a request; return its result or what is asked first.

        Raises `MCPError` with the server's refusal, `Gone` if it died.
        """
        link = served.link
        if link is None:
            raise Gone("ended just then")
        paused = Paused(served, method, sent, run, revision)
        if link.modern:
            with self._flight(ctx, served):
                return await self._modern(ctx, link, paused, {})
        if not (self.peer.modern and served.upstream.offered):
            with self._flight(ctx, served):
                return await self._send(link, paused, sent, lambda: ctx)
        errand = Errand(lambda: self._send(link, paused, sent, lambda: errand.ctx), ctx)
        with self._flight(ctx, served, errand):
            self.spawn(errand.run)
            return await self._until(errand, paused)

    async def go_on(self, ctx: Context, paused: Paused, answers: Mapping[str, Any]) -> Raw | Asked:
        """Go on with a request whose server asked, with what the client answered."""
        served, errand = paused.served, paused.errand
        if errand is not None:
            assert paused.question is not None, "what it waits in"
            errand.ctx = ctx
            with self._flight(ctx, served, errand):
                paused.question.answer(_response(paused.question.request, answers))
                return await self._until(errand, paused)
        link = served.link
        if link is None:
            raise Gone("ended while it waited for an answer")
        with self._flight(ctx, served):
            return await self._modern(ctx, link, paused, dict(answers))

    async def _until(self, errand: Errand, paused: Paused) -> Raw | Asked:
        """Wait for an errand's result or its next question; a client that leaves ends it."""
        try:
            told = await errand.next()
        except BaseException:
            errand.scope.cancel()
            raise
        if not isinstance(told, Question):
            return told
        held = Paused(
            paused.served, paused.method, paused.sent, paused.run, paused.revision, errand, told
        )
        return Asked({"asked": told.request}, held)

    async def _modern(
        self, ctx: Context, link: Link, paused: Paused, answers: Mapping[str, Any]
    ) -> Raw | Asked:
        """Send a request to a modern server, as often as it asks for something first."""
        more: dict[str, Any] = dict(answers)
        state = paused.state
        for rounds in range(paused.rounds, _ROUNDS):
            sent = dict(paused.sent)
            if more:
                sent["inputResponses"] = more
            if state is not None:
                sent["requestState"] = state
            raw = await self._send(link, paused, sent, lambda: ctx)
            if raw.get("resultType", "complete") != "input_required":
                return raw
            requests = await self.asks.admit_raw(paused.served, raw.get("inputRequests"))
            state = raw.get("requestState")
            if self.peer.modern:
                held = Paused(
                    paused.served, paused.method, paused.sent, paused.run, paused.revision,
                    state=state, rounds=rounds + 1,
                )  # fmt: skip
                return Asked(requests, held)
            more = {key: _dump(await self.peer.ask(one)) for key, one in requests.items()}
        raise MCPError(types.INTERNAL_ERROR, f"it asked for input more than {_ROUNDS} times")

    async def _send(
        self, link: Link, paused: Paused, sent: Raw, whose: Callable[[], Context]
    ) -> Raw:
        """Send it; ``whose`` is the client's request that waits for it at a moment."""

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            told = None if message is None else unmarked(message)
            await whose().session.report_progress(progress, total, told)

        level = self.logs.wanted(whose())
        await self.logs.attune(link, level)
        wanted = "progress_token" in (whose().meta or {})
        try:
            return await link.request(
                paused.method,
                sent,
                on_progress if wanted else None,
                offered=paused.served.upstream.offered,
                level=level,
            )
        finally:
            await self.logs.told(paused.served)

    @contextmanager
    def _flight(self, ctx: Context, served: Served, errand: Errand | None = None) -> Iterator[None]:
        """Have it known that a server is at a request while the client waits for it."""
        flight = Flight(ctx, errand)
        served.flights.append(flight)
        try:
            yield
        finally:
            served.flights.remove(flight)


def _response(request: types.InputRequest, answers: Mapping[str, Any]) -> Reply:
    """Return what a client answered to the one question of an errand."""
    raw = answers.get("asked")
    kinds: tuple[type[types.InputResponse], ...] = (types.ElicitResult,)
    if isinstance(request, types.CreateMessageRequest):
        kinds = (types.CreateMessageResult, types.CreateMessageResultWithTools)
    for kind in kinds:
        try:
            return kind.model_validate(raw, by_name=False)
        except ValueError:
            continue
    return types.ErrorData(code=types.INVALID_REQUEST, message="the client gave no answer")


def _dump(response: types.InputResponse) -> dict[str, Any]:
    return response.model_dump(by_alias=True, mode="json", exclude_none=True)
