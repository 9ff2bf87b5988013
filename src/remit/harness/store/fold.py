"""Folding: what each kind of record does to the index tables, and the tables made anew from it.

Tables change in no other way than by a record that is folded as it is written, so a rebuild needs
no second account of what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import peewee

from remit.harness.store import schema
from remit.harness.store.events import Event
from remit.harness.store.schema import INDEXES, ApprovalRow, GrantRow, PlanRow, SpaceRow
from remit.policy.digest import canonical
from remit.policy.problems import Problem

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
    ).execute(db)


def _plan(db: peewee.Database, e: Event, **values: object) -> None:
    PlanRow.update(**values).where(PlanRow.id == e.body["plan"]).execute(db)


_FOLDS: Mapping[str, Callable[[peewee.Database, Event], None]] = MappingProxyType(
    {
        "space.made": _space_made,
        "mode.set": lambda db, e: _space(db, e, mode=e.body["mode"], revision=e.body["revision"]),
        "dial.set": lambda db, e: _space(db, e, dial=e.body["dial"]),
        "effects.set": lambda db, e: _space(db, e, effects=canonical(e.body["effects"])),
        "overlay.set": _overlay_set,
        "lock.set": lambda db, e: _space(db, e, locked=e.body["locked"]),
        "grant.added": _grant_added,
        "grant.bound": lambda db, e: _grant(db, e, tool_hash=e.body["tool_hash"]),
        "grant.revoked": lambda db, e: _grant(db, e, revoked_by=e.actor, revoked_at=e.at),
        "approval.opened": _approval_opened,
        "approval.decided": _approval_decided,
        "approval.used": lambda db, e: _approval(db, e, state="used", used_at=e.at),
        "approval.expired": lambda db, e: _approval(db, e, state="expired"),
        "approval.superseded": lambda db, e: _approval(db, e, state="superseded"),
        "plan.submitted": _plan_submitted,
        "plan.superseded": lambda db, e: _plan(db, e, state="superseded"),
        "plan.filed": lambda db, e: _plan(db, e, path=e.body["path"]),
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
