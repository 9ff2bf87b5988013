"""Reviews of spaces: findings as agents add them, what peers make of them, and verdicts."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from attrs import frozen

from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.log import Log
from remit.harness.store.names import check_actor, check_conversation
from remit.harness.store.spaces import Spaces
from remit.harness.store.switch import expected
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem, near
from remit.policy.review import (
    Axis,
    AxisVerdict,
    NodeStatus,
    ReviewNode,
    ReviewVerdict,
    stored_finding,
    verdict_of,
)

__all__ = ["FindingRecord", "Review", "Reviews"]


@frozen
class FindingRecord:
    """A finding as it stands: who made it, and which peers confirmed it."""

    id: str
    space: str
    conversation: str
    author: str
    node: ReviewNode
    status: NodeStatus
    confirmed_by: tuple[str, ...]
    added_at: str


@frozen
class Review:
    """The review of a space; ``dropped`` counts findings that could not be weighed.

    ``axes`` are those of the last time that it was finalised, ``finalized_at`` is when, None where
    it never was. ``verdict`` is of the findings as they are now, under these axes.
    """

    space: str
    findings: tuple[FindingRecord, ...]
    dropped: int
    axes: tuple[Axis, ...]
    verdict: ReviewVerdict
    finalized_at: str | None
    finalized_by: str | None


_SELECT = (
    "SELECT id, space, conversation, author, node, status, confirmed, added_at FROM review_node"
)


class Reviews:
    """The reviews of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces

    def add(
        self,
        space: str,
        conversation: str,
        node: ReviewNode,
        *,
        by: str,
        now: datetime,
        expect: int | None = None,
    ) -> FindingRecord:
        """Store a finding; it is open until a peer confirms it.

        ``expect``, here and below, is the revision of the mode that it was made in: if that was
        left meanwhile, `StoreConflict`, and nothing is stored.
        """
        check_actor(by)
        check_conversation(conversation)
        with self._log.writing(now) as writer:
            expected(self._spaces.get(space), expect)
            id = f"r{secrets.token_hex(5)}"
            body = {"node": id, "finding": node.value(), "status": NodeStatus.OPEN.value}
            writer.record("review.noted", body, actor=by, space=space, conversation=conversation)
        return self.finding(space, id)

    def confirm(
        self,
        space: str,
        conversation: str,
        id: str,
        *,
        by: str,
        now: datetime,
        expect: int | None = None,
    ) -> FindingRecord:
        """Record that a peer holds a finding true; `InputError` for its own author (S003-12)."""
        status = NodeStatus.CONSENSUS_READY
        return self._settle(space, conversation, id, status, by, now, "", expect)

    def dismiss(
        self,
        space: str,
        conversation: str,
        id: str,
        *,
        by: str,
        now: datetime,
        why: str,
        expect: int | None = None,
    ) -> FindingRecord:
        """Record that a peer, or an operator, holds a finding to be none; not its own author."""
        return self._settle(space, conversation, id, NodeStatus.DISMISSED, by, now, why, expect)

    def _settle(
        self,
        space: str,
        conversation: str,
        id: str,
        status: NodeStatus,
        by: str,
        now: datetime,
        why: str,
        expect: int | None,
    ) -> FindingRecord:
        check_actor(by)
        check_conversation(conversation)
        with self._log.writing(now) as writer:
            expected(self._spaces.get(space), expect)
            there = self.finding(space, id)
            if there.author == by:
                message = f"finding `{id}` is by {quoted(by)}, who cannot settle it"
                raise InputError(Problem("own-finding", message, "a peer confirms or dismisses it"))
            if not there.status.counts:
                message = f"finding `{id}` is {there.status} already"
                raise StoreConflict(Problem("finding-settled", message), there)
            if status is there.status and by in there.confirmed_by:
                return there
            peers = there.confirmed_by
            if status is NodeStatus.CONSENSUS_READY:
                peers = tuple(dict.fromkeys((*peers, by)))
            body = {"node": id, "status": status.value, "confirmed": list(peers), "why": why}
            writer.record("review.settled", body, actor=by, space=space, conversation=conversation)
        return self.finding(space, id)

    def finalize(
        self,
        space: str,
        conversation: str | None,
        axes: Iterable[Axis],
        *,
        by: str,
        now: datetime,
        expect: int | None = None,
    ) -> Review:
        """Record the verdict of the findings as they are, under these axes (S003-13)."""
        check_actor(by)
        given = tuple(axes)
        with self._log.writing(now) as writer:
            expected(self._spaces.get(space), expect)
            there = self.get(space)
            verdict = verdict_of(((f.node, f.status) for f in there.findings), given)
            body = {
                "verdict": verdict.value,
                "axes": [
                    {"name": a.name, "verdict": a.verdict.value, "gated": a.gated} for a in given
                ],
                "findings": len(there.findings),
                "dropped": there.dropped,
            }
            writer.record("review.finalized", body, actor=by, space=space,
                          conversation=conversation)  # fmt: skip
        return self.get(space)

    def get(self, space: str) -> Review:
        """Return the review of a space, empty where nobody found anything."""
        self._spaces.get(space)
        rows = self._database.rows(f"{_SELECT} WHERE space = ? ORDER BY seq", (space,))
        read = [_finding(row) for row in rows]
        findings = tuple(f for f in read if f is not None)
        row = self._database.row(
            "SELECT axes, at, by FROM review_verdict WHERE space = ?", (space,)
        )
        axes = tuple(
            Axis(a["name"], AxisVerdict(a["verdict"]), a["gated"])
            for a in (json.loads(row[0]) if row else ())
        )
        verdict = verdict_of(((f.node, f.status) for f in findings), axes)
        dropped = len(read) - len(findings)
        at, by = row[1:] if row else (None, None)
        return Review(space, findings, dropped, axes, verdict, at, by)

    def finding(self, space: str, id: str) -> FindingRecord:
        """Return a finding of a space; raise `InputError` with near misses where there is none."""
        review = self.get(space)
        for found in review.findings:
            if found.id == id:
                return found
        hint = near(id, [f.id for f in review.findings]) or f"`remit review show {space}` has them"
        message = f"space `{space}` has no finding {quoted(id)}"
        raise InputError(Problem("unknown-finding", message, hint))


def _finding(row: tuple[Any, ...]) -> FindingRecord | None:
    id, space, conversation, author, raw, status, confirmed, at = row
    node = stored_finding(json.loads(raw))
    if node is None:
        return None
    known = status in list(NodeStatus)
    # Whoever wrote the record, an author is no peer of its own.
    peers = tuple(p for p in json.loads(confirmed) if p != author)
    return FindingRecord(
        id, space, conversation, author, node,
        NodeStatus(status) if known else NodeStatus.OPEN, peers, at,
    )  # fmt: skip
