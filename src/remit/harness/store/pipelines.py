"""Pipelines under way: which step stands how, and who drives it.

A pipeline is kept whole as it was started. A step is one conversation: whoever goes on after a
crash goes on with that, so no step begins twice; a retry is a new attempt, by an operator.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from attrs import evolve, frozen

from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.log import Log, Writer
from remit.harness.store.names import PIPELINE, operates, sets_modes
from remit.harness.store.spaces import Spaces
from remit.policy.escape import escape, quoted
from remit.policy.pipeline import Pipeline, PipelineNode
from remit.policy.problems import InputError, Problem, near
from remit.policy.schedule import PipelineLimit, PipelineState, StepState, outcome

__all__ = ["PipelineRecord", "Pipelines", "StepRecord"]


@frozen
class StepRecord:
    """A step that has begun: its conversation, and what came of it."""

    key: str
    state: StepState
    attempt: int
    conversation: str
    output: str = ""
    error: str = ""
    at: str = ""


@frozen
class PipelineRecord:
    """A pipeline as the store has it; ``owner`` is the process that drives it, or did last."""

    id: str
    seq: int
    space: str
    pipeline: Pipeline
    state: PipelineState
    owner: str | None
    started_by: str
    started_at: str
    steps: Mapping[str, StepRecord]
    limit: PipelineLimit | None = None

    @property
    def states(self) -> dict[str, StepState]:
        """How each step that has begun stands."""
        return {key: step.state for key, step in self.steps.items()}

    @property
    def outputs(self) -> dict[str, str]:
        """What came of each step."""
        return {key: step.output for key, step in self.steps.items()}


_SELECT = "SELECT id, seq, space, value, state, owner, started_by, started_at FROM pipeline"
_STEPS = (
    "SELECT key, state, attempt, conversation, output, error, at FROM pipeline_step"
    " WHERE pipeline = ?"
)
_ATTEMPTS = "SELECT SUM(attempt) FROM pipeline_step WHERE pipeline = ?"
#: Says of an owner whether its process is surely over.
Gone = Callable[[str], bool]


class Pipelines:
    """The pipelines of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces
        #: A pipeline never changes, so it is read once; and the place of each of its steps.
        self._pipelines: dict[str, Pipeline] = {}
        self._limits: dict[str, PipelineLimit | None] = {}
        self._placed: dict[str, Mapping[str, int]] = {}

    def start(
        self,
        space: str,
        pipeline: Pipeline,
        *,
        by: str,
        now: datetime,
        id: str = "",
        limit: PipelineLimit | None = None,
    ) -> PipelineRecord:
        """Keep a pipeline that is to run in a space; one of that ``id`` is not started twice.

        No attempt of a step begins beyond ``limit``.
        """
        sets_modes(by)
        id = id or f"pl{secrets.token_hex(4)}"
        with self._log.writing(now) as writer:
            self._spaces.get(space)
            if self._row(id) is None:
                value = pipeline.value() | ({} if limit is None else {"limit": limit.value()})
                body = {"pipeline": id, "value": value, "digest": pipeline.digest}
                writer.record("pipeline.started", body, actor=by, space=space)
        return self.get(id)

    def claim(self, id: str, owner: str, *, now: datetime, gone: Gone) -> PipelineRecord:
        """Take a pipeline to drive it; `StoreConflict` if another process does, or it is over."""
        with self._log.writing(now) as writer:
            there = self.get(id)
            if there.state is not PipelineState.RUNNING:
                message, done = f"pipeline `{id}` is {there.state}", PipelineState.DONE
                hint = "" if there.state is done else f"`remit pipeline retry {id}` tries it anew"
                raise StoreConflict(Problem("pipeline-over", message, hint), there)
            if there.owner not in (None, owner) and not gone(there.owner):
                message = f"pipeline `{id}` is driven by another process"
                hint = "`remit pipeline show` tells how it stands"
                raise StoreConflict(Problem("pipeline-driven", message, hint), there)
            if there.owner != owner:
                self._move(writer, there.id, there.space, PipelineState.RUNNING, owner, PIPELINE)
        return self.get(id)

    def begin(self, id: str, key: str, owner: str, *, now: datetime) -> StepRecord:
        """Record that a step begins, or that it goes on where it was cut off.

        `StoreConflict` where another attempt is beyond the pipeline's limit.
        """
        with self._log.writing(now) as writer:
            space = self._driven(id, owner)
            known = self._stands(id, key)
            if known is not None and known.state in (StepState.RUNNING, StepState.DONE):
                return known
            place, limit = self._places(id)[key], self._limits.get(id)
            if limit is not None:
                made = self._database.row(_ATTEMPTS, (id,))
                if why := limit.spent(int(made[0] or 0), writer.at):
                    message = f"step {quoted(key)} of pipeline `{id}` does not begin: {why}"
                    raise StoreConflict(Problem("pipeline-budget", message), known)
            attempt = known.attempt + 1 if known else 1
            talk = f"{id}-{place}" + (f".{attempt}" if attempt > 1 else "")
            step = StepRecord(key, StepState.RUNNING, attempt, talk)
            self._step(writer, id, space, step)
        return step

    def end(
        self, id: str, key: str, owner: str, *, now: datetime, output: str = "", error: str = ""
    ) -> PipelineState:
        """Record what came of a step; return how the pipeline stands, which may be cancelled."""
        with self._log.writing(now) as writer:
            space = self._driven(id, owner)
            step = self._stands(id, key)
            if step is not None and step.state is StepState.RUNNING:
                state = StepState.FAILED if error else StepState.DONE
                self._step(writer, id, space, evolve(step, state=state, output=output, error=error))
            return PipelineState(self._row(id)[4])

    def over(self, id: str, owner: str, *, now: datetime) -> PipelineState:
        """Record how a pipeline ended, if no step of it can still come to anything."""
        with self._log.writing(now) as writer:
            self._driven(id, owner)
            there = self.get(id)
            state = outcome(there.pipeline, there.states)
            if there.state is not PipelineState.RUNNING or state is PipelineState.RUNNING:
                return there.state
            self._move(writer, id, there.space, state, None, PIPELINE)
        return state

    def leave(self, id: str, owner: str, *, now: datetime) -> None:
        """Let a pipeline go, for whoever drives it next."""
        with self._log.writing(now) as writer:
            there = self.get(id)
            if there.owner == owner:
                self._move(writer, there.id, there.space, there.state, None, PIPELINE)

    def cancel(self, id: str, *, by: str, now: datetime) -> PipelineRecord:
        """Have nothing more begin, and whoever drives it stop; one that is over stays as it is."""
        operates(by)
        with self._log.writing(now) as writer:
            there = self.get(id)
            if there.state is PipelineState.RUNNING:
                self._move(writer, there.id, there.space, PipelineState.CANCELLED, there.owner, by)
        return self.get(id)

    def retry(self, id: str, *, by: str, now: datetime, gone: Gone) -> PipelineRecord:
        """Let what failed or was cut off be tried anew; what is done stays done."""
        operates(by)
        with self._log.writing(now) as writer:
            there = self.get(id)
            if there.state is PipelineState.DONE:
                raise StoreConflict(
                    Problem("pipeline-over", f"pipeline `{id}` is done, nothing is to be tried"),
                    there,
                )
            if there.owner is not None and not gone(there.owner):
                message = f"pipeline `{id}` is driven by another process"
                raise StoreConflict(Problem("pipeline-driven", message, "cancel it first"), there)
            for step in there.steps.values():
                if step.state is not StepState.DONE:
                    anew = evolve(step, state=StepState.WAITING, error="")
                    self._step(writer, id, there.space, anew, by=by)
            self._move(writer, there.id, there.space, PipelineState.RUNNING, None, by)
        return self.get(id)

    def get(self, id: str) -> PipelineRecord:
        """Return a pipeline; raise `InputError` with near misses where there is none."""
        row = self._row(id)
        if row is None:
            known = [found[0] for found in self._database.rows("SELECT id FROM pipeline")]
            hint = near(id, known) or "`remit pipeline list` lists them"
            raise InputError(
                Problem("unknown-pipeline", f"there is no pipeline {quoted(id)}", hint)
            )
        return self._record(row)

    def list(self, space: str | None = None) -> tuple[PipelineRecord, ...]:
        """Return the pipelines of one space or of all, newest first."""
        where, params = ("", ()) if space is None else (" WHERE space = ?", (space,))
        rows = self._database.rows(f"{_SELECT}{where} ORDER BY seq DESC", params)
        return tuple(map(self._record, rows))

    def _row(self, id: str) -> Any:
        return self._database.row(f"{_SELECT} WHERE id = ?", (id,))

    def _record(self, row: Any) -> PipelineRecord:
        id, seq, space, value, state, owner, by, at = row
        if (pipeline := self._pipelines.get(id)) is None:
            whole = json.loads(value)
            pipeline = self._pipelines[id] = _pipeline(whole)
            said = whole.get("limit")
            self._limits[id] = None if said is None else PipelineLimit(**said)
        steps = {step.key: step for step in map(_step_of, self._database.rows(_STEPS, (id,)))}
        return PipelineRecord(id, seq, space, pipeline, PipelineState(state), owner, by, at, steps,
                              self._limits[id])  # fmt: skip

    def _driven(self, id: str, owner: str) -> str:
        """Return the space of a pipeline that this process drives; raises if it does not."""
        row = self._row(id)
        if row is None or row[5] != owner:
            message = f"pipeline `{id}` was taken by another process"
            raise StoreConflict(Problem("pipeline-driven", message), row)
        return str(row[2])

    def _stands(self, id: str, key: str) -> StepRecord | None:
        row = self._database.row(f"{_STEPS} AND key = ?", (id, key))
        return None if row is None else _step_of(row)

    def _places(self, id: str) -> Mapping[str, int]:
        if id not in self._placed:
            pipeline = self.get(id).pipeline
            self._placed[id] = {node.key: i for i, node in enumerate(pipeline.nodes)}
        return self._placed[id]

    def _move(
        self, writer: Writer, id: str, space: str, state: PipelineState, owner: str | None, by: str
    ) -> None:
        body = {"pipeline": id, "state": state.value, "owner": owner}
        writer.record("pipeline.moved", body, actor=by, space=space)

    def _step(
        self, writer: Writer, id: str, space: str, step: StepRecord, by: str = PIPELINE
    ) -> None:
        body = {
            "pipeline": id,
            "step": step.key,
            "state": step.state.value,
            "attempt": step.attempt,
            "conversation": step.conversation,
            "output": step.output,
            "error": escape(step.error, lines=True),
        }
        writer.record("pipeline.stepped", body, actor=by, space=space)


def _step_of(row: Any) -> StepRecord:
    key, state, *rest = row
    return StepRecord(key, StepState(state), *rest)


def _pipeline(value: Mapping[str, Any]) -> Pipeline:
    allowed = value["allowed"]
    return Pipeline(
        value["name"],
        tuple(PipelineNode(**node) for node in value["nodes"]),
        value["default"],
        None if allowed is None else tuple(allowed),
    )
