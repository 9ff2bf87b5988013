"""Grants as the store keeps them: added and revoked by an operator, bound to space and mode."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime
from typing import Any

from attrs import frozen

from remit.harness.store.database import Database
from remit.harness.store.events import SYSTEM
from remit.harness.store.log import Log, Writer
from remit.harness.store.names import operates
from remit.harness.store.spaces import Spaces, check_effect, check_target
from remit.policy.escape import quoted
from remit.policy.grants import Grant
from remit.policy.problems import InputError, Problem, near
from remit.policy.selectors import split
from remit.policy.tools import NATIVE
from remit.policy.vocabulary import EFFECTS
from remit.profiles.names import SOURCE_NAME, TOOL_NAME

__all__ = ["GrantRecord", "Grants"]

_SPAWN = "process.spawn"


@frozen
class GrantRecord:
    """A grant, where it holds, and whether it still does; times are UTC text.

    ``tool_hash`` stands for the tool as it was when the operator granted it; None until the tool is
    called, where it was not called before.
    """

    id: str
    seq: int
    space: str
    grant: Grant
    tool_hash: str | None
    mode: str
    added_by: str
    added_at: str
    revoked_by: str | None
    revoked_at: str | None

    @property
    def active(self) -> bool:
        """Has nobody revoked it."""
        return self.revoked_at is None


_SELECT = (
    "SELECT id, seq, space, tool, args, effect, target, tool_hash, mode, added_by, added_at,"
    ' revoked_by, revoked_at FROM "grant"'
)
_STANDING = (
    f"{_SELECT} WHERE space = ? AND tool = ? AND mode = ? AND revoked_at IS NULL ORDER BY seq"
)
#: The newest decision on a tool says as what it was last seen.
_SEEN = (
    "SELECT json_extract(body, '$.tool_hash') FROM event WHERE space = ? AND kind = 'decision'"
    " AND json_extract(body, '$.tool') = ? ORDER BY seq DESC LIMIT 1"
)
#: The keys of tools that were there when they were called.
_CALLED = (
    "SELECT DISTINCT json_extract(body, '$.tool') FROM event WHERE space = ? AND kind = 'decision'"
    " AND json_extract(body, '$.cause') NOT IN ('unknown-tool', 'ambiguous-name')"
)


def _record(row: tuple[Any, ...]) -> GrantRecord:
    id, seq, space, tool, args, effect, target, *rest = row
    return GrantRecord(id, seq, space, Grant(tool, args, effect, target), *rest)


class Grants:
    """The grants of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces

    def get(self, id: str) -> GrantRecord:
        """Return a grant; raise `InputError` with near misses where there is none."""
        row = self._database.row(f"{_SELECT} WHERE id = ?", (id,))
        if row is None:
            known = [r[0] for r in self._database.rows('SELECT id FROM "grant"')]
            hint = near(id, known) or "`remit grants list` lists them"
            raise InputError(Problem("unknown-grant", f"there is no grant {quoted(id)}", hint))
        return _record(row)

    def list(self, space: str | None = None) -> tuple[GrantRecord, ...]:
        """Return grants, newest first, revoked ones too: of one space, or all."""
        if space is not None:
            self._spaces.get(space)
        where, params = ("", ()) if space is None else (" WHERE space = ?", (space,))
        rows = self._database.rows(f"{_SELECT}{where} ORDER BY seq DESC", params)
        return tuple(map(_record, rows))

    def standing(self, space: str, tool: str, mode: str) -> tuple[GrantRecord, ...]:
        """Return the grants that hold for a tool in a space while it is in a mode."""
        return tuple(map(_record, self._database.rows(_STANDING, (space, tool, mode))))

    def called(self, space: str) -> frozenset[str]:
        """Return the keys of the tools that were ever called in a space, allowed or not."""
        self._spaces.get(space)
        return frozenset(row[0] for row in self._database.rows(_CALLED, (space,)))

    def add(
        self,
        space: str,
        grant: Grant,
        *,
        by: str,
        now: datetime,
        tool_hash: str | None = None,
        known: Collection[str] = EFFECTS,
    ) -> GrantRecord:
        """Allow calls for good, in the mode that the space is in; the same grant is added once.

        ``tool_hash`` stands for the tool as the operator saw it; unless it is given, for the tool
        as it was last called in the space, or else as it will be first. A grant of the same calls
        of a tool that has changed since is revoked. ``known`` are the effect classes there are.
        """
        operates(by)
        _check(grant, known)
        with self._log.writing(now) as writer:
            there = self._spaces.get(space)
            if tool_hash is None:
                row = self._database.row(_SEEN, (space, grant.tool))
                tool_hash = row and row[0]
            for other in self.standing(space, grant.tool, there.mode):
                if other.grant != grant:
                    continue
                if tool_hash is None or other.tool_hash in (None, tool_hash):
                    return other
                self._revoke(writer, other, by, "the tool changed, and it was granted anew")
            id = f"g{secrets.token_hex(5)}"
            body = {
                "grant": id,
                "tool": grant.tool,
                "tool_hash": tool_hash,
                "mode": there.mode,
                "args": grant.args,
                "effect": grant.effect,
                "target": grant.target,
            }
            writer.record("grant.added", body, actor=by, space=space)
            return self.get(id)

    def revoke(self, id: str, *, by: str, now: datetime, why: str = "") -> GrantRecord:
        """Take a grant back, from the next call on; a second time changes nothing."""
        operates(by)
        with self._log.writing(now) as writer:
            there = self.get(id)
            if there.active:
                self._revoke(writer, there, by, why)
            return self.get(id)

    def bind(self, writer: Writer, used: GrantRecord, tool_hash: str) -> None:
        """Record within a transaction as what the tool of a grant was first called."""
        if used.tool_hash is None:
            body = {"grant": used.id, "tool_hash": tool_hash}
            writer.record("grant.bound", body, actor=SYSTEM, space=used.space)

    def _revoke(self, writer: Writer, there: GrantRecord, by: str, why: str) -> None:
        writer.record("grant.revoked", {"grant": there.id, "why": why}, actor=by, space=there.space)


def _check(grant: Grant, known: Collection[str]) -> None:
    source, name = split(grant.tool)
    if source == NATIVE:
        message = f"{quoted(grant.tool)} is a verb of remit's own, which no grant decides"
        raise InputError(Problem("bad-grant", message, "grants are for tools of servers"))
    if not SOURCE_NAME.fullmatch(source) or not TOOL_NAME.fullmatch(name):
        message = f"{quoted(grant.tool)} names no tool by source and name"
        raise InputError(Problem("bad-grant", message, "write `source:name`"))
    if (grant.args is None) is (grant.effect is None) or (grant.effect is None) is not (
        grant.target is None
    ):
        message = "a grant is of exact arguments, or of an effect on the targets of a pattern"
        raise InputError(Problem("bad-grant", message, "give one of the two"))
    if grant.effect == _SPAWN:
        message = f"no grant covers `{_SPAWN}`: what would run cannot be read"
        raise InputError(Problem("bad-grant", message, "approve such calls one by one"))
    if grant.effect is not None and grant.target is not None:
        check_effect(grant.effect, known)
        check_target(grant.target)
