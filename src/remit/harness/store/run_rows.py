"""Rows of runs: how a run is read, and the one way in which it is changed within a transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from attrs import asdict, evolve, frozen

from remit.harness.store.database import Database
from remit.harness.store.events import SYSTEM
from remit.harness.store.log import Writer
from remit.policy.run import Claim, Effect, Event, Kind, Run, State, Why
from remit.policy.run_step import step
from remit.policy.staged import StagedMode
from remit.policy.workflow import Budget
from remit.profiles.snapshot import read_staged_snapshot

__all__ = [
    "RunRecord",
    "Stepped",
    "changed",
    "milliseconds",
    "open_run",
    "read_mode",
    "read_run",
    "run_rows",
    "switched",
    "values",
]


@frozen
class RunRecord:
    """A run as the store has it: the run itself, and where and by whom it is worked on.

    ``owner`` is the process that took it last. ``said`` is what the user is to have said when it is
    taken next: the words of a rejection. ``report`` is the model's last claim of its own work,
    ``last`` what happened to the run last.
    """

    id: str
    seq: int
    space: str
    conversation: str
    hash: str
    mode: StagedMode
    run: Run
    owner: str | None = None
    said: str | None = None
    report: Mapping[str, Any] | None = None
    approval: str | None = None
    last: str = ""
    started_by: str = ""
    started_at: str = ""


_STANDS = (
    "input", "stage", "state", "why", "budget", "turns", "tokens", "rounds", "failures", "judging",
    "fresh", "entered", "claim", "settled", "revision", "elapsed", "since", "owner", "said",
    "report", "approval", "last",
)  # fmt: skip
_SELECT = (
    "SELECT run.id, run.seq, run.space, run.conversation, run.hash, mode_snapshot.snapshot,"
    f" run.started_by, run.started_at, {', '.join(f'run.{c}' for c in _STANDS)}"
    " FROM run JOIN mode_snapshot ON mode_snapshot.hash = run.hash"
)
_OPEN = "run.state NOT IN ('finished', 'stopped')"


def run_rows(
    database: Database, where: str = "", params: tuple[object, ...] = ()
) -> list[RunRecord]:
    """Return runs, newest first."""
    condition = f" WHERE {where}" if where else ""
    return [
        _record(row) for row in database.rows(f"{_SELECT}{condition} ORDER BY run.seq DESC", params)
    ]


def read_run(database: Database, id: str) -> RunRecord | None:
    """Return a run, None where there is none."""
    return next(iter(run_rows(database, "run.id = ?", (id,))), None)


def open_run(database: Database, space: str) -> RunRecord | None:
    """Return the run of a space that is not over, None where there is none."""
    return next(iter(run_rows(database, f"run.space = ? AND {_OPEN}", (space,))), None)


@lru_cache(maxsize=64)
def read_mode(text: str) -> StagedMode:
    """Return the staged mode of a kept text, understood once."""
    return read_staged_snapshot(text)


def _record(row: tuple[Any, ...]) -> RunRecord:
    id, seq, space, conversation, hash, snapshot, by, at, *stands = row
    value = dict(zip(_STANDS, stands, strict=True))
    mode = read_mode(snapshot)
    claim = json.loads(value["claim"]) if value["claim"] else None
    run = Run(
        id,
        mode.workflow,
        value["input"],
        value["stage"],
        Budget(**json.loads(value["budget"])),
        State(value["state"]),
        value["why"] and Why(value["why"]),
        value["turns"],
        value["tokens"],
        value["rounds"],
        value["failures"],
        value["judging"],
        bool(value["fresh"]),
        tuple(json.loads(value["entered"])),
        claim and Claim(**claim),
        json.loads(value["settled"]),
        value["revision"],
        value["elapsed"],
        value["since"],
    )
    report = json.loads(value["report"]) if value["report"] else None
    rest = (value["owner"], value["said"], report, value["approval"], value["last"])
    return RunRecord(id, seq, space, conversation, hash, mode, run, *rest, by, at)


def values(record: RunRecord) -> dict[str, Any]:
    """Return how a run stands, as its records hold it."""
    run = record.run
    return {
        "input": run.input,
        "stage": run.stage,
        "state": run.state.value,
        "why": run.why and run.why.value,
        "budget": asdict(run.budget),
        "turns": run.turns,
        "tokens": run.tokens,
        "rounds": run.rounds,
        "failures": run.failures,
        "judging": run.judging,
        "fresh": run.fresh,
        "entered": list(run.entered),
        "claim": run.claim and asdict(run.claim),
        "settled": dict(run.settled),
        "revision": run.revision,
        "elapsed": run.elapsed,
        "since": run.since,
        "owner": record.owner,
        "said": record.said,
        "report": record.report,
        "approval": record.approval,
        "last": record.last,
    }


def changed(
    writer: Writer, before: RunRecord, after: RunRecord, event: Event, *, by: str, note: str = ""
) -> None:
    """Record what happened to a run; nothing where it stands as it stood."""
    if after.run == before.run:
        return
    after = evolve(after, last=event.kind.value)
    writer.record(
        "run.stepped",
        {"run": before.id, "event": _told(event, note), "is": values(after)},
        actor=by,
        space=before.space,
        conversation=before.conversation,
    )


def _told(event: Event, note: str) -> dict[str, Any]:
    """Return an event as the log holds it; artifacts by name alone, since files hold them."""
    plain = Event(event.kind)
    value = {
        key: found
        for key in (
            "turn",
            "host",
            "gate",
            "passed",
            "text",
            "outcome",
            "tokens",
            "queued",
            "input",
        )
        if (found := getattr(event, key)) != getattr(plain, key)
    }
    if event.budget is not None:
        value["budget"] = asdict(event.budget)
    if event.artifacts:
        value["artifacts"] = sorted(event.artifacts)
    if note:
        value["note"] = note
    return {"kind": event.kind.value, **value}


def switched(writer: Writer, database: Database, space: str, mode: str) -> None:
    """Record within a transaction that a space gets another mode: its run is paused (S000-67)."""
    there = open_run(database, space)
    if there is None or there.mode.workflow.name == mode:
        return
    event = Event(Kind.SWITCH, milliseconds(datetime.fromisoformat(writer.at)))
    made, _ = step(there.run, event)
    changed(writer, there, evolve(there, run=made), event, by=SYSTEM)


def milliseconds(now: datetime) -> int:
    """Return an aware time as the run's clock counts it."""
    return int(now.timestamp() * 1000)


#: What came of a step: the run as it is now, and what the host has to do.
Stepped = tuple[RunRecord, tuple[Effect, ...]]
