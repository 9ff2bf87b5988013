"""Driving: the turns of a run, one after the other, until it waits for somebody or is over.

What comes next follows from the run as the store has it, so whoever opens the conversation can go
on. A message of the user's is before any turn of the host's (S000-49).
"""

from __future__ import annotations

from attrs import define

from remit.harness.loop.loop import Ended, Loop
from remit.harness.loop.starting import start_run
from remit.harness.store import SYSTEM, ApprovalKind, RunRecord
from remit.harness.turns import USER
from remit.policy.run import Run, State, Why
from remit.policy.workflow import Budget

__all__ = ["RUN", "Driver"]

#: The origin of a turn that the host began.
RUN = "run"


@define(eq=False)
class Driver:
    """Answers messages as a `Loop` does, and drives the run of a staged mode."""

    loop: Loop

    async def answer(self, prompt: str) -> Ended:
        """Answer a message of the user's; in a staged mode that is a turn of its run (S000-11)."""
        record = self._mine() or self._start(prompt)
        if record is None:
            return await self.loop.turn(prompt)
        ended = await self.loop.turn(prompt, USER, run=record.id)
        return await self.go_on(record.id) or ended

    async def go_on(self, id: str | None = None) -> Ended | None:
        """Take the turns that are owed; return how the last of them ended, None if none was."""
        ended = None
        while (record := self._record(id)) is not None:
            owed = await self._owed(record)
            if owed is None:
                return ended
            prompt, host = owed
            before = record.run.revision
            ended = await self.loop.turn(prompt, RUN if host else USER, run=record.id)
            after = self._record(record.id)
            if after is None or after.run.revision == before:
                return ended  # it could not be had: nothing would be different the next time
            id = record.id
        return ended

    def start(self, input: str, *, by: str = SYSTEM, budget: Budget | None = None) -> RunRecord:
        """Begin a run; see `start_run`."""
        loop = self.loop
        return start_run(
            loop.conversation, loop.station, loop.belt.catalog, input, by=by, budget=budget
        )

    def _start(self, prompt: str) -> RunRecord | None:
        """Start a run where the space's mode has stages; None where it has none."""
        talk = self.loop.conversation
        at, library = talk.workspace, talk.workspace.engine.library
        mode = at.store.spaces.get(talk.space).mode
        if talk.record.child or library.find(mode) is None or library.staged(mode) is None:
            return None
        return self.start(prompt)

    def _record(self, id: str | None) -> RunRecord | None:
        return self._mine() if id is None else self._there(id)

    def _there(self, id: str) -> RunRecord | None:
        found = self.loop.conversation.workspace.store.runs.get(id)
        return None if found.run.state in (State.FINISHED, State.STOPPED) else found

    def _mine(self) -> RunRecord | None:
        """Return the open run of this conversation, if the space is in its mode."""
        talk = self.loop.conversation
        store = talk.workspace.store
        there = store.runs.open_in(talk.space)
        if there is None or there.conversation != talk.id:
            return None
        mode = store.spaces.get(talk.space).mode
        return there if mode == there.mode.workflow.name else None

    async def _owed(self, record: RunRecord) -> tuple[str, bool] | None:
        """Return what begins the next turn, and whether the host does; None if none is owed."""
        queue = self.loop.queue
        waits = record.run.state is State.WAITING and ApprovalKind.STAGE in self.loop.waits
        if waits and record.run.why is Why.APPROVAL and record.approval and not queue:
            await self.loop.decided(record.approval)
            record = self.loop.conversation.workspace.store.runs.get(record.id)
        run = record.run
        if run.claim is not None or run.state in (State.FINISHED, State.STOPPED):
            return None
        if queue and run.state is not State.PAUSED:
            return queue.popleft(), False
        if record.said is not None and run.state is State.WAITING:
            return record.said, False
        if run.state is not State.RUNNING:
            return None
        # The message that began it is the user's, whoever starts to drive.
        return (_begin(run), True) if run.rounds else (run.input, False)


def _begin(run: Run) -> str:
    what = "begins" if run.fresh else "goes on"
    return f"[remit] The stage `{run.stage}` {what}. The user said nothing since."
