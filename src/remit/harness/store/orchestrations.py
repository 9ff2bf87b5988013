"""Orchestrations: proposed by agents, decided on by an operator, and how far each was carried out.

Nothing of one is done before its approval, which no agent gives (S003-16). What was done is kept
by the key of each action, so whoever takes over after a crash does nothing twice.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import frozen

from remit.harness.store.approvals import Approval, ApprovalKind, Approvals
from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.events import SYSTEM, is_operator
from remit.harness.store.log import Log, Writer
from remit.harness.store.names import check_actor, check_conversation
from remit.harness.store.spaces import Spaces
from remit.harness.store.switch import expected
from remit.policy.cooldown import Proposed, too_soon
from remit.policy.digest import digest
from remit.policy.escape import quoted
from remit.policy.orchestration import (
    Orchestration,
    goal_key,
    orchestration_markdown,
    stored_orchestration,
)
from remit.policy.problems import InputError, Problem, near

__all__ = ["OrchestrationRecord", "OrchestrationState", "Orchestrations"]


class OrchestrationState(StrEnum):
    """How an orchestration stands; an approved one is to be carried out, a started one was."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    STARTED = "started"
    STOPPED = "stopped"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


@frozen
class OrchestrationRecord:
    """A proposal as it was made; ``approval`` is the request to the operator.

    ``decided_at`` is when an operator decided, from when its budget's minutes count; ``why`` says
    why it was stopped, or names the proposal that superseded it.
    """

    id: str
    space: str
    conversation: str
    author: str
    proposal: Orchestration
    revision: int
    state: OrchestrationState
    digest: str
    proposed_at: str
    approval: str
    decided_at: str | None
    decided_by: str | None
    why: str | None

    @property
    def shown(self) -> str:
        """What an operator is shown: all of it."""
        return orchestration_markdown(self.proposal, id=self.id, revision=self.revision)


_SELECT = (
    "SELECT id, space, conversation, author, proposal, revision, state, digest, proposed_at,"
    " approval, decided_at, decided_by, why FROM orchestration"
)


def _record(row: tuple[Any, ...]) -> OrchestrationRecord:
    id, space, conversation, author, raw, revision, state, *rest = row
    proposal = stored_orchestration(json.loads(raw))
    return OrchestrationRecord(
        id, space, conversation, author, proposal, revision, OrchestrationState(state), *rest
    )


