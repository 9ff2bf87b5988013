"""Plans: stored with a revision the moment they are submitted, then filed in the worktree."""

from __future__ import annotations

import json
import secrets
from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import frozen

from remit.harness.store.database import Database
from remit.harness.store.log import Log
from remit.harness.store.names import check_actor, check_conversation
from remit.harness.store.plan_file import file_plan
from remit.harness.store.spaces import Spaces
from remit.harness.store.switch import expected
from remit.policy.escape import quoted
from remit.policy.plan import NodeType, Plan, PlanNode, markdown
from remit.policy.problems import InputError, Problem, RemitError, near

__all__ = ["PlanRecord", "PlanState", "Plans", "Submitted"]


class PlanState(StrEnum):
    """How a plan stands; a decision on one comes with the issue that runs it."""

    SUBMITTED = "submitted"
    SUPERSEDED = "superseded"


@frozen
class PlanRecord:
    """A submitted plan; ``path`` is where it is filed, None where it is not."""

    id: str
    seq: int
    space: str
    conversation: str
    author: str
    plan: Plan
    revision: int
    state: PlanState
    path: str | None
    digest: str
    submitted_at: str


@frozen
class Submitted:
    """A plan as it was stored, and why it was not filed, if it was to be."""

    plan: PlanRecord
    problem: Problem | None = None


_COLUMNS = (
    "id, seq, space, conversation, author, goal, nodes, revision, state, path, digest, submitted_at"
)
_SELECT = f"SELECT {_COLUMNS} FROM plan"
_NEWEST = f"{_SELECT} WHERE space = ? AND conversation = ? ORDER BY revision DESC LIMIT 1"


def _record(row: tuple[Any, ...]) -> PlanRecord:
    id, seq, space, conversation, author, goal, nodes, revision, state, *rest = row
    plan = Plan(
        json.loads(goal),
        tuple(PlanNode(**{**node, "type": NodeType(node["type"])}) for node in json.loads(nodes)),
    )
    return PlanRecord(id, seq, space, conversation, author, plan, revision, PlanState(state), *rest)


class Plans:
    """The plans of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces

    def get(self, id: str) -> PlanRecord:
        """Return a plan; raise `InputError` with near misses where there is none."""
        row = self._database.row(f"{_SELECT} WHERE id = ?", (id,))
        if row is None:
            known = [r[0] for r in self._database.rows("SELECT id FROM plan")]
            hint = near(id, known) or "`remit plans list` lists them"
            raise InputError(Problem("unknown-plan", f"there is no plan {quoted(id)}", hint))
        return _record(row)

    def list(self, space: str | None = None) -> tuple[PlanRecord, ...]:
        """Return plans, newest first: of one space, or all."""
        if space is not None:
            self._spaces.get(space)
        where, params = ("", ()) if space is None else (" WHERE space = ?", (space,))
        rows = self._database.rows(f"{_SELECT}{where} ORDER BY seq DESC", params)
        return tuple(map(_record, rows))

    def newest(self, space: str, conversation: str) -> PlanRecord | None:
        """Return the latest plan of a conversation, None where there is none."""
        row = self._database.row(_NEWEST, (space, conversation))
        return None if row is None else _record(row)

    def submit(
        self,
        space: str,
        conversation: str,
        plan: Plan,
        *,
        by: str,
        now: datetime,
        expect: int | None = None,
    ) -> Submitted:
        """Store a plan, superseding the conversation's earlier one, then file it as Markdown.

        ``expect`` is the revision of the mode that it was made in: if that was left meanwhile,
        `StoreConflict`, and nothing is stored.

        The row comes first, then the file, then the record that it is filed. A crash between them
        leaves a plan that is delivered and not filed, or filed and not said to be; submitting the
        same plan again takes up where that ended, and adds no revision. A space without a worktree
        files none; whatever else keeps a plan from being filed is told and undoes nothing.

        ``expect`` is the revision of the mode that the caller is in: if that was left meanwhile,
        `StoreConflict`.
        """
        check_actor(by)
        check_conversation(conversation)
        with self._log.writing(now) as writer:
            there = self._spaces.get(space)
            expected(there, expect)
            record = self.newest(space, conversation)
            if record is None or record.digest != plan.digest:
                id, earlier = f"p{secrets.token_hex(5)}", record
                body = {
                    **plan.value(),
                    "plan": id,
                    "revision": 1 + (earlier.revision if earlier else 0),
                    "digest": plan.digest,
                }
                where = {"actor": by, "space": space, "conversation": conversation}
                if earlier is not None:
                    gone = {"plan": earlier.id, "by_plan": id}
                    writer.record("plan.superseded", gone, **where)
                writer.record("plan.submitted", body, **where)
                record = self.get(id)
        if there.worktree is None or record.path is not None:
            return Submitted(record)
        return self._file(record, there.worktree, now)

    def _file(self, record: PlanRecord, worktree: str, now: datetime) -> Submitted:
        text = markdown(record.plan, id=record.id, revision=record.revision)
        try:
            path = file_plan(worktree, f"{record.id}.md", text)
        except RemitError as error:
            return Submitted(record, error.problems[0])
        with self._log.writing(now) as writer:
            if self.get(record.id).path is None:
                writer.record(
                    "plan.filed",
                    {"plan": record.id, "path": path},
                    actor="system",
                    space=record.space,
                    conversation=record.conversation,
                )
            return Submitted(self.get(record.id))
