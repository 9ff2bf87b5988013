"""A request of the client for one thing: judged, asked for where it must be, and sent on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from attrs import define, field, frozen
from mcp.shared.exceptions import MCPError
from mcp_types.methods import INPUT_REQUIRED_METHODS
from pydantic import ValidationError

from remit.harness.gateway.approving import ELICITED, decided, form, pending
from remit.harness.gateway.fleet import Fleet
from remit.harness.gateway.forwarding import Asked, Forwarding, Paused
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.link import Gone
from remit.harness.gateway.peer import Context, Peer
from remit.harness.gateway.seal import Forged, Seal
from remit.harness.natives import Answer
from remit.harness.session import Frame, Run
from remit.harness.store import Approval
from remit.policy.decision import Cause
from remit.policy.digest import digest
from remit.policy.problems import RemitError
from remit.policy.tools import Call
from remit.policy.vocabulary import Verdict

__all__ = ["Calls", "Outcome", "Wanted"]

Raw = Mapping[str, Any]


@frozen(eq=False)
class Wanted:
    """What a client asks for: as it is judged, and as it is sent to a server that it is let to."""

    ctx: Context
    call: Call
    sent: Raw
    #: How people read of it.
    shown: str

    @property
    def method(self) -> str:
        """By which request."""
        return self.ctx.method

    @property
    def params(self) -> Mapping[str, Any]:
        """What came with it."""
        return self.ctx.params or {}


@frozen(eq=False)
class Outcome:
    """What becomes of it, and the frame that it was judged by, where it was judged."""

    told: _Told
    frame: Frame | None = None


@frozen(eq=False)
class _InputRequired:
    requests: Mapping[str, types.InputRequest]
    state: str

    @property
    def raw(self) -> dict[str, Any]:
        """Return it as a result of the protocol."""
        dumped = {
            key: one.model_dump(by_alias=True, mode="json", exclude_none=True)
            for key, one in self.requests.items()
        }
        return {"resultType": "input_required", "inputRequests": dumped, "requestState": self.state}


_Told = Raw | Answer | _InputRequired


@define(eq=False)
class Calls:
    """The one way that all requests take which a server would answer.

    ``elicit`` says that the operator lets the client's user decide approvals.
    """

    judge: Judge
    peer: Peer
    fleet: Fleet
    forwarding: Forwarding
    elicit: bool = False
    #: What waits for a modern client's answer: a server's question, or the approval of its id.
    _seal: Seal[Paused | str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._seal = Seal(lambda held: held.give_up() if isinstance(held, Paused) else None)

    async def answer(self, wanted: Wanted) -> Outcome:
        """Answer it. Raises `MCPError` with a server's own refusal, `RemitError` if unjudged."""
        responses, state = wanted.params.get("inputResponses"), wanted.params.get("requestState")
        if responses is None and state is None:
            return await self._fresh(wanted)
        try:
            held = self._seal.redeem(state, self._digest(wanted))
        except Forged as why:
            # The SDK takes answers to questions that nobody asked.
            return Outcome(Answer(f"{wanted.shown} was not run: {why}", True))
        answers = responses if isinstance(responses, Mapping) else {}
        if isinstance(held, Paused):
            return await self._go_on(wanted, held, answers)
        await self._decide(await self.judge.approval(held), answers.get("approval"))
        return await self._fresh(wanted, asked=True)

    def _digest(self, wanted: Wanted) -> str:
        """Return what tells a request apart from every other that is not the same again."""
        return digest([wanted.method, wanted.call.tool, wanted.call.args, self._hash(wanted.call)])

    def _hash(self, call: Call) -> str:
        live = self.fleet.live(self.judge.session.catalog.get(call.tool))
        return live.hash if live else ""

    async def _fresh(self, wanted: Wanted, asked: bool = False) -> Outcome:
        try:
            frame, outcome = await self._judged(wanted.call)
        except Gone as gone:
            return Outcome(Answer(f"{wanted.shown} was not run: {gone}", True))
        if isinstance(outcome, Run):
            return Outcome(await self._forward(wanted, outcome, frame), frame)
        waits = pending(outcome)
        if waits is not None and self.elicit and not asked and self.peer.fills():
            approval = await self.judge.approval(waits)
            if self.peer.modern:
                if wanted.method not in INPUT_REQUIRED_METHODS:
                    return Outcome(outcome, frame)
                state = self._seal.issue(waits, self._digest(wanted))
                return Outcome(_InputRequired({"approval": form(approval)}, state), frame)
            try:
                response: object = await self.peer.ask(form(approval))
            except (MCPError, ValidationError):
                response = None  # no answer: it still waits for the operator
            await self._decide(approval, response)
            return await self._fresh(wanted, asked=True)
        return Outcome(outcome, frame)

    async def _decide(self, approval: Approval, response: object) -> None:
        """Decide an approval as the client's user said, if they said something."""
        if isinstance(response, types.ElicitResult):
            response = response.model_dump(by_alias=True, mode="json", exclude_none=True)
        if (said := decided(approval, response)) is None:
            return
        try:
            await self.judge.decide(approval.id, said.approve, said.feedback, ELICITED)
        except RemitError:
            return  # decided otherwise meanwhile, or over: the call is told so as it is judged

    async def _judged(self, call: Call) -> tuple[Frame, Run | Answer]:
        """Return the frame of the request and what the session makes of the call.

        Raises `Gone` where the call would be forwarded and there is nobody to forward it to.
        """
        if self.fleet.boxed:
            self.fleet.fit(await self.judge.frame())
        if all(one.link is not None for one in self.fleet):
            return await self.judge.frame_and_call(call, self._hash(call))
        for one in self.fleet:
            if one.upstream.starting:
                await one.upstream.settled()
        frame = await self.judge.frame()
        gone = await self._reached(frame, call)
        space, frame = frame.space, await self.judge.frame()
        if frame.space != space:
            raise Gone("a server had to be started, and meanwhile the space changed: call again")
        # The frame of now knows the tools that were listed since.
        outcome = await self.judge.call(frame, call, self._hash(call))
        if gone is not None and frame.catalog.get(call.tool) is None:
            raise gone
        return frame, outcome

    async def _reached(self, frame: Frame, call: Call) -> Gone | None:
        """Have the server up that a call would go to, before an approval is spent on it.

        Raises `Gone` for the server of a known tool; returns it where a tool is unknown, perhaps
        because its server never listed any.
        """
        judged = frame.projection.judge(call, frame.space.dial)
        if judged.tool is not None:
            one = self.fleet.of_tool(judged.tool)
            if one is not None and judged.decision.verdict is not Verdict.DENY:
                await one.reach()
            return None
        if judged.decision.cause is not Cause.UNKNOWN_TOOL:
            return None
        missing = None
        for one in self.fleet:
            if one.offered is None:
                try:
                    await one.reach()
                except Gone as gone:
                    missing = missing or gone
        return missing

    async def _forward(self, wanted: Wanted, run: Run, frame: Frame) -> _Told:
        """Send on what was let through."""
        served = self.fleet.of_tool(run.tool)
        assert served is not None, "the session's catalogue is the fleet's"
        if served.link is None:
            return Answer(f"{wanted.shown} was not run: {served.told_name} ended just then", True)
        sent = wanted.sent
        if wanted.method == "tools/call":
            sent = {**sent, "name": run.tool.name}
        revision = frame.space.revision
        try:
            told = await self.forwarding.begin(
                wanted.ctx, served, wanted.method, sent, run, revision
            )
        except Gone as gone:
            return self._died(wanted, served.told_name, gone, run)
        return self._told(wanted, told)

    async def _go_on(self, wanted: Wanted, held: Paused, answers: Mapping[str, Any]) -> Outcome:
        """Go on with a request whose server asked, if it would still be let through."""
        frame = await self.judge.frame()
        approved = held.run.approval is not None and frame.space.revision == held.revision
        if not approved or not (await self.judge.admitted(frame, [wanted.call]))[0]:
            frame, outcome = await self.judge.frame_and_call(wanted.call, self._hash(wanted.call))
            if isinstance(outcome, Answer):
                held.give_up()
                return Outcome(outcome, frame)
        try:
            told = await self.forwarding.go_on(wanted.ctx, held, answers)
        except Gone as gone:
            return Outcome(self._died(wanted, held.served.told_name, gone, held.run), frame)
        return Outcome(self._told(wanted, told), frame)

    def _told(self, wanted: Wanted, told: Raw | Asked) -> _Told:
        if isinstance(told, Asked):
            return _InputRequired(told.requests, self._seal.issue(told.held, self._digest(wanted)))
        if told.get("resultType", "complete") != "complete":
            return Answer(f"{wanted.shown} ended in a way that is not relayed", True)
        return told

    def _died(self, wanted: Wanted, name: str, gone: Gone, run: Run) -> Answer:
        if (one := self.fleet.of_tool(run.tool)) is not None:
            one.upstream.known_dead()
        return Answer(
            f"{name} {gone} while {wanted.shown} ran, so the call may have had its effects; it is "
            "not sent again, and the next call starts the server again",
            True,
        )
