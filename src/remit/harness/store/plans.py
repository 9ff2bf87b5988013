"""Plans: stored the moment they are submitted, filed, and decided on by an operator.

There are two kinds with one life: a graph of nodes, which is sealed, and a text, which an operator
may edit where it is filed. What is approved is what the operator was shown (S004-R2, S000-R8).
"""

from __future__ import annotations

import json
import os
import secrets
from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import frozen

from remit.harness.store.approvals import Approval, ApprovalKind, Approvals
from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.events import SYSTEM
from remit.harness.store.log import Log, Writer
from remit.harness.store.names import check_actor, check_conversation
from remit.harness.store.plan_file import PlanFileError, file_plan, read_plan_file
from remit.harness.store.spaces import Spaces
from remit.harness.store.switch import expected, flip
from remit.policy.digest import digest
from remit.policy.escape import quoted
from remit.policy.plan import NodeType, Plan, PlanNode, TextPlan, markdown, slug
from remit.policy.problems import InputError, Problem, near

__all__ = ["PlanRecord", "PlanState", "Plans", "Submitted"]

#: How often a file's name is tried with another number at its end.
_NAMES = 10_000


class PlanState(StrEnum):
    """How a plan stands: it waits for the operator, or what came of it."""

    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"

    @property
    def stands(self) -> bool:
        """Does it wait, or is it to be carried out: then submitting it again adds nothing."""
        return self in (PlanState.SUBMITTED, PlanState.APPROVED)


@frozen
class PlanRecord:
    """A submitted plan; ``path`` is where it is filed, None where it is not.

    ``text`` is what an operator is shown; one who approves it leads the space from ``mode`` to
    ``leave_to``, if that is a way out of it. ``approval`` is the request to the operator.
    """

    id: str
    seq: int
    space: str
    conversation: str
    author: str
    plan: Plan | TextPlan
    revision: int
    state: PlanState
    path: str | None
    digest: str
    submitted_at: str
    text: str
    mode: str | None
    leave_to: str | None
    approval: str | None

    @property
    def title(self) -> str:
        """What it is called in lists."""
        return self.plan.goal if isinstance(self.plan, Plan) else self.plan.title

    @property
    def sealed(self) -> bool:
        """May nobody change its file: a graph is carried out as it was submitted."""
        return isinstance(self.plan, Plan)

    @property
    def edited(self) -> bool:
        """Has an operator changed the text since it was submitted."""
        return isinstance(self.plan, TextPlan) and not _same(self.text, self.plan.whole)


@frozen
class Submitted:
    """A plan as it was stored, and why it was not filed, if it was to be."""

    plan: PlanRecord
    problem: Problem | None = None


_COLUMNS = (
    "id, seq, space, conversation, author, goal, nodes, revision, state, path, digest,"
    " submitted_at, text, mode, leave_to, approval"
)
_SELECT = f"SELECT {_COLUMNS} FROM plan"
_NEWEST = f"{_SELECT} WHERE space = ? AND conversation = ? ORDER BY revision DESC LIMIT 1"


def _record(row: tuple[Any, ...]) -> PlanRecord:
    id, seq, space, conversation, author, goal, raw, revision, state, path, sum, at, *rest = row
    text, title, nodes = rest[0] and json.loads(rest[0]), json.loads(goal), json.loads(raw)
    plan: Plan | TextPlan = (
        TextPlan(title, nodes)
        if isinstance(nodes, str)
        else Plan(title, tuple(PlanNode(**{**n, "type": NodeType(n["type"])}) for n in nodes))
    )
    return PlanRecord(
        id,
        seq,
        space,
        conversation,
        author,
        plan,
        revision,
        PlanState(state),
        path,
        sum,
        at,
        text or _whole(plan, id, revision),
        *rest[1:],
    )


def _whole(plan: Plan | TextPlan, id: str, revision: int) -> str:
    return plan.whole if isinstance(plan, TextPlan) else markdown(plan, id=id, revision=revision)


def _same(one: str, other: str) -> bool:
    """Say whether two texts differ in white space at ends of lines alone, or not at all."""
    return _lines(one) == _lines(other)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


