"""Spaces: each holds one mode, shared by its conversations (S003-1), and what narrows it there."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path

from attrs import asdict, frozen

from remit.harness.store.database import Database
from remit.harness.store.errors import StoreConflict
from remit.harness.store.events import is_operator
from remit.harness.store.history import CHANGES, Answer, Change, change_of
from remit.harness.store.log import Log, Writer
from remit.harness.store.names import check_mode, check_space, operates, sets_modes
from remit.harness.store.space import SELECT_SPACE, Overlay, Space, setting_values, space_of
from remit.harness.store.switch import expected, flip, takes_runs, turn, unlocked
from remit.policy.escape import quoted
from remit.policy.gate import Setting
from remit.policy.problems import InputError, Problem, near
from remit.policy.vocabulary import EFFECTS, Dial, SpaceKind, Verdict
from remit.profiles.terms import pattern_fault

__all__ = ["Spaces", "Switch", "check_effect", "check_target"]

_GET = f"{SELECT_SPACE} WHERE id = ?"
#: How many spaces are kept at the most, some hundred bytes each.
_KEPT = 16_384
#: The modes that turns under way are in; a child has one of its own.
_RUNNING = "SELECT mode FROM conversation WHERE space = ? AND open AND NOT child"


@frozen
class Switch:
    """A space after a request to change its mode, and what became of the request."""

    space: Space
    answer: Answer


class Spaces:
    """The spaces of one store."""

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log
        #: What was read, and the database's stamp before that.
        self._kept: dict[str, tuple[object, Space]] = {}

    def get(self, id: str) -> Space:
        """Return a space; raise `InputError` with near misses where there is none (S003-23).

        One that was read before is read again unless the database proves that nobody has committed
        since; the first time, that is not asked.
        """
        kept, stamp = self._kept.get(id), None
        if kept is not None and (stamp := self._database.stamp()) is not None and kept[0] == stamp:
            return kept[1]
        row = self._database.row(_GET, (id,))
        if row is None:
            raise self._unknown(id)
        space = space_of(row)
        if len(self._kept) >= _KEPT:
            self._kept.clear()
        self._kept[id] = stamp, space
        return space

    def list(self) -> tuple[Space, ...]:
        """Return every space, by id."""
        rows = self._database.rows(f"{SELECT_SPACE} ORDER BY id")
        return tuple(space_of(row) for row in rows)

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
                    Problem("space-exists", f"there is a space `{id}` already"), space_of(row)
                )
            writer.record("space.made", body, actor=by, space=id)
            return self.get(id)

    def branch(self, writer: Writer, id: str, like: str, mode: str, *, by: str) -> None:
        """Make a space within a transaction, in a mode, held otherwise as narrow as another.

        It has that one's worktree, dial, settings, overlay and lock.
        """
        check_space(id)
        check_mode(mode)
        sets_modes(by)
        other = self.get(like)
        body = {
            "mode": mode,
            "kind": SpaceKind.NORMAL.value,
            "worktree": other.worktree,
            "dial": other.dial.value,
            "remote": other.remote,
        }
        writer.record("space.made", body, actor=by, space=id)
        for i, setting in enumerate(other.effects, 1):
            effects = {
                "effects": setting_values(other.effects[:i]),
                "effect": setting.effect,
                "target": setting.target,
                "verdict": setting.verdict.value,
                "previous": None,
            }
            writer.record("effects.set", effects, actor=by, space=id)
        if other.overlay is not None:
            overlay = {"overlay": asdict(other.overlay)}
            writer.record("overlay.set", overlay, actor=by, space=id)
        if other.locked:
            locked = {"locked": True, "why": f"space {like} is"}
            writer.record("lock.set", locked, actor=by, space=id)

    def set_mode(
        self,
        id: str,
        mode: str,
        *,
        by: str,
        why: str,
        now: datetime,
        expect: int | None = None,
        staged: bool = False,
    ) -> Switch:
        """Give a space a mode, for whoever it is that asks: an operator, the system, a pipeline.

        ``expect`` is the revision that the caller saw: another process that was faster makes this
        a `StoreConflict`. The mode that the space has already is a ``noop``, whatever was expected.
        The mode of a locked space is changed by an operator alone, else `StoreConflict`. An open
        run is paused; where the new mode is ``staged``, it is to be stopped first (S000-66).
        """
        check_mode(mode)
        sets_modes(by)
        with self._log.writing(now) as writer:
            space = self.get(id)
            if space.mode == mode:
                return Switch(space, Answer.NOOP)
            if staged:
                takes_runs(self._database, space, mode)
            expected(space, expect)
            if not is_operator(by):
                unlocked(space)
            answer = self.answer(id, mode)
            flip(writer, self._database, space, mode, by=by, why=why, answer=answer)
            return Switch(self.get(id), answer)

    def answer(self, id: str, mode: str) -> Answer:
        """Say what becomes of a switch: at once, at the next boundary, or nothing after all."""
        rows = self._database.rows(_RUNNING, (id,))
        if not rows:
            return Answer.COMMITTED
        return Answer.CANCELLED if all(m == mode for (m,) in rows) else Answer.QUEUED

    def pending(self, id: str) -> str | None:
        """Return the mode of a space if a turn under way has not taken it yet, else None."""
        mode = self.get(id).mode
        return mode if any(m != mode for (m,) in self._database.rows(_RUNNING, (id,))) else None

    def set_dial(self, id: str, dial: Dial, *, by: str, now: datetime) -> Space:
        """Set the autonomy of a space; approvals that are open stay open."""
        sets_modes(by)
        with self._log.writing(now) as writer:
            turn(writer, self.get(id), Dial(dial), by=by)
            return self.get(id)

    def set_effect(
        self,
        id: str,
        setting: Setting,
        *,
        by: str,
        now: datetime,
        known: Collection[str] = EFFECTS,
    ) -> Space:
        """Set what becomes of one effect in a space, on the targets that a pattern names or on all.

        It takes the place of the setting of the same effect and pattern. ``known`` are the effect
        classes that there are; `InputError` names near misses of another one.
        """
        check_effect(setting.effect, known)
        if setting.target is not None:
            check_target(setting.target)
        return self._set_effect(
            id, setting.effect, setting.target, Verdict(setting.verdict), by=by, now=now
        )

    def clear_effect(
        self, id: str, effect: str, target: str | None = None, *, by: str, now: datetime
    ) -> Space:
        """Take a setting away, so that the dial speaks; `InputError` if there is no such setting.

        The one without a pattern is taken away where no pattern is given, and no other.
        """
        return self._set_effect(id, effect, target, None, by=by, now=now)

    def _set_effect(
        self,
        id: str,
        effect: str,
        target: str | None,
        to: Verdict | None,
        *,
        by: str,
        now: datetime,
    ) -> Space:
        operates(by)
        with self._log.writing(now) as writer:
            space = self.get(id)
            there = {(s.effect, s.target): s.verdict for s in space.effects}
            before = there.pop((effect, target), None)
            if to is None and before is None:
                raise _no_setting(effect, target, there)
            if to is not None:
                there[effect, target] = to
            if to is not before:
                listed = sorted(there.items(), key=lambda item: (item[0][0], item[0][1] or ""))
                body = {
                    "effects": setting_values(Setting(e, v, t) for (e, t), v in listed),
                    "effect": effect,
                    "target": target,
                    "verdict": to and to.value,
                    "previous": before and before.value,
                }
                writer.record("effects.set", body, actor=by, space=id)
            return self.get(id)

    def set_overlay(self, id: str, overlay: Overlay | None, *, by: str, now: datetime) -> Space:
        """Narrow a space in every mode, or take that away with None; the text is kept whole.

        It is not read here: one that does not load admits nothing until another is set.
        """
        operates(by)
        with self._log.writing(now) as writer:
            if overlay != self.get(id).overlay:
                body = {"overlay": None if overlay is None else asdict(overlay)}
                writer.record("overlay.set", body, actor=by, space=id)
            return self.get(id)

    def set_lock(self, id: str, locked: bool, *, by: str, now: datetime, why: str = "") -> Space:
        """Lock a space or unlock it: from the next call on, whatever is under way."""
        operates(by)
        with self._log.writing(now) as writer:
            if locked is not self.get(id).locked:
                writer.record("lock.set", {"locked": locked, "why": why}, actor=by, space=id)
            return self.get(id)

    def history(self, id: str) -> tuple[Change, ...]:
        """Return all that a space was given, oldest first: who, when and why."""
        self.get(id)
        return tuple(map(change_of, self._log.read(id, kinds=tuple(CHANGES))))

    def _unknown(self, id: str) -> InputError:
        known = [row[0] for row in self._database.rows("SELECT id FROM space ORDER BY id")]
        hint = near(id, known) or (
            f"the spaces are {', '.join(f'`{k}`' for k in known[:10])}"
            if known
            else "`remit space create` makes one"
        )
        return InputError(Problem("unknown-space", f"there is no space {quoted(id)}", hint))


def check_effect(effect: str, known: Collection[str] = EFFECTS) -> None:
    """Raise `InputError` with near misses unless this is one of the effect classes."""
    if effect not in known:
        hint = near(effect, known) or "`remit effects` lists the classes"
        raise InputError(Problem("unknown-effect", f"unknown effect class {quoted(effect)}", hint))


def check_target(pattern: str) -> None:
    """Raise `InputError` unless this pattern names targets; an excluding one names none."""
    if pattern.startswith("!"):
        message = f"{quoted(pattern)} excludes, and there is nothing here to exclude from"
        raise InputError(Problem("bad-pattern", message, "name the targets that are meant"))
    if (fault := pattern_fault(pattern)) is not None:
        raise InputError(Problem(*fault))


def _no_setting(
    effect: str, target: str | None, there: Iterable[tuple[str, str | None]]
) -> InputError:
    def named(effect: str, target: str | None) -> str:
        return f"`{effect}` on {quoted(target)}" if target is not None else f"`{effect}`"

    listed = ", ".join(sorted(named(*one) for one in there))
    hint = f"set are {listed}" if listed else "no effect is set in this space"
    what = named(quoted(effect).strip("`"), target)
    return InputError(Problem("unknown-setting", f"there is no setting of {what}", hint))


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
