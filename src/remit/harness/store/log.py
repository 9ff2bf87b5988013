"""The one log: append-only, chained by hashes, anchored beside the database (design section 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import peewee
from attrs import frozen

from remit.harness.store.anchor import GENESIS, Head
from remit.harness.store.count import Count
from remit.harness.store.database import Database
from remit.harness.store.errors import StoreError
from remit.harness.store.events import COLUMNS, KINDS, SYSTEM, Event, event_hash, stamp
from remit.harness.store.fold import FOLDED, differences, fold, refill
from remit.harness.store.names import check_actor, check_conversation
from remit.harness.store.schema import sql
from remit.policy.digest import canonical
from remit.policy.problems import Problem

__all__ = ["Log", "Rebuilt", "Verified", "Writer"]

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM event"
_INSERT = f"INSERT INTO event ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_HEAD = "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1"


@frozen
class Verified:
    """What a look at the whole log found.

    ``anchored`` is the last record that the anchor names; the log may be some records ahead of it,
    which is what a crash leaves. ``problem`` names the first record that is broken or missing.
    ``missing`` decisions were counted by their turns and are not there; of ``cut`` turns, which
    ended with their process, nobody counted, so the last moment's may be missing.
    """

    records: int
    anchored: int
    problem: Problem | None = None
    missing: int = 0
    cut: int = 0

    @property
    def ok(self) -> bool:
        """Is the log whole."""
        return self.problem is None

    @property
    def ahead(self) -> int:
        """How many records came after the one that the anchor names."""
        return max(0, self.records - self.anchored)


@frozen
class Rebuilt:
    """What folding the log into fresh tables found: a problem for each row that differs."""

    records: int
    problems: tuple[Problem, ...] = ()

    @property
    def equal(self) -> bool:
        """Are the tables what the log says."""
        return not self.problems


class Writer:
    """One transaction on the log: records go in, and the tables follow them."""

    def __init__(self, db: peewee.Database, head: Head, now: datetime) -> None:
        self._db = db
        self.head = head
        self.at = stamp(now)

    def record(
        self,
        kind: str,
        body: Mapping[str, Any],
        *,
        actor: str,
        space: str | None = None,
        conversation: str | None = None,
    ) -> Event:
        """Append one record of a kind of `KINDS` and fold it into the tables."""
        if kind not in KINDS:
            raise ValueError(f"no kind of record: {kind}")
        seq, text = self.head.seq + 1, canonical(body)
        parts = (seq, self.at, kind, space, conversation, actor, text, self.head.hash)
        own = event_hash(*parts)
        sql(self._db, _INSERT, (*parts, own))
        event = Event.of((*parts, own))
        fold(self._db, event)
        self.head = Head(seq, own)
        return event


class Log:
    """The log of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._anchor = database.anchor

    @property
    def anchored(self) -> bool:
        """Does this machine hold the log against an anchor."""
        return self._anchor.read() is not None

    @contextmanager
    def writing(self, now: datetime) -> Iterator[Writer]:
        """Write records in one transaction; the anchor follows its commit.

        Refused where the log ends before its anchor or does not hold what that names: whoever cut
        it would otherwise be hidden by what is written next.
        """
        with self._anchor.held() as fd:
            with self._database.writing() as db:
                row = sql(db, _HEAD).fetchone()
                head = Head(*row) if row else Head()
                writer = Writer(db, head, now)
                anchored = self._anchor.head(fd)
                if anchored is not None:
                    self._check(db, head, anchored)
                elif head.seq:
                    writer.record("anchor.made", {"seq": head.seq}, actor=SYSTEM)
                else:
                    self._anchor.advance(fd, head)
                yield writer
            # Also where nothing was written: a crash may have left the anchor behind.
            if writer.head != anchored:
                self._anchor.advance(fd, writer.head)

    def _check(self, db: peewee.Database, head: Head, anchored: Head) -> None:
        if anchored == head:
            return
        problem = self._cut(head.seq, anchored)
        if problem is None and anchored.seq:
            found = sql(db, "SELECT hash FROM event WHERE seq = ?", (anchored.seq,))
            row = found.fetchone()
            if row is None or row[0] != anchored.hash:
                problem = self._other(anchored)
        if problem is not None:
            raise StoreError(problem)

    def _cut(self, last: int, anchored: Head) -> Problem | None:
        if last >= anchored.seq:
            return None
        missing = (
            f"record {anchored.seq} is"
            if last + 1 == anchored.seq
            else f"records {last + 1} to {anchored.seq} are"
        )
        return Problem(
            "log-cut",
            f"{missing} missing at the end of the log, by its anchor `{self._anchor.path}`",
            "put the newest copy of the database back; to go on with an older one on purpose, "
            "remove the anchor, and the log will say so",
        )

    def _other(self, anchored: Head) -> Problem:
        return Problem(
            "log-changed",
            f"record {anchored.seq} is not the one that the anchor `{self._anchor.path}` names",
            "`remit log verify` names the first broken record",
        )

    def record(
        self,
        kind: str,
        body: Mapping[str, Any],
        *,
        actor: str,
        now: datetime,
        space: str | None = None,
        conversation: str | None = None,
    ) -> Event:
        """Append one record of a kind that changes no table, such as ``decision``."""
        if kind in FOLDED:
            raise ValueError(f"records of this kind are written by what they tell of: {kind}")
        check_actor(actor)
        check_conversation(conversation)
        with self.writing(now) as writer:
            return writer.record(kind, body, actor=actor, space=space, conversation=conversation)

    def head(self) -> int:
        """Return the number of the last record, 0 where there is none."""
        row = self._database.row(_HEAD)
        return int(row[0]) if row else 0

    def holds(self, head: Head) -> bool:
        """Say whether a record is there as it was written."""
        return (
            self._database.row(
                "SELECT 1 FROM event WHERE seq = ? AND hash = ?", (head.seq, head.hash)
            )
            is not None
        )

    def any(self, after: int, last: int, but: Collection[str] = ()) -> bool:
        """Say whether there is a record after a number, up to another, not of the kinds ``but``."""
        if last <= after or not but:
            return last > after
        marks = ", ".join("?" * len(but))
        where = f"seq > ? AND seq <= ? AND kind NOT IN ({marks})"
        query = f"SELECT 1 FROM event WHERE {where} LIMIT 1"
        return self._database.row(query, (after, last, *but)) is not None

    def read(
        self,
        space: str | None = None,
        after: int = 0,
        *,
        kinds: Collection[str] = (),
        limit: int | None = None,
    ) -> list[Event]:
        """Return records in order, those after a number, of one space or all, of some kinds."""
        where, params = "seq > ?", [after, *(() if space is None else (space,)), *kinds]
        if space is not None:
            where += " AND space = ?"
        if kinds:
            where += f" AND kind IN ({', '.join('?' * len(kinds))})"
        query = f"{_SELECT} WHERE {where} ORDER BY seq"
        if limit is not None:
            query, params = f"{query} LIMIT ?", [*params, limit]
        return list(map(_event, self._database.rows(query, params)))

    def verify(self) -> Verified:
        """Recompute every hash, and hold the end against the anchor."""
        # The anchor first: what is written meanwhile leaves the log ahead of it, never behind.
        anchored = self._anchor.read()
        with self._database.reading() as db:
            seq, prev, problem, count = 0, GENESIS, None, Count()
            for row in sql(db, f"{_SELECT} ORDER BY seq"):
                problem = _wrong(row, seq + 1, prev)
                if problem is None and anchored and seq + 1 == anchored.seq != 0:
                    problem = None if row[-1] == anchored.hash else self._other(anchored)
                if problem is not None:
                    break
                seq, prev = seq + 1, row[-1]
                count.take(*row[2:7])
        if problem is None and anchored is not None:
            problem = self._cut(seq, anchored)
        elif problem is None and seq:
            problem = Problem(
                "anchor-missing",
                f"the log's anchor `{self._anchor.path}` is missing, so its end may have been cut",
                "put it back; if it cannot be, the next record will say that it was made anew",
            )
        last = anchored.seq if anchored else 0
        return Verified(seq, last, problem, count.missing, count.cut)

    def rebuild(self, *, check: bool = True) -> Rebuilt:
        """Fold the log into fresh tables and compare; without ``check`` those replace the old."""
        kinds = sorted(FOLDED)
        if check:
            with self._database.reading() as db:
                events = self.read(kinds=kinds)
                return Rebuilt(len(events), tuple(differences(db, events)))
        with self._database.writing() as db:
            events = self.read(kinds=kinds)
            found = tuple(differences(db, events))
            if any(p.code == "log-unfit" for p in found):
                raise StoreError(found)
            refill(db, events)
        return Rebuilt(len(events), found)


def _event(row: tuple[Any, ...]) -> Event:
    try:
        return Event.of(row)
    except ValueError as error:
        raise StoreError(
            Problem(
                "log-broken",
                f"record {row[0]} cannot be read",
                "`remit log verify` names the first broken record",
            )
        ) from error


def _wrong(row: tuple[Any, ...], seq: int, prev: str) -> Problem | None:
    if row[0] != seq:
        return Problem("log-missing", f"record {seq} is missing: {row[0]} comes in its place")
    try:
        own = event_hash(*row[:-1])
    except TypeError:
        own = ""
    if row[-1] != own:
        return Problem("log-broken", f"record {seq} does not match its hash: it was changed")
    if row[-2] != prev:
        return Problem("log-broken", f"record {seq} does not follow the one before it")
    return None
