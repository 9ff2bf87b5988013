"""Carrying an approved orchestration out: each action once, in order, within the budget.

What an action came to is recorded after it. A crash in between does the action again, by its key,
so a platform makes nothing twice; a crash elsewhere goes on with the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from remit.harness.platform import EmbeddedPlatform, Platform
from remit.harness.store import (
    OrchestrationRecord,
    OrchestrationState,
    PipelineRecord,
    PlanState,
    Store,
    StoreConflict,
)
from remit.policy.digest import digest
from remit.policy.materialise import Act, Action, actions, orchestration_pipeline, plan_pipeline
from remit.policy.plan import NodeType, Plan
from remit.policy.problems import InputError, Problem
from remit.profiles.steps import step_modes

__all__ = ["carry_out", "carry_out_all", "start_plan"]


def carry_out(
    store: Store, id: str, clock: Callable[[], datetime], platform: Platform | None = None
) -> OrchestrationRecord:
    """Do what is left to do of an approved orchestration, and return it as it stands then.

    ``platform`` is the embedded one unless given. One that is not approved is a `StoreConflict`;
    one that was carried out, or stopped, is returned as it is. Once the minutes of its budget are
    over, counted from the approval, nothing more is done: it is stopped, and says so.
    """
    record = store.orchestrations.get(id)
    if record.state in (OrchestrationState.STARTED, OrchestrationState.STOPPED):
        return record
    if record.state is not OrchestrationState.APPROVED:
        message = f"orchestration `{id}` is {record.state}, so nothing of it is done"
        hint = "`remit approvals list` has what waits for an operator"
        raise StoreConflict(Problem("orchestration-decided", message, hint), record)
    modes = step_modes()
    todo = platform or EmbeddedPlatform(store, record, modes[NodeType.WORK], clock)
    done = dict(store.orchestrations.results(id))
    for action in actions(record.proposal, id):
        if action.key in done:
            continue
        if _over(record, clock()):
            minutes = record.proposal.budget.minutes
            why = f"the budget's {minutes} minutes were over before `{action.key}`"
            return store.orchestrations.end(id, why, now=clock())
        done[action.key] = _do(todo, record, action, done)
        store.orchestrations.acted(id, action.key, done[action.key], now=clock())
    return store.orchestrations.end(id, now=clock())


def carry_out_all(store: Store, clock: Callable[[], datetime]) -> tuple[OrchestrationRecord, ...]:
    """Carry out on the embedded platform whatever is approved and not done; a crash leaves some."""
    approved = OrchestrationState.APPROVED
    left = [r.id for r in store.orchestrations.list() if r.state is approved]
    return tuple(carry_out(store, id, clock) for id in reversed(left))


def start_plan(store: Store, id: str, *, by: str, now: datetime) -> PipelineRecord:
    """Start the pipeline of an approved plan in its space, once; a second time returns the first.

    `StoreConflict` for a plan that is not approved, `InputError` for one in words (S003-8).
    """
    record = store.plans.get(id)
    if not isinstance(record.plan, Plan):
        message = f"plan `{id}` is a text, which has no steps"
        raise InputError(Problem("plan-no-steps", message, "a graph of nodes has"))
    if record.state is not PlanState.APPROVED:
        message = f"plan `{id}` is {record.state}, so nothing of it is started"
        raise StoreConflict(
            Problem("plan-not-approved", message, "an operator approves it"), record
        )
    made = plan_pipeline(record.plan, id, step_modes())
    key = f"pl{digest(f'{id}/plan')[:16]}"
    return store.pipelines.start(record.space, made, by=by, now=now, id=key)


def _over(record: OrchestrationRecord, now: datetime) -> bool:
    minutes = record.proposal.budget.minutes
    if minutes is None or record.decided_at is None:
        return False
    return now >= datetime.fromisoformat(record.decided_at) + timedelta(minutes=minutes)


def _do(
    platform: Platform, record: OrchestrationRecord, action: Action, done: Mapping[str, str]
) -> str:
    body = action.filled(done)
    match action.act:
        case Act.HIRE:
            return platform.hire(action.key, body)
        case Act.CREATE_PROJECT:
            return platform.create_project(action.key, body)
        case Act.CREATE_TICKET:
            return platform.create_ticket(action.key, body)
        case Act.START_PIPELINE:
            hires = [a for a in actions(record.proposal, record.id) if a.act is Act.HIRE]
            agents = {a.body["role"]: done[a.key] for a in hires}
            made = orchestration_pipeline(record.proposal, record.id, step_modes(), agents)
            return platform.start_pipeline(action.key, body, made)
