"""Spaces: each holds one mode, shared by its conversations (S003-1)."""

from __future__ import annotations

import os
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from attrs import frozen

from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.log import Log, Writer
from remit.harness.store.names import check_mode, check_space, sets_modes
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem, near
from remit.policy.vocabulary import Dial, SpaceKind

__all__ = ["Answer", "Change", "Space", "Spaces", "Switch", "flip"]


class Answer(StrEnum):
    """What became of a request to change a mode.

    ``queued`` and ``cancelled`` come with conversations: until then a space is always idle.
    """

    COMMITTED = "committed"
    QUEUED = "queued"
    CANCELLED = "cancelled"
    NOOP = "noop"


@frozen
class Space:
    """A space as the store has it; ``revision`` counts its modes, not its dials."""

    id: str
    mode: str
    kind: SpaceKind
    worktree: str | None
    dial: Dial
    remote: bool
    revision: int
    created: str


@frozen
class Switch:
    """A space after a request to change its mode, and what became of the request."""

    space: Space
    answer: Answer


@frozen
class Change:
    """One entry of a space's history: ``what`` is a kind of record, ``value`` a mode or a dial."""

    at: str
    what: str
    value: str
    by: str
    why: str
    answer: Answer | None
    revision: int | None
    approval: str | None


_COLUMNS = "id, mode, kind, worktree, dial, remote, revision, created"
_GET = f"SELECT {_COLUMNS} FROM space WHERE id = ?"
#: What is bound to the mode that it was asked for in, so that no return to the mode revives it.
_BOUND = (
    "SELECT id, conversation, expires_at FROM approval WHERE space = ?"
    " AND kind IN ('call', 'plan_exit') AND state IN ('pending', 'approved') ORDER BY seq"
)


# A look-up in a table of our own is a fifth of one in the class, and every call reads a space.
_KINDS = {k.value: k for k in SpaceKind}
_DIALS = {d.value: d for d in Dial}


def _space(row: tuple[Any, ...]) -> Space:
    id, mode, kind, worktree, dial, remote, revision, created = row
    return Space(id, mode, SpaceKind(kind), worktree, Dial(dial), bool(remote), revision, created)


class Spaces:
    """The spaces of one store."""

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log

    def get(self, id: str) -> Space:
        """Return a space; raise `InputError` with near misses where there is none (S003-23)."""
        row = self._database.row(_GET, (id,))
        if row is None:
            raise self._unknown(id)
        return _space(row)

    def list(self) -> tuple[Space, ...]:
        """Return every space, by id."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM space ORDER BY id")
        return tuple(_space(row) for row in rows)

    def create(
        self,
        id: str,
        mode: str,
        *,
        by: str,
        now: datetime,
        kind: SpaceKind = SpaceKind.NORMAL,
        worktree: str | None = None,
        dial: Dial = Dial.ASK,
        remote: bool = False,
    ) -> Space:
        """Make a space in a mode; links in the path of its worktree are resolved for good."""
        check_space(id)
        check_mode(mode)
        sets_modes(by)
        body = {
            "mode": mode,
            "kind": SpaceKind(kind).value,
            "worktree": None if worktree is None else _worktree(worktree),
            "dial": Dial(dial).value,
            "remote": bool(remote),
        }
        with self._log.writing(now) as writer:
            if (row := self._database.row(_GET, (id,))) is not None:
                raise StoreConflict(
                    Problem("space-exists", f"there is a space `{id}` already"), _space(row)
                )
            writer.record("space.made", body, actor=by, space=id)
            return self.get(id)

    def set_mode(
        self,
        id: str,
        mode: str,
        *,
        by: str,
        why: str,
        now: datetime,
        expect: int | None = None,
    ) -> Switch:
        """Give a space a mode, for whoever it is that asks: an operator, the system, a pipeline.

        ``expect`` is the revision that the caller saw: another process that was faster makes this
        a `StoreConflict`. The mode that the space has already is a ``noop``, whatever was expected.
        """
        check_mode(mode)
        sets_modes(by)
        with self._log.writing(now) as writer:
            space = self.get(id)
            if space.mode == mode:
                return Switch(space, Answer.NOOP)
            expected(space, expect)
            flip(writer, self._database, space, mode, by=by, why=why)
            return Switch(self.get(id), Answer.COMMITTED)

    def set_dial(self, id: str, dial: Dial, *, by: str, now: datetime) -> Space:
        """Set the autonomy of a space; approvals that are open stay open."""
        sets_modes(by)
        with self._log.writing(now) as writer:
            turn(writer, self.get(id), Dial(dial), by=by)
            return self.get(id)

    def history(self, id: str) -> tuple[Change, ...]:
        """Return each mode and dial that a space was given, oldest first: who, when and why."""
        self.get(id)
        events = self._log.read(id, kinds=("space.made", "mode.set", "dial.set"))
        return tuple(
            Change(
                e.at,
                e.kind,
                e.body["dial" if e.kind == "dial.set" else "mode"],
                e.actor,
                e.body.get("why", ""),
                Answer(e.body["answer"]) if "answer" in e.body else None,
                1 if e.kind == "space.made" else e.body.get("revision"),
                e.body.get("approval"),
            )
            for e in events
        )

    def _unknown(self, id: str) -> InputError:
        known = [row[0] for row in self._database.rows("SELECT id FROM space ORDER BY id")]
        hint = near(id, known) or (
            f"the spaces are {', '.join(f'`{k}`' for k in known[:10])}"
            if known
            else "`remit space create` makes one"
        )
        return InputError(Problem("unknown-space", f"there is no space {quoted(id)}", hint))


def expected(space: Space, revision: int | None) -> None:
    """Raise `StoreConflict` if a space was given another mode since the caller looked."""
    if revision is not None and revision != space.revision:
        raise StoreConflict(
            Problem(
                "space-changed",
                f"space `{space.id}` was changed meanwhile: it is in {space.mode} mode "
                f"(revision {space.revision}, expected {revision})",
                "look again, then decide",
            ),
            space,
        )


def flip(
    writer: Writer,
    database: Database,
    space: Space,
    mode: str,
    *,
    by: str,
    why: str,
    approval: str | None = None,
) -> None:
    """Record another mode, and that what was asked for in the old one has ended."""
    writer.record(
        "mode.set",
        {
            "mode": mode,
            "previous": space.mode,
            "why": why,
            "answer": Answer.COMMITTED.value,
            "revision": space.revision + 1,
            "approval": approval,
        },
        actor=by,
        space=space.id,
    )
    for id, conversation, expires_at in database.rows(_BOUND, (space.id,)):
        # One whose time was over is expired already, whether or not that was recorded by now.
        over = expires_at is not None and expires_at <= writer.at
        writer.record(
            "approval.expired" if over else "approval.superseded",
            {"approval": id}
            if over
            else {"approval": id, "why": f"the space left {space.mode} mode"},
            actor="system",
            space=space.id,
            conversation=conversation,
        )


def turn(writer: Writer, space: Space, dial: Dial, *, by: str) -> None:
    """Record another dial; the one that a space has is no news."""
    if dial is not space.dial:
        body = {"dial": dial.value, "previous": space.dial.value}
        writer.record("dial.set", body, actor=by, space=space.id)


def _worktree(given: str) -> str:
    text = os.fspath(given)
    if not os.path.isabs(text) or not text.isprintable():
        raise InputError(
            Problem(
                "bad-worktree",
                f"{quoted(text, 200)} is no absolute path of printable characters",
                "give the worktree's full path",
            )
        )
    return str(Path(os.path.realpath(text)))