class Orchestrations:
    """The orchestrations of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces, approvals: Approvals) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces
        self._approvals = approvals
        approvals.follows[ApprovalKind.ORCHESTRATION] = self

    def get(self, id: str) -> OrchestrationRecord:
        """Return one; raise `InputError` with near misses where there is none."""
        row = self._database.row(f"{_SELECT} WHERE id = ?", (id,))
        if row is None:
            known = [r[0] for r in self._database.rows("SELECT id FROM orchestration")]
            hint = near(id, known) or "`remit orchestrations list` lists them"
            message = f"there is no orchestration {quoted(id)}"
            raise InputError(Problem("unknown-orchestration", message, hint))
        return _record(row)

    def list(self, space: str | None = None) -> tuple[OrchestrationRecord, ...]:
        """Return orchestrations, newest first: of one space, or all."""
        if space is not None:
            self._spaces.get(space)
        where, params = ("", ()) if space is None else (" WHERE space = ?", (space,))
        rows = self._database.rows(f"{_SELECT}{where} ORDER BY seq DESC", params)
        return tuple(map(_record, rows))

    def propose(
        self,
        space: str,
        conversation: str,
        proposal: Orchestration,
        *,
        by: str,
        now: datetime,
        revises: str | None = None,
        expect: int | None = None,
    ) -> OrchestrationRecord:
        """Store a proposal and ask the operator about it; the same again adds nothing.

        It takes the place of what it ``revises``, and of what else waits in the space for the same
        goal. ``expect`` is the revision of the mode that it was made in. `StoreConflict` where that
        was left, where what it would revise is decided, and within the cooldown (S003-17).
        """
        check_actor(by)
        check_conversation(conversation)
        with self._log.writing(now) as writer:
            expected(self._spaces.get(space), expect)
            before = self.list(space)
            named = None if revises is None else self._named(space, revises, before)
            there = tuple(r for r in before if _alike(r, proposal) or r is named)
            for record in there:
                if record.digest == proposal.digest and record.state is not _SUPERSEDED:
                    return record
            self._refuse(there, named, proposal, space, by, now)
            id = f"o{secrets.token_hex(5)}"
            waiting = [r for r in there if r.state is OrchestrationState.PROPOSED]
            for record in waiting:
                self._write(writer, "superseded", record, {"by_proposal": id}, by)
                asked = self._approvals.get(record.approval, now=now)
                self._approvals.supersede(writer, asked, "another proposal took its place")
            lines = [r.revision for r in there if r is named or r in waiting]
            revision = max(lines, default=0) + 1
            shown = orchestration_markdown(proposal, id=id, revision=revision)
            approval = self._approvals.ask(
                writer,
                ApprovalKind.ORCHESTRATION,
                space=space,
                conversation=conversation,
                requested_by=by,
                digest=digest({"orchestration": id, "proposal": proposal.value()}),
                shown=shown,
                now=now,
            )
            body = {
                "orchestration": id,
                "proposal": proposal.value(),
                "revision": revision,
                "digest": proposal.digest,
                "approval": approval.id,
            }
            writer.record(
                "orchestration.proposed", body, actor=by, space=space, conversation=conversation
            )
            return self.get(id)

    def _named(
        self, space: str, id: str, known: tuple[OrchestrationRecord, ...]
    ) -> OrchestrationRecord:
        for record in known:
            if record.id == id:
                return record
        hint = near(id, [r.id for r in known]) or "leave `revises` out to propose something new"
        message = f"space `{space}` has no orchestration {quoted(id)}"
        raise InputError(Problem("unknown-orchestration", message, hint, path="revises"))

    def _refuse(
        self,
        there: tuple[OrchestrationRecord, ...],
        named: OrchestrationRecord | None,
        proposal: Orchestration,
        space: str,
        by: str,
        now: datetime,
    ) -> None:
        """Raise `StoreConflict` where a proposal may not be made now."""
        under_way = (OrchestrationState.APPROVED,)
        done = (OrchestrationState.STARTED, OrchestrationState.STOPPED, *under_way)
        for record in there:
            if record.state in (done if record is named else under_way):
                message = f"orchestration `{record.id}` is {record.state}, so it is not revised"
                hint = "propose what is left to do as a goal of its own, without `revises`"
                raise StoreConflict(Problem("orchestration-decided", message, hint), record)
        if named is not None and named.state is _SUPERSEDED:
            message = f"orchestration `{named.id}` was superseded by `{named.why}`"
            hint = f"revise `{named.why}`"
            raise StoreConflict(Problem("orchestration-decided", message, hint), named)
        if is_operator(by):
            return
        earlier = (
            Proposed(
                r.id,
                r.space,
                r.proposal.goal,
                datetime.fromisoformat(r.proposed_at),
                by_agent=not is_operator(r.author),
                answered=r.state is OrchestrationState.REJECTED,
            )
            for r in there
        )
        wait = too_soon(earlier, space, proposal.goal, now, None if named is None else named.id)
        if wait is not None:
            raise StoreConflict(wait, there[0])

    def look(self, approval: Approval, *, now: datetime) -> None:
        """Do nothing: what is shown is all that there is, and it does not change."""

    def decided(self, writer: Writer, approval: Approval, approve: bool, *, by: str) -> None:
        """Record what an operator decided; an approved one is to be carried out from now on."""
        row = self._database.row(f"{_SELECT} WHERE approval = ?", (approval.id,))
        record = _record(row)
        state = OrchestrationState.APPROVED if approve else OrchestrationState.REJECTED
        self._write(writer, "decided", record, {"state": state.value}, by)
        if approve:
            self._approvals.consume(writer, approval)

    def results(self, id: str) -> Mapping[str, str]:
        """Return what the actions that were done came to, by their keys."""
        rows = self._database.rows(
            "SELECT action, result FROM orchestration_action WHERE orchestration = ?", (id,)
        )
        return dict(rows)

    def acted(self, id: str, action: str, result: str, *, now: datetime) -> None:
        """Record that a platform did an action; one that was recorded before stays as it is."""
        with self._log.writing(now) as writer:
            if action not in self.results(id):
                self._write(writer, "acted", self.get(id), {"action": action, "result": result})

    def end(self, id: str, why: str | None = None, *, now: datetime) -> OrchestrationRecord:
        """Record that an approved one is carried out, or with a reason that it was stopped."""
        state = OrchestrationState.STARTED if why is None else OrchestrationState.STOPPED
        with self._log.writing(now) as writer:
            record = self.get(id)
            if record.state is OrchestrationState.APPROVED:
                self._write(writer, "ended", record, {"state": state.value, "why": why})
            return self.get(id)

    def _write(
        self,
        writer: Writer,
        what: str,
        record: OrchestrationRecord,
        body: dict[str, Any],
        by: str = SYSTEM,
    ) -> None:
        writer.record(
            f"orchestration.{what}",
            {"orchestration": record.id, **body},
            actor=by,
            space=record.space,
            conversation=record.conversation,
        )


_SUPERSEDED = OrchestrationState.SUPERSEDED


def _alike(record: OrchestrationRecord, proposal: Orchestration) -> bool:
    return goal_key(record.proposal.goal) == goal_key(proposal.goal)
