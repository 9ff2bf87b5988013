"""The loop: messages of the user are answered, each in a turn, in the mode in force."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen
from pydantic_ai.models import Model

from remit.harness.conversation import Conversation
from remit.harness.loop.answering import Answering, Stopped
from remit.harness.loop.belt import Belt, Station
from remit.harness.loop.calls import Calls, Done
from remit.harness.loop.contract import Contract, Outcome
from remit.harness.loop.events import Event, Tell, What
from remit.harness.loop.history import History
from remit.harness.loop.stage import Over, StageTurn
from remit.harness.loop.waiting import Waiting
from remit.harness.store import Approval, ApprovalKind, ApprovalState, RunRecord
from remit.harness.store import Outcome as Closed
from remit.harness.tools import Todos
from remit.harness.turns import USER
from remit.policy.escape import escape
from remit.policy.problems import InputError

if TYPE_CHECKING:
    from remit.harness.loop.servers import Servers

__all__ = ["EVERY_KIND", "Ended", "Loop"]

#: Whatever the operator can be asked.
EVERY_KIND = frozenset(ApprovalKind)

#: What endings of a turn are to its run, but for those that are well.
_OUTCOMES = {"failed": "error", "limit": "error", "stuck": "error", "interrupted": "interrupted"}


@frozen
class Ended:
    """How a turn ended.

    ``reason`` is ``stopped`` where the model had nothing more to call, else why it was ended:
    ``failed``, ``interrupted``, ``stuck`` (the same call refused again and again), ``limit``; and
    of a run ``stage`` (it was completed, or waits), ``paused``, ``halted``.
    ``contract`` is what was owed, ``outcome`` how that came out; an unmet one is carried by every
    reason.
    """

    text: str
    reason: str = "stopped"
    contract: str | None = None
    outcome: Outcome | None = None
    error: str = ""

    @property
    def ok(self) -> bool:
        """Did it end by itself with nothing owed."""
        return self.reason in ("stopped", "stage") and self.outcome is not Outcome.UNMET


@define(eq=False)
class Loop:
    """Answers messages in one conversation, one at a time. Everything runs on one event loop.

    ``folder`` is where what was said is kept, None keeps nothing. ``waits`` are the kinds of
    requests to the operator that a call waits for; the others come back as pending. ``servers``
    are to be up while turns are answered.
    """

    conversation: Conversation
    model: Model
    station: Station
    folder: Path | None = None
    tell: Tell = lambda event: None
    waits: frozenset[ApprovalKind] = EVERY_KIND
    servers: Servers | None = None
    history: History = field(init=False)
    belt: Belt = field(init=False)
    todos: Todos = field(factory=Todos, init=False)
    #: Messages of the user that came while a turn was under way.
    queue: deque[str] = field(factory=deque, init=False)
    #: The turn of a run that is under way.
    _working: StageTurn | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.history = History(self.folder, self.conversation.id)
        self.belt = Belt.of(self.conversation.workspace.engine, self.station, self.servers)

    def ready(self) -> AbstractAsyncContextManager[object]:
        """Have its servers up for a block, in which turns are answered."""
        return nullcontext() if self.servers is None else self.servers.up()

    async def turn(self, prompt: str, origin: str = USER, *, run: str | None = None) -> Ended:
        """Answer a message; cancelling it closes the turn as interrupted and raises.

        ``run`` is the run that the turn works on; it claims it, and settles how it ended.
        """
        # Calls that never came back are answered before anything else is said.
        self.history.close()
        at = self.station
        calls = Calls(self.belt, at, self._waiting, self._task, self.waits, self._asked, self.todos)
        turn = self.conversation.turn(origin, cwd=at.worktree, scratch=at.scratch)
        answering = Answering(turn, self.model, calls, self.history, self.queue, self._tell)
        reason, error = "stopped", ""
        with turn:
            if run is not None:
                answering.stage = self._stage(calls, run, turn.number, host=origin != USER)
            self._working = answering.stage
            try:
                if answering.stage and (why := await answering.stage.claim()) is not None:
                    return Ended("", "failed", error=why.message)
                self._tell(What.TURN, prompt, number=turn.number, origin=origin)
                await self._answer(answering, prompt)
            except asyncio.CancelledError:
                await asyncio.shield(self._settled(answering, "interrupted"))
                self._settle(answering, "interrupted", "")
                raise
            except (Stopped, Over) as stop:
                reason = str(stop)
            except Exception as failure:
                reason, error = "failed", _words(failure)
            finally:
                self._working = None
            await self._settled(answering, reason)
            if reason == "failed":
                turn.close(Closed.FAILED)
        return self._settle(answering, reason, error)

    async def compacted(self) -> None:
        """Say that what was said was shortened: what a run's stage injects then is told again."""
        await asyncio.to_thread(self.conversation.compacted)
        if self._working is not None:
            await self._working.compacted()

    async def decided(self, approval: str) -> None:
        """Wait until the operator decided, or the user said something else."""
        self._asked(
            self.conversation.workspace.store.approvals.get(
                approval, now=self.conversation.workspace.clock()
            )
        )
        found = await self._waiting.decided(approval)
        if found is not None:
            self._asked(found)

    @property
    def _waiting(self) -> Waiting:
        return Waiting(self.conversation.workspace, lambda: bool(self.queue))

    def _stage(self, calls: Calls, run: str, number: int, *, host: bool) -> StageTurn:
        talk = self.conversation
        return StageTurn(
            talk.site, self.station, calls, run, f"{talk.id}#{number}", host, self._stands
        )

    async def _answer(self, answering: Answering, prompt: str) -> None:
        """Let the model work; of a run that an operator stops the turn is interrupted."""
        if answering.stage is None:
            return await answering.answer(prompt)
        work = asyncio.ensure_future(answering.answer(prompt))
        watch = asyncio.ensure_future(answering.stage.stopped())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
                watch.result()
                raise Over("halted")
            return work.result()
        finally:
            for task in (work, watch):
                task.cancel()
            await asyncio.wait({work, watch})

    async def _settled(self, answering: Answering, reason: str) -> None:
        if answering.stage is not None:
            outcome = _OUTCOMES.get(reason, "ok")
            await answering.stage.settle(outcome, answering.tokens, len(self.queue))

    def _stands(self, record: RunRecord) -> None:
        run = record.run
        self._tell(
            What.RUN,
            run=run.id,
            mode=record.mode.workflow.name,
            stage=run.stage,
            state=run.state.value,
            why=run.why and run.why.value,
            turns=run.turns,
            budget=run.budget.turns,
            tokens=run.tokens,
            elapsed=run.elapsed,
        )

    def _settle(self, answering: Answering, reason: str, error: str) -> Ended:
        contract = answering.contract
        ended = Ended(answering.said, reason, contract.id, contract.outcome, error)
        self._record(contract, reason)
        self._tell(
            What.ENDED,
            ended.text,
            reason=reason,
            contract=ended.contract,
            outcome=ended.outcome and ended.outcome.value,
            error=error,
            ok=ended.ok,
        )
        return ended

    def _record(self, contract: Contract, reason: str) -> None:
        if contract.outcome in (None, Outcome.DECLINED):
            return  # nothing is owed, or the verb itself recorded it
        at, conversation = self.conversation.workspace, self.conversation
        at.store.log.record(
            "contract",
            {
                "contract": contract.id,
                "mode": conversation.record.mode,
                "outcome": contract.outcome,
                "reason": reason,
            },
            space=conversation.space,
            conversation=conversation.id,
            actor=f"agent:{conversation.id}",
            now=at.clock(),
        )

    def _asked(self, approval: Approval) -> None:
        pending = approval.state is ApprovalState.PENDING
        self._tell(
            What.WAITING if pending else What.DECIDED,
            approval.shown if pending else "",
            approval=approval.id,
            kind=approval.kind.value,
            state=approval.state.value,
        )

    async def _task(self, prompt: str, mode: str | None) -> Done:
        """Run a subagent: a child of this conversation, in a loop like this one."""
        try:
            child = self.conversation.child(mode)
        except InputError as error:
            problem = error.problems[0]
            hint = f" ({problem.hint})" if problem.hint else ""
            return Done(f"`task` did nothing: {problem.message}{hint}", True)
        loop = Loop(
            child, self.model, self.station, self.folder, self.tell, self.waits, self.servers
        )
        ended = await loop.turn(prompt, "task")
        if ended.reason != "stopped":
            why = f": {ended.error}" if ended.error else ""
            return Done(f"The subagent did not finish, it {ended.reason}{why}.\n{ended.text}", True)
        return Done(ended.text or "The subagent said nothing.", False, {"child": child.id}, True)

    def _tell(self, what: What, text: str = "", **data: Any) -> None:
        self.tell(Event(what, self.conversation.id, text, data))


def _words(failure: Exception) -> str:
    while isinstance(failure, ExceptionGroup) and len(failure.exceptions) == 1:
        failure = failure.exceptions[0]
    return escape(f"{type(failure).__name__}: {failure}"[:500])
