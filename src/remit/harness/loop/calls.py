"""Calls: each is judged by its step, waits for the operator where it must, and runs once."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Any

import anyio.to_thread
from attrs import define, field

from remit.harness.loop.belt import TASK, Belt, Station
from remit.harness.loop.done import Done
from remit.harness.loop.waiting import Waiting
from remit.harness.natives import Answer, Desk, decided
from remit.harness.session import Run
from remit.harness.store import Approval, ApprovalKind, ApprovalState
from remit.harness.tools import Result, Todos
from remit.harness.turns import Step
from remit.policy.ceiling import narrow
from remit.policy.digest import canonical
from remit.policy.tools import Call

__all__ = ["RAW", "Calls", "Done", "Task", "in_thread"]

#: What stands for arguments that are no JSON object, under a name that no tool takes.
RAW = "\0not an object"
#: Equal refusals after which the model is told to stop, and after which the turn is ended.
_WARNED, _STUCK = 3, 6


#: Runs a subagent in a mode, None for the first that there may be; returns what it said.
Task = Callable[[str, str | None], Awaitable[Done]]


@define(eq=False)
class Calls:
    """Serves the calls of one turn."""

    belt: Belt
    station: Station
    waiting: Waiting
    task: Task
    #: The kinds of requests that a call waits for; others come back as pending.
    waits: frozenset[ApprovalKind]
    #: Hears that a call waits, and how it was decided.
    waits_for: Callable[[Approval], None]
    todos: Todos = field(factory=Todos)
    _refused: Counter[str] = field(factory=Counter, init=False)

    @property
    def stuck(self) -> bool:
        """Was the same call refused again and again."""
        return any(count >= _STUCK for count in self._refused.values())

    @property
    def refusals(self) -> int:
        """How many calls were refused."""
        return self._refused.total()

    async def serve(self, step: Step, name: str, args: Mapping[str, Any]) -> Done:
        """Serve a call of a step; whatever goes wrong is a failed result."""
        if RAW in args:
            return Done(f"`{name}` did nothing: its arguments are no JSON object", True)
        tool = step.frame.catalog.get(name)
        offer = self.belt.offer(tool.key) if tool else None
        call, hash = Call(name, args), offer.hash if offer else ""
        while True:
            judged = await anyio.to_thread.run_sync(step.decide, call, hash)
            if isinstance(judged, Run):
                return await self._run(step, judged, args)
            data = judged.data or {}
            approval = data.get("approval")
            if data.get("state") != "pending" or not isinstance(approval, str):
                return self._answered(name, args, judged)
            if ApprovalKind(data["kind"]) not in self.waits:
                return self._answered(name, args, judged)
            over = await self._waited(step, judged, approval)
            if over is not None:
                return over

    async def _waited(self, step: Step, judged: Answer, id: str) -> Done | None:
        """Wait for an approval; returns None where the call is to be judged again."""
        at = self.waiting.workspace
        self.waits_for(at.store.approvals.get(id, now=at.clock()))
        approval = await self.waiting.decided(id)
        if approval is None:
            return Done("Interrupted by the user: nothing was decided, and it did not run.", True)
        self.waits_for(approval)
        if approval.kind is ApprovalKind.PLAN:
            return self._planned(step, approval, judged)
        if approval.state is ApprovalState.REJECTED and approval.kind is ApprovalKind.PLAN_EXIT:
            why = f": {approval.feedback}" if approval.feedback else ""
            return Done(f"The operator rejected leaving this mode{why}. Nothing has changed.", True)
        if approval.state in (ApprovalState.EXPIRED, ApprovalState.SUPERSEDED):
            return Done(f"Approval `{id}` is {approval.state}: it did not run.", True)
        return None

    def _planned(self, step: Step, approval: Approval, judged: Answer) -> Done:
        """Say what became of a plan; its approval may have left the mode, so no verb is judged."""
        at = self.waiting.workspace
        record = at.store.plans.get(str((judged.data or {})["plan"]))
        if approval.state is ApprovalState.SUPERSEDED:
            return Done("A message of the user took the plan's place: nothing was decided.", True)
        answer = decided(Desk(at.store, step.frame, record.conversation, at.clock()), record)
        return Done(answer.text, answer.error, answer.data or {})

    def _answered(self, name: str, args: Mapping[str, Any], answer: Answer) -> Done:
        text = answer.text
        if answer.error:
            same = canonical([name, dict(args)])
            self._refused[same] += 1
            if self._refused[same] >= _WARNED:
                text += (
                    f" This same call was refused {self._refused[same]} times; it will not be "
                    "otherwise. Do something else, or say what you cannot do."
                )
        return Done(text, answer.error, answer.data or {})

    async def _run(self, step: Step, run: Run, args: Mapping[str, Any]) -> Done:
        if run.tool.key == TASK:
            return await self._task(args)
        servers = self.belt.servers
        if servers is not None and servers.serves(run.tool):
            return await servers.call(run.tool, args)
        cancelled = threading.Event()
        session = step.session
        ceiling = narrow(step.frame.profile.ceiling, session.frame().profile.ceiling)
        desk = self.station.desk(ceiling, self.todos, cancelled)
        result = await in_thread(lambda: self.belt.run(run.tool.key, args, desk), cancelled)
        return Done(result.text, result.is_error, result.data, ran=True)

    async def _task(self, args: Mapping[str, Any]) -> Done:
        from remit.harness.tools.todo import TASK as DECLARED

        given, wrong = DECLARED.check(args)
        if given is None:
            return Done(f"`task` did nothing: {'; '.join(wrong)}", True)
        return await self.task(given.prompt, given.mode)


async def in_thread(work: Callable[[], Result], cancelled: threading.Event) -> Result:
    """Run what blocks in a thread of its own, however many others do; it is over on return."""
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="remit-tool", daemon=True).start()
    waiting = asyncio.wrap_future(done)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        # What the call does is to be over when the turn is.
        cancelled.set()
        await asyncio.wait([waiting])
        raise
