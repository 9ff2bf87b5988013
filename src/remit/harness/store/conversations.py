"""Conversations: threads of a space, each with the mode that it took at its last boundary.

The space's row is what operators want; a conversation's is what is in force in it. Whole values go
into the log, so the state at any record is what the last record before it that carries one says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from attrs import asdict, frozen

from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.events import SYSTEM
from remit.harness.store.log import Log, Writer
from remit.harness.store.names import check_conversation, operates
from remit.harness.store.space import Overlay, Space
from remit.harness.store.spaces import Spaces
from remit.policy.boundary import Boundary
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem, near
from remit.policy.tasks import ACTIVATED, CLEARED, TICKED, Task, Tracker, activated, fold_plan

__all__ = ["MAX_DEPTH", "ConversationRecord", "Conversations", "Outcome"]

#: How deep children may nest: a child of a child of a child.
MAX_DEPTH = 3


class Outcome(StrEnum):
    """How a turn ended."""

    ENDED = "ended"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@frozen
class ConversationRecord:
    """A conversation as the store has it.

    ``mode`` and ``revision`` are the space's as of the last boundary; of a child, ``mode`` is its
    own. ``told`` is what the last request that came back said, ``telling`` what one under way says.
    """

    id: str
    seq: int
    space: str
    parent: str | None
    child: bool
    depth: int
    mode: str
    revision: int
    turn: int
    step: int
    open: bool
    owner: str | None
    told: Mapping[str, Any] | None
    telling: Mapping[str, Any] | None
    overlay: Overlay | None
    #: What narrows the turn that is open.
    turn_overlay: Overlay | None
    plan: Tracker | None


_SELECT = (
    "SELECT id, seq, space, parent, child, depth, mode, revision, turn, step, open, owner, told,"
    " telling, overlay, turn_overlay, plan FROM conversation"
)
_GET = f"{_SELECT} WHERE id = ?"
#: The kinds of records that say what mode a conversation has.
_CARRIERS = ("conversation.made", "mode.flushed", "branch.moved")
#: Those that say all that a branch carries on.
_WHOLE = ("conversation.made", "branch.moved")

#: Says whether a conversation takes the space's mode at a boundary.
Crosses = Callable[[Boundary, Space, ConversationRecord], bool]


def _record(row: tuple[Any, ...]) -> ConversationRecord:
    id, seq, space, parent, child, depth, mode, revision, number, step, open, owner, *texts = row
    told, telling, overlay, turn, plan = (None if t is None else json.loads(t) for t in texts)
    return ConversationRecord(
        id,
        seq,
        space,
        parent,
        bool(child),
        depth,
        mode,
        revision,
        number,
        step,
        bool(open),
        owner,
        told,
        telling,
        overlay and Overlay(**overlay),
        turn and Overlay(**turn),
        _tracker(plan),
    )


def _tracker(value: Mapping[str, Any] | None) -> Tracker | None:
    if value is None:
        return None
    ticks = ((TICKED, {"task": task}) for task in value["ticked"])
    return fold_plan([(ACTIVATED, value), *ticks])


def _tracked(plan: Tracker | None) -> dict[str, Any] | None:
    """Return how a plan stands as records that carry it whole hold it."""
    return (
        None
        if plan is None
        else {**activated(plan.plan, plan.tasks), "ticked": sorted(plan.ticked)}
    )


class Conversations:
    """The conversations of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces

    def get(self, id: str) -> ConversationRecord:
        """Return a conversation; raise `InputError` with near misses where there is none."""
        found = self.find(id)
        if found is None:
            known = [row[0] for row in self._database.rows("SELECT id FROM conversation")]
            hint = near(id, known) or "`Space.conversation` makes one"
            message = f"there is no conversation {quoted(id)}"
            raise InputError(Problem("unknown-conversation", message, hint))
        return found

    def find(self, id: str) -> ConversationRecord | None:
        """Return a conversation, None where there is none."""
        row = self._database.row(_GET, (id,))
        return None if row is None else _record(row)

    def list(self, space: str | None = None) -> tuple[ConversationRecord, ...]:
        """Return the conversations of one space or of all, oldest first."""
        where, params = ("", ()) if space is None else (" WHERE space = ?", (space,))
        rows = self._database.rows(f"{_SELECT}{where} ORDER BY seq", params)
        return tuple(map(_record, rows))

    def line(self, id: str) -> tuple[ConversationRecord, ...]:
        """Return a conversation and, if it is a child, its parent and that one's, and so on."""
        line = [self.get(id)]
        while line[-1].child and line[-1].parent is not None:
            line.append(self.get(line[-1].parent))
        return tuple(line)

    def ensure(self, id: str, space: str, *, now: datetime) -> ConversationRecord:
        """Return a conversation of a space, made in its mode if it is new."""
        found = self.find(id)
        if found is None:
            with self._log.writing(now) as writer:
                found = self.find(id)
                if found is None:
                    there = self._spaces.get(space)
                    self._make(writer, id, there, mode=there.mode, revision=there.revision)
                    return self.get(id)
        if found.space != space:
            raise StoreConflict(
                Problem(
                    "conversation-elsewhere",
                    f"conversation {quoted(id)} is in space `{found.space}`",
                    "a conversation stays in its space; use another id",
                ),
                found,
            )
        return found

    def fork(self, id: str, of: str, *, now: datetime, at: int | None = None) -> ConversationRecord:
        """Begin a conversation as another one was at a record of it, or is; as deep as that one."""
        with self._log.writing(now) as writer:
            there = self.get(of)
            state = self._at(there, at)
            self._make(
                writer,
                id,
                self._spaces.get(there.space),
                parent=there.parent if there.child else of,
                base=at or writer.head.seq,
                child=there.child,
                depth=there.depth,
                # An operator's word on a conversation is on what is made of it too.
                overlay=there.overlay,
                **state,
            )
            return self.get(id)

    def child(self, id: str, of: str, mode: str, *, now: datetime) -> ConversationRecord:
        """Begin a child of a conversation, in a mode of its own; at most `MAX_DEPTH` deep."""
        with self._log.writing(now) as writer:
            there = self.get(of)
            if there.depth >= MAX_DEPTH:
                raise InputError(
                    Problem(
                        "child-depth",
                        f"{quoted(of)} is a child {there.depth} deep and can have none of its own",
                        f"children nest at most {MAX_DEPTH} deep",
                    )
                )
            space = self._spaces.get(there.space)
            self._make(
                writer,
                id,
                space,
                parent=of,
                child=True,
                depth=there.depth + 1,
                mode=mode,
                revision=space.revision,
            )
            return self.get(id)

    def pin(self, id: str, space: str, mode: str, *, now: datetime) -> ConversationRecord:
        """Return the conversation of a step, made in the mode that is pinned to it if it is new."""
        with self._log.writing(now) as writer:
            if (found := self.find(id)) is None:
                there = self._spaces.get(space)
                self._make(writer, id, there, child=True, mode=mode, revision=there.revision)
                return self.get(id)
        return found

    def open(
        self,
        id: str,
        *,
        origin: str,
        owner: str,
        now: datetime,
        crosses: Crosses,
        gone: Callable[[str], bool],
        overlay: Overlay | None = None,
        opening: Callable[[Writer], None] | None = None,
    ) -> ConversationRecord:
        """Open a turn, closing one whose process is gone; the space's mode comes into force.

        ``opening`` is what else is to be recorded with it.

        `StoreConflict` if a turn is open in a process that ``gone`` does not say is over.
        """
        with self._log.writing(now) as writer:
            there = self.get(id)
            if there.open:
                if not gone(there.owner or ""):
                    raise StoreConflict(
                        Problem(
                            "turn-open",
                            f"turn {there.turn} of {quoted(id)} is open in process `{there.owner}`",
                            "close it there, or end that process",
                        ),
                        there,
                    )
                self._close(writer, there, Outcome.INTERRUPTED)
            if opening is not None:
                opening(writer)
            body = {
                "turn": there.turn + 1,
                "origin": origin,
                "owner": owner,
                "overlay": None if overlay is None else asdict(overlay),
            }
            self._write(writer, "turn.opened", there, body)
            self._flush(writer, Boundary.TURN, id, crosses)
            return self.get(id)

    def step(
        self,
        id: str,
        turn: int,
        *,
        now: datetime,
        crosses: Crosses,
        frame: Callable[[Writer, ConversationRecord, bool], Mapping[str, Any]],
    ) -> ConversationRecord:
        """Begin a step: take what comes into force, then record what ``frame`` says of it.

        ``frame`` gets the conversation as it is now and whether its mode changed just now, and
        returns what is recorded: ``projection``, ``telling``, ``notices``.
        """
        with self._log.writing(now) as writer:
            there = self._running(id, turn)
            flushed = self._flush(writer, Boundary.STEP, id, crosses)
            there = self.get(id)
            framed = dict(frame(writer, there, flushed))
            for notice in framed.pop("notices"):
                self._write(writer, "notice", there, {**notice, "told": None})
            body = {
                "turn": turn,
                "step": there.step + 1,
                "mode": there.mode,
                "revision": there.revision,
                **framed,
            }
            self._write(writer, "step.framed", there, body)
            return self.get(id)

    def close(
        self, id: str, turn: int, outcome: Outcome, *, now: datetime, decisions: int = 0
    ) -> ConversationRecord:
        """Close a turn; of one that was closed already this changes nothing."""
        with self._log.writing(now) as writer:
            there = self.get(id)
            if there.open and there.turn == turn:
                self._close(writer, there, outcome, decisions)
            return self.get(id)

    def sweep(self, *, now: datetime, gone: Callable[[str], bool]) -> tuple[str, ...]:
        """Close every turn whose process is gone as interrupted, and return the conversations."""
        rows = self._database.rows(f"{_SELECT} WHERE open ORDER BY seq")
        stale = [r for r in map(_record, rows) if gone(r.owner or "")]
        if not stale:
            return ()
        with self._log.writing(now) as writer:
            found = [r for r in map(self.get, (s.id for s in stale)) if r.open]
            found = [r for r in found if gone(r.owner or "")]
            for there in found:
                self._close(writer, there, Outcome.INTERRUPTED)
        return tuple(r.id for r in found)

    def move(self, id: str, to: int, *, now: datetime) -> ConversationRecord:
        """Go on from an earlier record of a conversation: its mode, plan and what was told then.

        The mode that it has of the space counts as seen, so it is not taken for a newer wish; it
        narrows all the same. A wish that waits for the next turn waits on. Between turns only.
        """
        with self._log.writing(now) as writer:
            there = self._idle(id)
            space = self._spaces.get(there.space)
            waits = space.revision > there.revision and space.mode != there.mode
            revision = there.revision if waits and not there.child else space.revision
            state = {**self._at(there, to), "revision": revision}
            self._write(writer, "branch.moved", there, {"to": to, **state})
            return self.get(id)

    def compacted(self, id: str, *, now: datetime) -> None:
        """Record that a host shortened what a conversation holds; nothing in force changes."""
        with self._log.writing(now) as writer:
            self._write(writer, "conversation.compacted", self.get(id), {})

    def set_overlay(
        self, id: str, overlay: Overlay | None, *, by: str, now: datetime
    ) -> ConversationRecord:
        """Narrow one conversation in every mode, or take that away with None."""
        operates(by)
        with self._log.writing(now) as writer:
            there = self.get(id)
            if overlay != there.overlay:
                body = {"overlay": None if overlay is None else asdict(overlay)}
                self._write(writer, "conversation.overlay", there, body, by)
            return self.get(id)

    def narrated(
        self, id: str, what: str, text: str, told: Mapping[str, Any], *, now: datetime
    ) -> None:
        """Record a message that was sent between turns, and what it told."""
        with self._log.writing(now) as writer:
            body = {"what": what, "text": text, "told": told}
            self._write(writer, "notice", self.get(id), body)

    def activate(
        self, id: str, plan: str, tasks: Sequence[Task], *, now: datetime
    ) -> ConversationRecord:
        """Make a plan the active one of a conversation, in place of any other."""
        with self._log.writing(now) as writer:
            self._write(writer, ACTIVATED, self.get(id), activated(plan, tasks))
            return self.get(id)

    def tick(self, id: str, task: str, *, now: datetime) -> bool:
        """Record that a task of the active plan is done; False if it was (S001-R10).

        `InputError` if no plan is active, or none of its tasks has that id.
        """
        with self._log.writing(now) as writer:
            there = self.get(id)
            if there.plan is None:
                message = f"no plan is active in {quoted(id)}"
                raise InputError(Problem("no-plan", message, "activate one first"))
            if not there.plan.tick(task):
                return False
            self._write(writer, TICKED, there, {"task": task})
            return True

    def clear(self, id: str, *, now: datetime) -> ConversationRecord:
        """Record that no plan is active in a conversation any more."""
        with self._log.writing(now) as writer:
            there = self.get(id)
            if there.plan is not None:
                self._write(writer, CLEARED, there, {})
            return self.get(id)

    def position(self, id: str) -> int:
        """Return the number of the last record of a conversation, to fork at or to go back to."""
        row = self._database.row("SELECT MAX(seq) FROM event WHERE conversation = ?", (id,))
        return int(row[0] or 0)

    def _make(
        self,
        writer: Writer,
        id: str,
        space: Space,
        *,
        mode: str,
        revision: int,
        parent: str | None = None,
        base: int | None = None,
        child: bool = False,
        depth: int = 0,
        told: object = None,
        plan: object = None,
        overlay: Overlay | None = None,
    ) -> None:
        check_conversation(id)
        if self.find(id) is not None:
            raise StoreConflict(
                Problem("conversation-exists", f"there is a conversation {quoted(id)} already")
            )
        body = {
            "parent": parent,
            "base": base,
            "child": child,
            "depth": depth,
            "mode": mode,
            "revision": revision,
            "told": told,
            "plan": plan,
            "overlay": None if overlay is None else asdict(overlay),
        }
        writer.record("conversation.made", body, actor=SYSTEM, space=space.id, conversation=id)

    def _flush(self, writer: Writer, at: Boundary, id: str, crosses: Crosses) -> bool:
        there = self.get(id)
        space = self._spaces.get(there.space)
        if there.child or not crosses(at, space, there):
            return False
        body = {
            "mode": space.mode,
            "previous": there.mode,
            "revision": space.revision,
            "boundary": at.value,
        }
        self._write(writer, "mode.flushed", there, body)
        return True

    def _close(
        self,
        writer: Writer,
        there: ConversationRecord,
        outcome: Outcome,
        decisions: int | None = None,
    ) -> None:
        # Of a request that never came back nobody knows whether the model saw it: tell it again.
        came = outcome is Outcome.ENDED or self._called(there)
        body = {
            "turn": there.turn,
            "outcome": outcome.value,
            "decisions": decisions,
            "came": came,
        }
        self._write(writer, "turn.closed", there, body)

    def ended(self, id: str) -> bool:
        """Say whether the turn that was closed last came to its end, so that its results count."""
        row = self._database.row(
            "SELECT body FROM event WHERE conversation = ? AND kind = 'turn.closed'"
            " ORDER BY seq DESC LIMIT 1",
            (id,),
        )
        return row is not None and json.loads(row[0])["outcome"] == Outcome.ENDED.value

    def _called(self, there: ConversationRecord) -> bool:
        row = self._database.row(
            "SELECT kind FROM event WHERE conversation = ? AND kind IN ('decision', 'step.framed')"
            " ORDER BY seq DESC LIMIT 1",
            (there.id,),
        )
        return row is not None and row[0] == "decision"

    def _at(self, there: ConversationRecord, at: int | None) -> dict[str, Any]:
        """Return what a conversation carried at one of its records, or carries now."""
        if at is None:
            told = there.telling or there.told
            state = {"mode": there.mode, "revision": there.revision, "plan": _tracked(there.plan)}
            return {**state, "told": told}
        if (
            self._database.row(
                "SELECT 1 FROM event WHERE seq = ? AND conversation = ?", (at, there.id)
            )
            is None
        ):
            raise InputError(
                Problem(
                    "unknown-record",
                    f"record {at} is none of conversation {quoted(there.id)}",
                    "`remit log` numbers them",
                )
            )
        _, mode = self._last(there.id, at, *_CARRIERS)
        _, told = self._last(there.id, at, "step.framed", *_WHOLE)
        since, whole = self._last(there.id, at, *_WHOLE)
        changes = self._database.rows(
            "SELECT kind, body FROM event WHERE conversation = ? AND seq > ? AND seq <= ?"
            " AND kind LIKE 'plan.%' ORDER BY seq",
            (there.id, since, at),
        )
        records = [(kind, json.loads(body)) for kind, body in changes]
        return {
            "mode": mode["mode"],
            "revision": mode["revision"],
            "told": told.get("telling", told.get("told")),
            "plan": _tracked(fold_plan(records, _tracker(whole["plan"]))),
        }

    def _last(self, id: str, at: int, *kinds: str) -> tuple[int, Mapping[str, Any]]:
        """Return the last record of some kinds up to one: its number and its body."""
        row = self._database.row(
            "SELECT seq, body FROM event WHERE conversation = ? AND seq <= ?"
            f" AND kind IN ({', '.join('?' * len(kinds))}) ORDER BY seq DESC LIMIT 1",
            (id, at, *kinds),
        )
        return row[0], json.loads(row[1])

    def _running(self, id: str, turn: int) -> ConversationRecord:
        there = self.get(id)
        if not there.open or there.turn != turn:
            raise StoreConflict(
                Problem(
                    "turn-closed",
                    f"turn {turn} of {quoted(id)} is closed",
                    "open another one",
                ),
                there,
            )
        return there

    def _idle(self, id: str) -> ConversationRecord:
        there = self.get(id)
        if there.open:
            raise StoreConflict(
                Problem(
                    "turn-open",
                    f"turn {there.turn} of {quoted(id)} is open",
                    "close it first",
                ),
                there,
            )
        return there

    def _write(
        self,
        writer: Writer,
        kind: str,
        there: ConversationRecord,
        body: Mapping[str, Any],
        by: str = SYSTEM,
    ) -> None:
        writer.record(kind, body, actor=by, space=there.space, conversation=there.id)
