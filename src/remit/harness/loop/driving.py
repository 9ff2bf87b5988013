"""Driving: the turns of a run, one after the other, until it waits for somebody or is over.

What comes next follows from the run as the store has it, so whoever opens the conversation can go
on. A message of the user's is before any turn of the host's (S000-49).
"""

from __future__ import annotations

from attrs import define, evolve

from remit.harness.inforce import InForce
from remit.harness.loop.loop import Ended, Loop
from remit.harness.loop.stage import host_session
from remit.harness.session import Frame
from remit.harness.store import SYSTEM, ApprovalKind, RunRecord, Space
from remit.harness.turns import USER
from remit.policy.problems import InputError, Problem
from remit.policy.run import Run, State, Why
from remit.policy.staged import StagedMode
from remit.policy.tools import Call
from remit.policy.vocabulary import Dial, Verdict
from remit.policy.workflow import Action, Budget

__all__ = ["RUN", "Driver", "start_problems"]

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
        """Begin a run in the staged mode that the space is in.

        Raises `InputError` with all that would keep it from its end, `StoreConflict` if one is
        open.
        """
        talk = self.loop.conversation
        at = talk.workspace
        space = at.store.spaces.get(talk.space)
        mode = at.engine.library.staged(space.mode)
        if mode is None:
            message = f"{space.mode} mode has no stages, so there are no runs of it"
            raise InputError(Problem("run-mode", message, "`remit modes` says which modes have"))
        if problems := start_problems(self.loop, space, mode):
            raise InputError(problems)
        return at.store.runs.start(
            mode, talk.space, talk.id, input, by=by, now=at.clock(), budget=budget
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


def start_problems(loop: Loop, space: Space, mode: StagedMode) -> tuple[Problem, ...]:
    """Return what would keep a run of a mode in a space from ever passing its exit gates."""
    flow, problems = mode.workflow, []
    gates = [(id, g) for id, s in flow.stages.items() for g in s.exit]
    commands = [(id, g.what) for id, g in gates if g.action is Action.RUN]
    if (flow.artifacts or commands) and space.worktree is None:
        message = f"space `{space.id}` has no worktree, and {flow.name} mode works in one"
        problems.append(Problem("run-worktree", message, "make a space with `--worktree`"))
    if commands and space.worktree is not None and loop.station.box is None:
        message = f"the exit gate `{commands[0][1]}` runs a command, and there is no shell here"
        problems.append(Problem("run-gate-never", message, "`remit doctor` says what is missing"))
        return tuple(problems)
    talk = loop.conversation
    at = talk.workspace
    session = host_session(talk, loop.station)
    session.set_catalog(loop.belt.catalog)
    # Whatever is to be asked of an operator may pass: a dial can be turned, a ceiling cannot.
    free = InForce(evolve(space, dial=Dial.AUTO, effects=()))
    profile = at.modes.narrowed(mode.profile, free)
    frame = Frame(free, at.engine.project(profile, session.catalog, at.host))
    for stage, command in commands:
        judged = session.look(frame, Call("shell", {"command": flow.fill(command, "r0", "")}))
        if judged.decision.verdict is Verdict.DENY:
            text = frame.projection.text(judged)
            message = f"the exit gate `{command}` of stage `{stage}` can never pass: {text.reason}"
            hint = "give the mode a wider permission, or the gate another command"
            problems.append(Problem("run-gate-never", message, hint))
    return tuple(problems)
