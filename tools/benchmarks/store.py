"""The mode of a space from the store, uncached, by the same statement on sqlite3 itself."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from remit.harness.store import SYSTEM, Store
from remit.harness.store.space import SELECT_SPACE
from tools.benchmarks.ratios import Figure, ratio

__all__ = ["figures"]

_SPACES = 200


def figures(short: bool) -> Iterator[Figure]:
    """Yield one space read through the store by one row read with sqlite3."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    ids = [f"space-{i}" for i in range(_SPACES)]
    with tempfile.TemporaryDirectory(prefix="remit-bench.") as folder:
        path = Path(folder, "remit.db")
        with Store.open(path, create=now) as store:
            for id in ids:
                store.spaces.create(id, "plan", by=SYSTEM, now=now)
            raw = sqlite3.connect(path)
            statement = f"{SELECT_SPACE} WHERE id = ?"

            def base() -> None:
                for id in ids:
                    raw.execute(statement, (id,)).fetchone()

            def measured() -> None:
                for id in ids:
                    store.spaces.get(id)

            yield ratio(
                "mode of a space from the store, by sqlite3", base, measured, 1.6,
                rounds=15 if short else 41, per=_SPACES,
            )  # fmt: skip
            raw.close()
