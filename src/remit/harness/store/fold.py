"""Folding: what each kind of record does to the index tables, and the tables made anew from it.

Tables change in no other way than by a record that is folded as it is written, so a rebuild needs
no second account of what happened.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import peewee

from remit.harness.store import schema
from remit.harness.store.events import Event
from remit.harness.store.schema import (
    INDEXES,
    ApprovalRow,
    ConversationRow,
    GateRow,
    GrantRow,
    ItemRow,
    ModeRow,
    OrchestrationActionRow,
    OrchestrationRow,
    PipelineRow,
    PlanRow,
    ProfileRow,
    ReviewNodeRow,
    ReviewRow,
    RunRow,
    SpaceRow,
)
from remit.policy.digest import canonical
from remit.policy.problems import Problem
from remit.policy.tasks import ACTIVATED, CLEARED, TICKED

__all__ = ["FOLDED", "differences", "fold", "refill"]


def _space_made(db: peewee.Database, e: Event) -> None:
    body = e.body
    SpaceRow.insert(
        id=e.space,
        mode=body["mode"],
        kind=body["kind"],
        worktree=body["worktree"],
        dial=body["dial"],
        remote=body["remote"],
        revision=1,
        created=e.at,
        effects="[]",
        locked=False,
    ).execute(db)


def _space(db: peewee.Database, e: Event, **values: object) -> None:
    SpaceRow.update(**values).where(SpaceRow.id == e.space).execute(db)


def _mode_set(db: peewee.Database, e: Event) -> None:
    _space(db, e, mode=e.body["mode"], revision=e.body["revision"], left_by=e.conversation)


def _conversation_made(db: peewee.Database, e: Event) -> None:
    body = e.body
    ConversationRow.insert(
        id=e.conversation,
        seq=e.seq,
        space=e.space,
        parent=body["parent"],
        child=body["child"],
        depth=body["depth"],
        mode=body["mode"],
        revision=body["revision"],
        turn=0,
        step=0,
        open=False,
        told=_text(body["told"]),
        plan=_text(body["plan"]),
        # The first conversations handed on none.
        overlay=_text(body.get("overlay")),
    ).execute(db)


def _conversation(db: peewee.Database, e: Event, **values: object) -> None:
    ConversationRow.update(**values).where(ConversationRow.id == e.conversation).execute(db)


def _branch_moved(db: peewee.Database, e: Event) -> None:
    body = e.body
    _conversation(
        db,
        e,
        mode=body["mode"],
        revision=body["revision"],
        told=_text(body["told"]),
        telling=None,
        plan=_text(body["plan"]),
    )


def _turn_opened(db: peewee.Database, e: Event) -> None:
    body = e.body
    _conversation(
        db,
        e,
        turn=body["turn"],
        step=0,
        open=True,
        owner=body["owner"],
        turn_overlay=_text(body["overlay"]),
    )


def _mode_flushed(db: peewee.Database, e: Event) -> None:
    _conversation(db, e, mode=e.body["mode"], revision=e.body["revision"])


def _step_framed(db: peewee.Database, e: Event) -> None:
    # The request before it came back, or there would be no other one.
    came = peewee.fn.COALESCE(ConversationRow.telling, ConversationRow.told)
    _conversation(db, e, step=e.body["step"], told=came, telling=_text(e.body["telling"]))


def _notice(db: peewee.Database, e: Event) -> None:
    if e.body["told"] is not None:
        _conversation(db, e, told=_text(e.body["told"]))


def _turn_closed(db: peewee.Database, e: Event) -> None:
    told: Any = ConversationRow.told
    if e.body["came"]:
        told = peewee.fn.COALESCE(ConversationRow.telling, ConversationRow.told)
    _conversation(db, e, open=False, owner=None, turn_overlay=None, told=told, telling=None)


def _plan_ticked(db: peewee.Database, e: Event) -> None:
    query = ConversationRow.select(ConversationRow.plan).where(ConversationRow.id == e.conversation)
    ((text,),) = query.tuples().execute(db)
    plan = json.loads(text)
    _conversation(db, e, plan=_text({**plan, "ticked": sorted({*plan["ticked"], e.body["task"]})}))


def _profile_kept(db: peewee.Database, e: Event) -> None:
    body = e.body
    ProfileRow.delete().where(ProfileRow.mode == body["mode"]).execute(db)
    ProfileRow.insert(mode=body["mode"], hash=body["hash"], profile=body["profile"]).execute(db)


def _text(value: object) -> str | None:
    return None if value is None else canonical(value)


def _overlay_set(db: peewee.Database, e: Event) -> None:
    overlay = e.body["overlay"]
    _space(db, e, overlay=None if overlay is None else canonical(overlay))


def _grant_added(db: peewee.Database, e: Event) -> None:
    body = e.body
    GrantRow.insert(
        id=body["grant"],
        seq=e.seq,
        space=e.space,
        tool=body["tool"],
        tool_hash=body["tool_hash"],
        mode=body["mode"],
        args=body["args"],
        effect=body["effect"],
        target=body["target"],
        added_by=e.actor,
        added_at=e.at,
    ).execute(db)


def _grant(db: peewee.Database, e: Event, **values: object) -> None:
    GrantRow.update(**values).where(GrantRow.id == e.body["grant"]).execute(db)


def _approval_opened(db: peewee.Database, e: Event) -> None:
    body = e.body
    ApprovalRow.insert(
        id=body["approval"],
        seq=e.seq,
        kind=body["kind"],
        space=e.space,
        conversation=e.conversation,
        requested_by=e.actor,
        state="pending",
        digest=body["digest"],
        revision=body["revision"],
        shown=body["shown"],
        expires_at=body["expires_at"],
        opened_at=e.at,
    ).execute(db)


def _approval(db: peewee.Database, e: Event, **values: object) -> None:
    ApprovalRow.update(**values).where(ApprovalRow.id == e.body["approval"]).execute(db)


def _approval_decided(db: peewee.Database, e: Event) -> None:
    _approval(
        db,
        e,
        state=e.body["state"],
        decided_by=e.actor,
        feedback=e.body["feedback"],
        decided_at=e.at,
    )


def _plan_submitted(db: peewee.Database, e: Event) -> None:
    body = e.body
    PlanRow.insert(
        id=body["plan"],
        seq=e.seq,
        space=e.space,
        conversation=e.conversation,
        author=e.actor,
        goal=canonical(body["goal"]),
        nodes=canonical(body["nodes"]),
        revision=body["revision"],
        state="submitted",
        digest=body["digest"],
        submitted_at=e.at,
        # Plans of the first versions were not decided on.
        text=_text(body.get("text")),
        mode=body.get("mode"),
        leave_to=body.get("leave_to"),
        approval=body.get("approval"),
    ).execute(db)


def _plan(db: peewee.Database, e: Event, **values: object) -> None:
    PlanRow.update(**values).where(PlanRow.id == e.body["plan"]).execute(db)


def _mode_kept(db: peewee.Database, e: Event) -> None:
    ModeRow.insert(**{key: e.body[key] for key in ("hash", "mode", "snapshot")}).execute(db)


#: Of how a run stands, what is text in JSON.
_RUN_TEXTS = ("budget", "entered", "claim", "settled", "report")


def _run_values(value: Mapping[str, Any]) -> dict[str, Any]:
    return {**value, **{key: _text(value[key]) for key in _RUN_TEXTS}}


def _run_started(db: peewee.Database, e: Event) -> None:
    body = e.body
    RunRow.insert(
        id=body["run"],
        seq=e.seq,
        space=e.space,
        conversation=e.conversation,
        mode=body["mode"],
        hash=body["hash"],
        started_by=e.actor,
        started_at=e.at,
        **_run_values(body["is"]),
    ).execute(db)


def _run_stepped(db: peewee.Database, e: Event) -> None:
    values = _run_values(e.body["is"])
    RunRow.update(**values).where(RunRow.id == e.body["run"]).execute(db)


def _gate_judged(db: peewee.Database, e: Event) -> None:
    body = e.body
    id = f"{body['run']}/{body['stage']}/{body['gate']}"
    GateRow.delete().where(GateRow.id == id).execute(db)
    GateRow.insert(id=id, at=e.at, **body).execute(db)


def _review_noted(db: peewee.Database, e: Event) -> None:
    ReviewNodeRow.insert(
        id=e.body["node"],
        seq=e.seq,
        space=e.space,
        conversation=e.conversation,
        author=e.actor,
        node=canonical(e.body["finding"]),
        status=e.body["status"],
        confirmed="[]",
        added_at=e.at,
    ).execute(db)


def _review_settled(db: peewee.Database, e: Event) -> None:
    body = e.body
    ReviewNodeRow.update(status=body["status"], confirmed=canonical(body["confirmed"])).where(
        ReviewNodeRow.id == body["node"]
    ).execute(db)


def _review_finalized(db: peewee.Database, e: Event) -> None:
    ReviewRow.delete().where(ReviewRow.space == e.space).execute(db)
    ReviewRow.insert(
        space=e.space,
        verdict=e.body["verdict"],
        axes=canonical(e.body["axes"]),
        by=e.actor,
        at=e.at,
    ).execute(db)


def _orchestration_proposed(db: peewee.Database, e: Event) -> None:
    body = e.body
    OrchestrationRow.insert(
        id=body["orchestration"],
        seq=e.seq,
        space=e.space,
        conversation=e.conversation,
        author=e.actor,
        proposal=canonical(body["proposal"]),
        revision=body["revision"],
        state="proposed",
        digest=body["digest"],
        proposed_at=e.at,
        approval=body["approval"],
    ).execute(db)


def _orchestration(db: peewee.Database, e: Event, **values: object) -> None:
    OrchestrationRow.update(**values).where(OrchestrationRow.id == e.body["orchestration"]).execute(
        db
    )


def _orchestration_acted(db: peewee.Database, e: Event) -> None:
    OrchestrationActionRow.insert(**e.body, at=e.at).execute(db)


def _item_made(db: peewee.Database, e: Event) -> None:
    body = e.body
    ItemRow.insert(
        key=body["key"],
        id=body["id"],
        seq=e.seq,
        act=body["act"],
        body=canonical(body["body"]),
        made_at=e.at,
    ).execute(db)


def _pipeline_started(db: peewee.Database, e: Event) -> None:
    PipelineRow.insert(
        id=e.body["pipeline"],
        seq=e.seq,
        space=e.space,
        value=canonical(e.body["value"]),
        state="running",
        started_by=e.actor,
        started_at=e.at,
    ).execute(db)


def _pipeline_moved(db: peewee.Database, e: Event) -> None:
    values = {"state": e.body["state"], "owner": e.body["owner"]}
    PipelineRow.update(**values).where(PipelineRow.id == e.body["pipeline"]).execute(db)


_STEP = ("pipeline", "state", "attempt", "conversation", "output", "error")
_STEP_INSERT = (
    f"INSERT INTO pipeline_step (id, key, at, {', '.join(_STEP)})"
    f" VALUES (?{', ?' * (2 + len(_STEP))})"
)


def _pipeline_stepped(db: peewee.Database, e: Event) -> None:
    body = dict(e.body)
    key = body.pop("step")
    id = f"{body['pipeline']}/{key}"
    values = (id, key, e.at, *(body[column] for column in _STEP))
    # Written out: a pipeline of a thousand steps has two thousand of these.
    schema.sql(db, "DELETE FROM pipeline_step WHERE id = ?", (id,))
    schema.sql(db, _STEP_INSERT, values)


_FOLDS: Mapping[str, Callable[[peewee.Database, Event], None]] = MappingProxyType(
    {
        "space.made": _space_made,
        "mode.set": _mode_set,
        "dial.set": lambda db, e: _space(db, e, dial=e.body["dial"]),
        "effects.set": lambda db, e: _space(db, e, effects=canonical(e.body["effects"])),
        "overlay.set": _overlay_set,
        "conversation.made": _conversation_made,
        "conversation.overlay": lambda db, e: _conversation(
            db, e, overlay=_text(e.body["overlay"])
        ),
        "branch.moved": _branch_moved,
        "turn.opened": _turn_opened,
        "mode.flushed": _mode_flushed,
        "step.framed": _step_framed,
        "notice": _notice,
        "turn.closed": _turn_closed,
        "profile.kept": _profile_kept,
        "lock.set": lambda db, e: _space(db, e, locked=e.body["locked"]),
        "grant.added": _grant_added,
        "grant.bound": lambda db, e: _grant(db, e, tool_hash=e.body["tool_hash"]),
        "grant.revoked": lambda db, e: _grant(db, e, revoked_by=e.actor, revoked_at=e.at),
        "approval.opened": _approval_opened,
        "approval.decided": _approval_decided,
        "approval.shown": lambda db, e: _approval(
            db, e, shown=e.body["shown"], digest=e.body["digest"]
        ),
        "approval.used": lambda db, e: _approval(db, e, state="used", used_at=e.at),
        "approval.expired": lambda db, e: _approval(db, e, state="expired"),
        "approval.superseded": lambda db, e: _approval(db, e, state="superseded"),
        "plan.submitted": _plan_submitted,
        "plan.superseded": lambda db, e: _plan(db, e, state="superseded"),
        ACTIVATED: lambda db, e: _conversation(db, e, plan=_text({**e.body, "ticked": []})),
        TICKED: _plan_ticked,
        CLEARED: lambda db, e: _conversation(db, e, plan=None),
        "plan.edited": lambda db, e: _plan(db, e, text=_text(e.body["text"])),
        "plan.decided": lambda db, e: _plan(db, e, state=e.body["state"]),
        "review.noted": _review_noted,
        "review.settled": _review_settled,
        "review.finalized": _review_finalized,
        "orchestration.proposed": _orchestration_proposed,
        "orchestration.superseded": lambda db, e: _orchestration(
            db, e, state="superseded", why=e.body["by_proposal"]
        ),
        "orchestration.decided": lambda db, e: _orchestration(
            db, e, state=e.body["state"], decided_at=e.at, decided_by=e.actor
        ),
        "orchestration.acted": _orchestration_acted,
        "orchestration.ended": lambda db, e: _orchestration(
            db, e, state=e.body["state"], why=e.body["why"]
        ),
        "item.made": _item_made,
        "plan.filed": lambda db, e: _plan(db, e, path=e.body["path"]),
        "mode.kept": _mode_kept,
        "run.started": _run_started,
        "run.stepped": _run_stepped,
        "gate.judged": _gate_judged,
        "pipeline.started": _pipeline_started,
        "pipeline.moved": _pipeline_moved,
        "pipeline.stepped": _pipeline_stepped,
    }
)

#: The kinds of records that change a table.
FOLDED = frozenset(_FOLDS)


def fold(db: peewee.Database, event: Event) -> None:
    """Change the index tables as a record says; many kinds change none."""
    if (change := _FOLDS.get(event.kind)) is not None:
        change(db, event)


def refill(db: peewee.Database, events: Iterable[Event]) -> None:
    """Empty the index tables and fold the records into them."""
    for table in reversed(INDEXES):
        table.delete().execute(db)
    for event in events:
        fold(db, event)


def differences(db: peewee.Database, events: Iterable[Event]) -> list[Problem]:
    """Fold the records into fresh tables, and name each row that is not as it is in the store."""
    fresh = peewee.SqliteDatabase(":memory:", thread_safe=False, check_same_thread=False)
    with fresh.connection_context():
        schema.create(fresh, INDEXES)
        for event in events:
            try:
                fold(fresh, event)
            except (peewee.PeeweeException, LookupError, TypeError) as error:
                return [
                    Problem(
                        "log-unfit",
                        f"record {event.seq} (`{event.kind}`) does not fit those before it: "
                        f"{str(error).lower()}",
                    )
                ]
        return [problem for table in INDEXES for problem in _compare(table, fresh, db)]


def _compare(
    table: type[peewee.Model], fresh: peewee.Database, db: peewee.Database
) -> Iterable[Problem]:
    name = table._meta.table_name
    columns = ", ".join(f'"{c}"' for c in table._meta.columns)
    wanted, there = (
        {row[0]: row for row in schema.sql(d, f'SELECT {columns} FROM "{name}"').fetchall()}
        for d in (fresh, db)
    )
    for key in sorted({*wanted, *there}, key=str):
        if key not in there:
            what = "is missing"
        elif key not in wanted:
            what = "is in no record"
        elif wanted[key] != there[key]:
            what = "differs"
        else:
            continue
        yield Problem(
            "index-differs",
            f"row `{key}` of `{name}` {what}",
            "`remit log rebuild` makes the tables from the log",
        )
