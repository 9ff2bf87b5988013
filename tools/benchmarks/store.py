"""The mode of a space from the store, by the same statement on the database's own driver."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remit.harness.store import SYSTEM, Store
from remit.harness.store.schema import sql
from remit.harness.store.space import SELECT_SPACE
from tools.benchmarks.ratios import Figure, ratio

__all__ = ["figures"]

#: How many are read, and how many there are beside them.
_SPACES, _OTHERS = 200, 10_000
_STATEMENT = f"{SELECT_SPACE} WHERE id = ?"
_COLUMNS = SELECT_SPACE.removeprefix("SELECT id, ").removesuffix(" FROM space")
_FILL = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
    f" INSERT INTO space (id, {_COLUMNS}) SELECT 'other-' || i, {_COLUMNS} FROM space, n"
    " WHERE id = 'space-0'"
)


def figures(short: bool) -> Iterator[Figure]:
    """Yield one space read through the store by one row read with the driver itself."""
    rounds = 9 if short else 41
    with tempfile.TemporaryDirectory(prefix="remit-bench.") as folder:
        path = Path(folder, "remit.db")
        with _filled(str(path), folder) as store:
            raw = sqlite3.connect(path)
            yield from _read(store, raw, _STATEMENT, {}, "sqlite3", 1.6, rounds)
            yield from _cached(store, raw, rounds)
            raw.close()
        if any(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
            yield from _server(folder, rounds)


def _server(folder: str, rounds: int) -> Iterator[Figure]:
    import psycopg

    from tests.server import server

    with server() as started:
        url = started.make()
        with _filled(url, folder) as store, psycopg.connect(url, autocommit=True) as raw:
            statement = _STATEMENT.replace("?", "%s")
            yield from _read(store, raw, statement, {"prepare": True}, "psycopg", 1.3, rounds)


def _filled(location: str, folder: str) -> Store:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store = Store.open(location, create=now, data=Path(folder))
    for id in _ids():
        store.spaces.create(id, "plan", by=SYSTEM, now=now)
    with store._database.writing() as db:
        sql(db, _FILL, (_OTHERS,))
    return store


def _ids() -> list[str]:
    return [f"space-{i}" for i in range(_SPACES)]


def _read(
    store: Store, raw: Any, statement: str, how: dict[str, Any], by: str, budget: float, rounds: int
) -> Iterator[Figure]:
    ids = _ids()

    def base() -> None:
        for id in ids:
            raw.execute(statement, (id,), **how).fetchone()

    def measured() -> None:
        store.spaces._kept.clear()
        for id in ids:
            store.spaces.get(id)

    name = f"mode of a space from the store, by {by}"
    yield ratio(name, base, measured, budget, rounds=rounds, per=_SPACES)


def _cached(store: Store, raw: sqlite3.Connection, rounds: int) -> Iterator[Figure]:
    ids = _ids()

    def base() -> None:
        for id in ids:
            raw.execute(_STATEMENT, (id,)).fetchone()

    def measured() -> None:
        for id in ids:
            store.spaces.get(id)

    name = "mode of a space proved fresh, by sqlite3"
    yield ratio(name, base, measured, 0.8, rounds=rounds, per=_SPACES)
