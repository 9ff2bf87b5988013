"""Runs: one walk through the stages of a mode, changed by the run machine alone.

Every change is one transaction: the run is read, `step` says what it becomes and what is owed, and
what the store itself owes (gate results, approvals, the mode returned to) is recorded with it. So a
crash leaves a run before or after a change, never between. What is left to do follows from the run.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType

from attrs import evolve, frozen

from remit.harness.store.approvals import Approval, ApprovalKind, Approvals
from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.events import OPERATOR, SYSTEM, is_operator
from remit.harness.store.log import Log, Writer
from remit.harness.store.names import check_actor, check_conversation
from remit.harness.store.run_rows import (
    RunRecord,
    Stepped,
    changed,
    milliseconds,
    open_run,
    read_mode,
    read_run,
    run_rows,
    values,
)
from remit.harness.store.spaces import Spaces
from remit.harness.store.switch import flip, no_runs
from remit.policy.digest import digest
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem, near
from remit.policy.run import OPEN, Do, Effect, Event, Kind, Run
from remit.policy.run_step import step
from remit.policy.staged import StagedMode
from remit.policy.workflow import Budget
from remit.profiles.snapshot import staged_snapshot

__all__ = ["GateResult", "Runs", "refusal"]

_HOST = frozenset({SYSTEM})
_PERSON = frozenset({OPERATOR})
_EITHER = _HOST | _PERSON
#: Who may send what; an agent completes its stage, and nothing else (S000-34, S000-90).
_SENDERS: Mapping[Kind, frozenset[str]] = MappingProxyType(
    {
        Kind.CLAIM: _HOST,
        Kind.COMPLETE: frozenset({"agent"}),
        Kind.WROTE: _HOST,
        Kind.GATE: _HOST,
        Kind.SETTLE: _HOST,
        Kind.COMPACT: _HOST,
        Kind.CHECKPOINT: _HOST,
        Kind.RESTART: _HOST,
        Kind.SWITCH: _HOST,
        Kind.INTERRUPT: _EITHER,
        Kind.DECIDE: _PERSON,
        Kind.PAUSE: _PERSON,
        Kind.RESUME: _PERSON,
        Kind.STOP: _PERSON,
        Kind.REMOVE: _PERSON,
        Kind.EDIT: _PERSON,
    }
)


@frozen
class GateResult:
    """What an exit gate gave when the host judged it last; ``gate`` counts from 0."""

    run: str
    stage: str
    gate: int
    action: str
    outcome: str
    evidence: str
    at: str


class Runs:
    """The runs of one store. A space has at most one that is not over."""

    def __init__(self, database: Database, log: Log, spaces: Spaces, approvals: Approvals) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces
        self._approvals = approvals
        #: Says which mode a run returns to, of the one that it was declared to return to: that may
        #: have been deleted meanwhile (S000-101).
        self.home: Callable[[str], str] = lambda mode: mode
        approvals.follows[ApprovalKind.STAGE] = self

    def get(self, id: str) -> RunRecord:
        """Return a run; raise `InputError` with near misses where there is none."""
        found = read_run(self._database, id)
        if found is None:
            known = [row[0] for row in self._database.rows("SELECT id FROM run")]
            hint = near(id, known) or "`remit run list` lists them"
            raise InputError(Problem("unknown-run", f"there is no run {quoted(id)}", hint))
        return found

    def open_in(self, space: str) -> RunRecord | None:
        """Return the run of a space that is not over, None where there is none."""
        return open_run(self._database, space)

    def mode(self, hash: str) -> StagedMode:
        """Return the staged mode of a snapshot that is there."""
        row = self._database.row("SELECT snapshot FROM mode_snapshot WHERE hash = ?", (hash,))
        return read_mode(row[0])

    def list(self, space: str | None = None) -> tuple[RunRecord, ...]:
        """Return runs, newest first: of one space, or all."""
        if space is None:
            return tuple(run_rows(self._database))
        self._spaces.get(space)
        return tuple(run_rows(self._database, "run.space = ?", (space,)))

    def gates(self, id: str) -> tuple[GateResult, ...]:
        """Return what the exit gates of a run gave last, in the order of time."""
        rows = self._database.rows(
            "SELECT run, stage, gate, action, outcome, evidence, at FROM gate_result"
            " WHERE run = ? ORDER BY at, gate",
            (id,),
        )
        return tuple(GateResult(*row) for row in rows)

    def start(
        self,
        mode: StagedMode,
        space: str,
        conversation: str,
        input: str,
        *,
        by: str,
        now: datetime,
        budget: Budget | None = None,
    ) -> RunRecord:
        """Begin a run in a space that is in its mode, and keep the mode as it is now (S000-91).

        `StoreConflict` if the space has an open one, or another mode; `InputError` in a space that
        is remote (S000-65), and for an input that says nothing.
        """
        check_actor(by)
        check_conversation(conversation)
        if not input.strip():
            raise InputError(Problem("run-input", "the input is empty", "say what the run is for"))
        name, text = mode.workflow.name, staged_snapshot(mode)
        hash = digest(text)
        with self._log.writing(now) as writer:
            there = self._spaces.get(space)
            if there.remote:
                raise no_runs(space)
            if there.mode != name:
                message = f"space `{space}` is in {there.mode} mode, not in {name}"
                raise StoreConflict(Problem("run-mode", message, "look again"), there)
            if (other := self.open_in(space)) is not None:
                raise _open(other)
            if self._database.row("SELECT 1 FROM mode_snapshot WHERE hash = ?", (hash,)) is None:
                body = {"mode": name, "hash": hash, "snapshot": text}
                writer.record("mode.kept", body, actor=SYSTEM)
            id = f"r{secrets.token_hex(5)}"
            run = Run.start(id, mode.workflow, input, milliseconds(now), budget)
            record = RunRecord(id, 0, space, conversation, hash, mode, run, last="start")
            writer.record(
                "run.started",
                {"run": id, "mode": name, "hash": hash, "is": values(record)},
                actor=by,
                space=space,
                conversation=conversation,
            )
            return self.get(id)

    def step(
        self,
        id: str,
        event: Event,
        *,
        by: str,
        now: datetime,
        owner: str | None = None,
        note: str = "",
    ) -> Stepped:
        """Let something happen to a run; return the run and what the host has to do.

        A refusal is among what is to do, and then nothing happened but what the machine says.
        ``owner`` is the process that claims it, ``note`` what the model says of a stage that it
        completes. `InputError` for a sender who may not send that.
        """
        check_actor(by)
        if _role(by) not in _SENDERS[event.kind]:
            raise InputError(
                Problem(
                    "not-operator", f"{quoted(by)} cannot {event.kind} a run", "an operator can"
                )
            )
        with self._log.writing(now) as writer:
            return self._step(writer, self.get(id), event, by=by, now=now, owner=owner, note=note)

    def restart(self, *, now: datetime, gone: Callable[[str], bool]) -> tuple[RunRecord, ...]:
        """Take in that processes are gone: what was in flight is paused, nothing is replayed.

        Returns the runs that they had (S000-62).
        """
        # One that is over may be held still, by the turn that brought it to its end.
        where = "run.owner IS NOT NULL AND (run.claim IS NOT NULL OR run.state = 'running')"
        stale = [r for r in run_rows(self._database, where) if gone(r.owner or "")]
        found = []
        for record in stale:
            with self._log.writing(now) as writer:
                there = self.get(record.id)
                if there.owner is not None and gone(there.owner):
                    self._step(writer, there, Event(Kind.RESTART), by=SYSTEM, now=now)
                    found.append(self.get(record.id))
        return tuple(found)

    def look(self, approval: Approval, *, now: datetime) -> None:
        """What a stage asks for is what its artifacts are; there is nothing to look at again."""

    def decided(self, writer: Writer, approval: Approval, approve: bool, *, by: str) -> None:
        """Let a run that asked go on, or stay in its stage with the operator's words (S000-70)."""
        rows = run_rows(self._database, "run.approval = ?", (approval.id,))
        if not rows:
            return
        now = datetime.fromisoformat(writer.at)
        said = self._approvals.get(approval.id, now=now).feedback or ""
        event = Event(Kind.DECIDE, passed=approve, text=said)
        there, effects = self._step(writer, rows[0], event, by=by, now=now)
        if (why := refusal(effects)) is not None:
            # Nothing is decided then: what was asked for is still to be answered.
            raise StoreConflict(evolve(why, hint=f"`remit run resume {there.id}` first"), there)
        if approve:
            self._approvals.consume(writer, approval)

    def _step(
        self,
        writer: Writer,
        there: RunRecord,
        event: Event,
        *,
        by: str,
        now: datetime,
        owner: str | None = None,
        note: str = "",
    ) -> Stepped:
        event = evolve(event, now=milliseconds(now))
        made, effects = step(there.run, event)
        after = evolve(there, run=made)
        if event.kind is Kind.CLAIM and made.claim is not None and made.claim != there.run.claim:
            after = evolve(after, owner=owner, said=None)
        elif event.kind is Kind.RESTART or (made.state not in OPEN and made.claim is None):
            after = evolve(after, owner=None)
        if event.kind is Kind.COMPLETE and event.report is not None and made != there.run:
            after = evolve(after, report=dict(event.report))
        if made.why is None or made.why != there.run.why:
            after = evolve(after, approval=None)
        for effect in effects:
            after = self._own(writer, there, after, effect, now, note)
        changed(writer, there, after, event, by=by, note=note)
        for effect in effects:
            if effect.do is Do.RETURN:
                self._return(writer, after, effect.what, by)
        return self.get(there.id), effects

    def _own(
        self,
        writer: Writer,
        before: RunRecord,
        after: RunRecord,
        effect: Effect,
        now: datetime,
        note: str,
    ) -> RunRecord:
        """Do what is the store's to do: results of gates, approvals, and words kept for later."""
        if effect.do is Do.RECORD:
            stage, gate, outcome = effect.what.split(" ")
            body = {
                "run": before.id,
                "stage": stage,
                "gate": int(gate),
                "action": before.run.workflow.stages[stage].exit[int(gate)].action.value,
                "outcome": outcome,
                "evidence": effect.text,
            }
            writer.record(
                "gate.judged", body, actor=SYSTEM, space=before.space,
                conversation=before.conversation,
            )  # fmt: skip
        elif effect.do is Do.OPEN_APPROVAL:
            asked = self._approvals.ask(
                writer,
                ApprovalKind.STAGE,
                space=before.space,
                conversation=before.conversation,
                requested_by=f"agent:{before.conversation}",
                digest=digest([before.id, effect.what, after.run.revision]),
                shown=_shown(before, effect.what, note),
                now=now,
            )
            return evolve(after, approval=asked.id)
        elif effect.do is Do.SUPERSEDE_APPROVAL and before.approval is not None:
            found = self._approvals.settle(writer, before.approval, now)
            if found.state.open:
                self._approvals.supersede(writer, found, "the run went on without it")
        elif effect.do is Do.SAY:
            return evolve(after, said=effect.text)
        return after

    def _return(self, writer: Writer, record: RunRecord, mode: str, by: str) -> None:
        """Give the space the mode that a run returns to, unless it was given another meanwhile.

        Nobody but an operator leads a locked space out of its mode.
        """
        space = self._spaces.get(record.space)
        if space.mode != record.mode.workflow.name or (space.locked and not is_operator(by)):
            return
        flip(
            writer,
            self._database,
            space,
            self.home(mode),
            by=by if is_operator(by) else SYSTEM,
            why=f"run {record.id} is {record.run.state}",
            answer=self._spaces.answer(space.id, mode),
        )


def refusal(effects: tuple[Effect, ...]) -> Problem | None:
    """Return why a step was refused, None if it was not."""
    found = next((e for e in effects if e.do is Do.REFUSE), None)
    return None if found is None else Problem(found.what, found.text)


def _role(actor: str) -> str:
    return OPERATOR if is_operator(actor) else actor.partition(":")[0]


def _open(other: RunRecord) -> StoreConflict:
    return StoreConflict(
        Problem(
            "run-open",
            f"space `{other.space}` has an open run, `{other.id}`, in conversation "
            f"`{other.conversation}`",
            f"`remit chat --space {other.space} --resume` goes on with it, "
            f"`remit run stop {other.id}` ends it",
        ),
        other,
    )


def _shown(record: RunRecord, stage: str, note: str) -> str:
    paths = record.run.workflow.paths(record.id)
    wanted = [g.what for g in record.run.workflow.stages[stage].exit if g.what in paths]
    lines = [f"stage {stage} of {record.mode.workflow.name} is done, says the model", note.strip()]
    return "\n".join([*lines, *(f"{id}: {paths[id]}" for id in dict.fromkeys(wanted))])
