"""Leaving a mode by approval: asked for once, granted once, and used by the flip (S003-10)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from attrs import frozen

from remit.harness.store.approvals import Approval, ApprovalKind, Approvals, ApprovalState
from remit.harness.store.database import Database
from remit.harness.store.log import Log
from remit.harness.store.names import check_actor, check_conversation, check_mode
from remit.harness.store.space import Space
from remit.harness.store.spaces import Spaces
from remit.harness.store.switch import expected, flip, unlocked
from remit.policy.digest import digest

__all__ = ["Exit", "ExitState", "Exits"]


class ExitState(StrEnum):
    """How a request to leave a mode stands."""

    LEFT = "left"
    PENDING = "pending"
    #: The space is in the mode asked for already, and no approval was touched.
    THERE = "there"


@frozen
class Exit:
    """The answer to a request to leave: the space as it is now, and the approval if one counts."""

    state: ExitState
    space: Space
    approval: Approval | None = None


class Exits:
    """Exits of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces, approvals: Approvals) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces
        self._approvals = approvals

    def request(
        self,
        space: str,
        conversation: str,
        to: str,
        *,
        by: str,
        now: datetime,
        expect: int | None = None,
        shown: str = "",
    ) -> Exit:
        """Ask to leave for a mode, or leave if an operator has granted it: one act, never two.

        The first request opens an approval; requests stay pending and open no second one until it
        is decided; the first after the grant consumes it and flips the space in one transaction;
        the first after a rejection opens a fresh one. ``expect`` is the revision of the mode that
        the caller is in: if that was left meanwhile, `StoreConflict`. A grant for another way out
        is superseded, not used. A locked space is not left, nor asked about: `StoreConflict`.
        """
        check_mode(to)
        check_actor(by)
        check_conversation(conversation)
        with self._log.writing(now) as writer:
            there = self._spaces.get(space)
            if there.mode == to:
                return Exit(ExitState.THERE, there)
            expected(there, expect)
            unlocked(there)
            kind = ApprovalKind.PLAN_EXIT
            bound = digest({"exit": to, "revision": there.revision})
            found = self._approvals.find(space, conversation, kind, now=now)
            if found is not None and found.state.open and found.digest != bound:
                self._approvals.supersede(writer, found, f"another way out was asked for: {to}")
                found = None
            if found is not None and found.state is ApprovalState.PENDING:
                return Exit(ExitState.PENDING, there, found)
            if found is not None and found.state is ApprovalState.APPROVED:
                self._approvals.consume(writer, found)
                flip(
                    writer,
                    self._database,
                    there,
                    to,
                    by=by,
                    why=f"exit approved by {found.decided_by}",
                    approval=found.id,
                    conversation=conversation,
                )
                used = self._approvals.get(found.id, now=now)
                return Exit(ExitState.LEFT, self._spaces.get(space), used)
            opened = self._approvals.ask(
                writer,
                kind,
                space=space,
                conversation=conversation,
                requested_by=by,
                digest=bound,
                shown=shown or f"leave {there.mode} mode for {to} in space {space}",
                now=now,
            )
            return Exit(ExitState.PENDING, there, opened)
