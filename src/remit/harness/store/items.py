"""The embedded platform's rows: agents, projects, tickets and pipelines, each made once by key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import frozen

from remit.harness.store.database import Database
from remit.harness.store.log import Log
from remit.harness.store.names import operates
from remit.harness.store.spaces import Spaces
from remit.policy.digest import digest
from remit.policy.materialise import Act

__all__ = ["Item", "Items"]


@frozen
class Item:
    """Something that was made on the embedded platform; ``act`` is what made it."""

    id: str
    key: str
    act: Act
    body: Mapping[str, Any]
    made_at: str


_SELECT = "SELECT id, key, act, body, made_at FROM item"


class Items:
    """What is on the embedded platform of one store."""

    def __init__(self, database: Database, log: Log, spaces: Spaces) -> None:
        self._database = database
        self._log = log
        self._spaces = spaces

    def list(self, act: Act | None = None) -> tuple[Item, ...]:
        """Return what there is, oldest first: all, or what one kind of action made."""
        where, params = ("", ()) if act is None else (" WHERE act = ?", (act.value,))
        rows = self._database.rows(f"{_SELECT}{where} ORDER BY seq", params)
        return tuple(Item(r[0], r[1], Act(r[2]), json.loads(r[3]), r[4]) for r in rows)

    def make(
        self,
        act: Act,
        key: str,
        body: Mapping[str, Any],
        *,
        by: str,
        now: datetime,
        like: str | None = None,
        mode: str | None = None,
    ) -> str:
        """Make something for an operator, and return its id; what the key has made stays.

        With ``like`` it is a space too: in ``mode``, and otherwise held as narrow as that space.
        """
        operates(by)
        with self._log.writing(now) as writer:
            row = self._database.row("SELECT id FROM item WHERE key = ?", (key,))
            if row is not None:
                return str(row[0])
            what = "agent" if act is Act.HIRE else act.value.rpartition("_")[2]
            id = f"{what}-{digest(key)[:12]}"
            made = {"id": id, "key": key, "act": act.value, "body": dict(body)}
            writer.record("item.made", made, actor=by)
            if like is not None and mode is not None:
                self._spaces.branch(writer, id, like, mode, by=by)
            return id