class Plans:
    """The plans of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces, approvals: Approvals) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces
        self._approvals = approvals
        approvals.follows[ApprovalKind.PLAN] = self

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

    def of_approval(self, id: str) -> PlanRecord:
        """Return the plan that an approval is about."""
        return _record(self._database.row(f"{_SELECT} WHERE approval = ?", (id,)))

    def submit(
        self,
        space: str,
        conversation: str,
        plan: Plan | TextPlan,
        *,
        by: str,
        now: datetime,
        expect: int | None = None,
        leave_to: str | None = None,
    ) -> Submitted:
        """Store a plan, ask the operator about it, then file it as Markdown.

        It supersedes the conversation's earlier one, if that is not decided. ``expect`` is the
        revision of the mode that it was made in: if that was left meanwhile, `StoreConflict`, and
        nothing is stored. ``leave_to`` is where an approval leads.

        The row comes first, then the file, then the record that it is filed. A crash between them
        leaves a plan that is delivered and not filed, or filed and not said to be; submitting the
        same plan again takes up where that ended, and adds no revision. A space without a worktree
        files none; whatever else keeps a plan from being filed is told and undoes nothing.
        """
        check_actor(by)
        check_conversation(conversation)
        with self._log.writing(now) as writer:
            there = self._spaces.get(space)
            expected(there, expect)
            record = self.newest(space, conversation)
            if record is None or record.digest != plan.digest or not record.state.stands:
                id, revision = f"p{secrets.token_hex(5)}", record.revision + 1 if record else 1
                if record is not None and record.state is PlanState.SUBMITTED:
                    self._supersede(writer, record, by=by, by_plan=id)
                text = _whole(plan, id, revision)
                asked = self._approvals.ask(
                    writer,
                    ApprovalKind.PLAN,
                    space=space,
                    conversation=conversation,
                    requested_by=by,
                    digest=digest({"plan": id, "text": text}),
                    shown=text,
                    now=now,
                )
                graph = isinstance(plan, Plan)
                body = {
                    "plan": id,
                    "goal": plan.goal if isinstance(plan, Plan) else plan.title,
                    "nodes": plan.value()["nodes" if graph else "text"],
                    "revision": revision,
                    "digest": plan.digest,
                    "text": text,
                    "mode": there.mode,
                    "leave_to": leave_to,
                    "approval": asked.id,
                }
                writer.record(
                    "plan.submitted", body, actor=by, space=space, conversation=conversation
                )
                record = self.get(id)
        if there.worktree is None or record.path is not None:
            return Submitted(record)
        return self._file(record, there.worktree, now)

    def told(self, record: PlanRecord, *, now: datetime) -> None:
        """Record that whoever submitted a plan knows of its rejection: the same may come again."""
        with self._log.writing(now) as writer:
            if self.get(record.id).state is PlanState.REJECTED:
                self._supersede(writer, record, by=SYSTEM)

    def supersede(self, writer: Writer, space: str, conversation: str) -> None:
        """Record within a transaction that a message of the user took a plan's place (S004-7)."""
        record = self.newest(space, conversation)
        if record is not None and record.state is PlanState.SUBMITTED:
            self._supersede(writer, record, by=SYSTEM)

    def look(self, approval: Approval, *, now: datetime) -> None:
        """Read a plan's file again before it is approved.

        `StoreConflict` where it is not what was shown: an edited text is shown anew, a graph is
        refused until its file is as it was.
        """
        if not approval.state.open:
            return
        record = self.of_approval(approval.id)
        text = self._filed(record)
        if _same(text, record.text):
            return
        if record.sealed:
            raise _changed(record)
        with self._log.writing(now) as writer:
            self._write(writer, "plan.edited", record, {"text": text})
            bound = digest({"plan": record.id, "text": text})
            self._approvals.show(writer, approval, text, bound)
        raise StoreConflict(
            Problem(
                "plan-edited",
                f"plan `{record.id}` was edited since it was shown; it is shown anew",
                "read it again, then approve",
            ),
            self.get(record.id),
        )

    def decided(self, writer: Writer, approval: Approval, approve: bool, *, by: str) -> None:
        """Record what an operator decided; an approval leaves the mode in the same act (S003-8)."""
        record = self.of_approval(approval.id)
        if approve and not _same(self._filed(record), record.text):
            raise _changed(record)
        state = PlanState.APPROVED if approve else PlanState.REJECTED
        self._write(writer, "plan.decided", record, {"state": state.value}, by)
        if not approve:
            return
        self._approvals.consume(writer, approval)
        space = self._spaces.get(record.space)
        if record.leave_to is not None and space.mode == record.mode:
            flip(
                writer,
                self._database,
                space,
                record.leave_to,
                by=by,
                why=f"plan {record.id} approved",
                approval=approval.id,
                conversation=record.conversation,
            )

    def _filed(self, record: PlanRecord) -> str:
        """Return a plan's text as it is filed now, as it was shown where there is no file."""
        if record.path is None:
            return record.text
        folder, name = os.path.split(record.path)
        worktree = os.path.dirname(os.path.dirname(folder))
        try:
            text = read_plan_file(worktree, name)
        except PlanFileError as error:
            raise StoreConflict(error.problems[0], record) from error
        if text is None and record.sealed:
            raise _changed(record)
        return record.text if text is None else text

    def _supersede(
        self, writer: Writer, record: PlanRecord, *, by: str, by_plan: str | None = None
    ) -> None:
        self._write(writer, "plan.superseded", record, {"by_plan": by_plan}, by)
        if record.approval is not None and record.state is PlanState.SUBMITTED:
            why = "another plan took its place" if by_plan else "the user went on without it"
            body = {"approval": record.approval, "why": why}
            self._write(writer, "approval.superseded", record, body)

    def _write(
        self, writer: Writer, kind: str, record: PlanRecord, body: dict[str, Any], by: str = SYSTEM
    ) -> None:
        whole = body if "approval" in body else {"plan": record.id, **body}
        writer.record(kind, whole, actor=by, space=record.space, conversation=record.conversation)

    def _file(self, record: PlanRecord, worktree: str, now: datetime) -> Submitted:
        # Of when it was submitted, so that filing it again finds the file of before a crash.
        at = datetime.fromisoformat(record.submitted_at).astimezone()
        stem = f"{at:%Y%m%d-%H%M}-{slug(record.title)}"
        for number in range(1, _NAMES + 1):
            name = f"{stem}.md" if number == 1 else f"{stem}-{number}.md"
            try:
                path = file_plan(worktree, name, record.text)
            except PlanFileError as error:
                if error.problems[0].code == "plan-file-exists" and number < _NAMES:
                    continue
                return Submitted(record, error.problems[0])
            break
        with self._log.writing(now) as writer:
            if self.get(record.id).path is None:
                self._write(writer, "plan.filed", record, {"path": path})
            return Submitted(self.get(record.id))


def _changed(record: PlanRecord) -> StoreConflict:
    return StoreConflict(
        Problem(
            "plan-changed",
            f"the file of plan `{record.id}` is not what was submitted: `{record.path}`",
            f"`remit plans show {record.id}` tells what was; reject it and ask for another plan",
        ),
        record,
    )
