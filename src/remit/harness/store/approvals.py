"""Approvals: what an operator decides, once, and what is then used, once (design section 6)."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from attrs import evolve, frozen

from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.events import SYSTEM, is_operator, stamp
from remit.harness.store.log import Log, Writer
from remit.harness.store.names import check_actor, check_conversation
from remit.harness.store.spaces import Spaces
from remit.harness.store.switch import turn
from remit.policy.escape import escape, quoted
from remit.policy.problems import InputError, Problem, near
from remit.policy.vocabulary import Dial

__all__ = ["CALL_TIME", "Approval", "ApprovalKind", "ApprovalState", "Approvals", "Follows"]

#: How long the approval of a call can be decided and used, from when it was opened.
CALL_TIME = timedelta(minutes=30)


class ApprovalKind(StrEnum):
    """What is asked of the operator."""

    PLAN_EXIT = "plan_exit"
    CALL = "call"
    QUESTION = "question"
    PLAN = "plan"
    STAGE = "stage"
    ORCHESTRATION = "orchestration"


class ApprovalState(StrEnum):
    """How an approval stands; the first two are open, the others final."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    USED = "used"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"

    @property
    def open(self) -> bool:
        """Can it still be decided or used."""
        return self in (ApprovalState.PENDING, ApprovalState.APPROVED)


@frozen
class Approval:
    """One request to an operator; times are UTC text, ``shown`` is escaped and is all of it."""

    id: str
    seq: int
    kind: ApprovalKind
    space: str
    conversation: str
    requested_by: str
    state: ApprovalState
    digest: str
    revision: int
    shown: str
    expires_at: str | None
    decided_by: str | None
    feedback: str | None
    opened_at: str
    decided_at: str | None
    used_at: str | None

    def at(self, now: datetime) -> Approval:
        """Return it as it stands at a time: expired, if nobody recorded that yet."""
        over = self.state.open and self.expires_at is not None and self.expires_at <= stamp(now)
        return evolve(self, state=ApprovalState.EXPIRED) if over else self


class Follows(Protocol):
    """What an operator's decision on a kind of approval leads to, in the same transaction."""

    def look(self, approval: Approval, *, now: datetime) -> None:
        """Raise `StoreConflict` if what the operator saw is not what there is any more."""

    def decided(self, writer: Writer, approval: Approval, approve: bool, *, by: str) -> None:
        """Do what the decision means."""


_COLUMNS = (
    "id, seq, kind, space, conversation, requested_by, state, digest, revision, shown, expires_at,"
    " decided_by, feedback, opened_at, decided_at, used_at"
)
_SELECT = f"SELECT {_COLUMNS} FROM approval"
_GET = f"{_SELECT} WHERE id = ?"
_NEWEST = f"{_SELECT} WHERE space = ? AND conversation = ? AND kind = ?"


def _approval(row: tuple[Any, ...]) -> Approval:
    id, seq, kind, space, conversation, by, state, *rest = row
    return Approval(
        id, seq, ApprovalKind(kind), space, conversation, by, ApprovalState(state), *rest
    )


class Approvals:
    """The approvals of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces
        #: By kind, what a decision leads to; who serves a kind says so.
        self.follows: dict[ApprovalKind, Follows] = {}

    def get(self, id: str, *, now: datetime) -> Approval:
        """Return an approval; raise `InputError` with near misses where there is none."""
        row = self._database.row(_GET, (id,))
        if row is None:
            raise self._unknown(id)
        return _approval(row).at(now)

    def list(
        self, *, now: datetime, space: str | None = None, state: ApprovalState | None = None
    ) -> tuple[Approval, ...]:
        """Return approvals, newest first: of one space or all, in one state or any."""
        if space is not None:
            self._spaces.get(space)
        where, params = ("", ()) if space is None else (" WHERE space = ?", (space,))
        rows = self._database.rows(f"{_SELECT}{where} ORDER BY seq DESC", params)
        found = [_approval(row).at(now) for row in rows]
        return tuple(a for a in found if state is None or a.state is state)

    def find(
        self,
        space: str,
        conversation: str,
        kind: ApprovalKind,
        *,
        now: datetime,
        digest: str | None = None,
    ) -> Approval | None:
        """Return the newest of a kind in a conversation, with a digest if one is given."""
        bound, digests = ("", ()) if digest is None else (" AND digest = ?", (digest,))
        row = self._database.row(
            f"{_NEWEST}{bound} ORDER BY seq DESC LIMIT 1",
            (space, conversation, ApprovalKind(kind).value, *digests),
        )
        return None if row is None else _approval(row).at(now)

    def open(
        self,
        kind: ApprovalKind,
        *,
        space: str,
        conversation: str,
        requested_by: str,
        digest: str,
        shown: str,
        now: datetime,
    ) -> Approval:
        """Ask an operator; one that is open for the same digest is returned and none is added.

        The one returned may have been approved meanwhile: then it can be used.
        """
        check_conversation(conversation)
        check_actor(requested_by)
        kind = ApprovalKind(kind)
        with self._log.writing(now) as writer:
            found = self.find(space, conversation, kind, now=now, digest=digest)
            if found is not None and found.state.open:
                return found
            if found is not None:
                self.settle(writer, found.id, now)
            return self.ask(
                writer,
                kind,
                space=space,
                conversation=conversation,
                requested_by=requested_by,
                digest=digest,
                shown=shown,
                now=now,
            )

    def decide(
        self,
        id: str,
        approve: bool,
        *,
        by: str,
        now: datetime,
        feedback: str | None = None,
        dial: Dial | None = None,
    ) -> Approval:
        """Approve or reject as an operator, and set the space's dial with an approval.

        The same decision again changes nothing. `StoreConflict` tells of another outcome: the
        opposite decision, expiry, supersession.
        """
        check_actor(by)
        if not is_operator(by):
            raise InputError(
                Problem("not-operator", f"{quoted(by)} cannot decide", "an operator decides")
            )
        # Whatever else a host hands on, a text or a number, is no yes.
        if not isinstance(approve, bool):
            raise InputError(
                Problem("wrong-type", f"a decision is true or false, not `{approve!r}`")
            )
        follows = self.follows.get(self.get(id, now=now).kind)
        if follows is not None and approve:
            follows.look(self.get(id, now=now), now=now)
        with self._log.writing(now) as writer:
            there = self.settle(writer, id, now)
            if there.requested_by == by:
                raise InputError(
                    Problem(
                        "own-request",
                        f"approval `{id}` was requested by {quoted(by)}, who cannot decide it",
                        "another operator decides",
                    )
                )
            if there.state is ApprovalState.PENDING:
                state = ApprovalState.APPROVED if approve else ApprovalState.REJECTED
                said = None if feedback is None else escape(feedback, lines=True)
                self._record(writer, "decided", there, by, state=state.value, feedback=said)
                if dial is not None and approve:
                    turn(writer, self._spaces.get(there.space), Dial(dial), by=by)
                if follows is not None:
                    follows.decided(writer, there, approve, by=by)
                return self.get(id, now=now)
        approved = there.state in (ApprovalState.APPROVED, ApprovalState.USED)
        if (approve and approved) or (not approve and there.state is ApprovalState.REJECTED):
            return there
        raise _conflict(there)

    def use(self, id: str, *, now: datetime) -> Approval:
        """Consume an approved one, exactly once, before what it allows is done.

        `StoreConflict` if it is not approved, or if it was used, has expired or was superseded.
        """
        with self._log.writing(now) as writer:
            there = self.settle(writer, id, now)
            if there.state is ApprovalState.APPROVED:
                self._record(writer, "used", there, there.requested_by)
                return self.get(id, now=now)
        raise _conflict(there)

    def expire(self, *, now: datetime) -> tuple[Approval, ...]:
        """Record the end of every approval whose time is over, and return those."""
        rows = self._database.rows(
            f"{_SELECT} WHERE state IN ('pending', 'approved') AND expires_at <= ? ORDER BY seq",
            (stamp(now),),
        )
        if not rows:
            return ()
        with self._log.writing(now) as writer:
            return tuple(self.settle(writer, row[0], now) for row in rows)

    def settle(self, writer: Writer, id: str, now: datetime) -> Approval:
        """Return an approval within a transaction, its expiry recorded if it is due."""
        row = self._database.row(_GET, (id,))
        if row is None:
            raise self._unknown(id)
        there = _approval(row)
        if there.at(now) is not there:
            self._record(writer, "expired", there, SYSTEM)
        return there.at(now)

    def ask(
        self,
        writer: Writer,
        kind: ApprovalKind,
        *,
        space: str,
        conversation: str,
        requested_by: str,
        digest: str,
        shown: str,
        now: datetime,
    ) -> Approval:
        """Open an approval within a transaction that has looked for an open one."""
        id = _fresh()
        writer.record(
            "approval.opened",
            {
                "approval": id,
                "kind": kind.value,
                "digest": digest,
                "revision": self._spaces.get(space).revision,
                "shown": escape(shown, lines=True),
                "expires_at": stamp(now + CALL_TIME) if kind is ApprovalKind.CALL else None,
            },
            actor=requested_by,
            space=space,
            conversation=conversation,
        )
        return self.get(id, now=now)

    def consume(self, writer: Writer, approval: Approval) -> None:
        """Record within a transaction that an approval was used."""
        self._record(writer, "used", approval, approval.requested_by)

    def show(self, writer: Writer, approval: Approval, shown: str, digest: str) -> None:
        """Record within a transaction that what is asked for changed; it is shown anew."""
        shown = escape(shown, lines=True)
        self._record(writer, "shown", approval, SYSTEM, shown=shown, digest=digest)

    def supersede(self, writer: Writer, approval: Approval, why: str) -> None:
        """Record within a transaction that what an approval was for is gone."""
        self._record(writer, "superseded", approval, SYSTEM, why=why)

    def _record(
        self, writer: Writer, what: str, approval: Approval, actor: str, **body: object
    ) -> None:
        writer.record(
            f"approval.{what}",
            {"approval": approval.id, **body},
            actor=actor,
            space=approval.space,
            conversation=approval.conversation,
        )

    def _unknown(self, id: str) -> InputError:
        known = [row[0] for row in self._database.rows("SELECT id FROM approval")]
        return InputError(
            Problem(
                "unknown-approval",
                f"there is no approval {quoted(id)}",
                near(id, known) or "`remit approvals list` lists them",
            )
        )


def _fresh() -> str:
    return f"a{secrets.token_hex(5)}"


def _conflict(there: Approval) -> StoreConflict:
    by = f" by `{there.decided_by}`" if there.decided_by and there.state != "superseded" else ""
    told = {
        ApprovalState.PENDING: f"approval `{there.id}` is still pending",
        ApprovalState.APPROVED: f"approval `{there.id}` was approved{by} already",
        ApprovalState.REJECTED: f"approval `{there.id}` was rejected{by} already",
        ApprovalState.USED: f"approval `{there.id}` was approved{by} and used already",
        ApprovalState.EXPIRED: f"approval `{there.id}` expired at {there.expires_at}",
        ApprovalState.SUPERSEDED: f"approval `{there.id}` was superseded: what it was for is gone",
    }
    hint = {
        ApprovalState.PENDING: "an operator decides it first",
        ApprovalState.EXPIRED: "the same call opens a new one",
        ApprovalState.SUPERSEDED: "the same call opens a new one",
    }
    return StoreConflict(
        Problem(f"approval-{there.state}", told[there.state], hint.get(there.state, "")), there
    )
