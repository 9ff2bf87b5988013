"""A database that an earlier remit made opens, and is then as if it had always been of today."""

import itertools
import re
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from remit.harness.store import ApprovalState, Overlay, Store, schema
from remit.policy.gate import Setting
from remit.policy.grants import Grant
from remit.policy.vocabulary import Dial, Verdict

DUMP = Path(__file__).with_name("version1.sql")


@pytest.fixture
def old(path: Path) -> Path:
    """A workspace as version 1 left it, with the anchor beside it."""
    text = DUMP.read_text()
    with closing(sqlite3.connect(path)) as db:
        db.executescript(text)
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    anchor = re.search("^-- anchor: (.*)$", text, re.M)
    assert anchor is not None
    path.with_name(f"{path.name}.anchor").write_text(f"{anchor[1]}\n")
    return path


def columns(path: Path) -> dict[str, object]:
    """Each table with its columns (but for their defaults) and its indexes."""
    with closing(sqlite3.connect(path)) as db:
        tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: (
                [(r[1], r[2], r[3], r[5]) for r in db.execute(f'PRAGMA table_info("{name}")')],
                sorted((r[1], r[2]) for r in db.execute(f'PRAGMA index_list("{name}")')),
            )
            for name in sorted(tables)
        }


def test_version_1_opens(old: Path, now: datetime) -> None:
    """All that was there is there, the log is whole, and its tables are its fold."""
    with Store.open(old) as store:
        assert store.log.verify().ok
        assert store.log.rebuild().problems == ()
        demo, pull = store.spaces.list()
        assert (demo.id, demo.mode, demo.dial, demo.revision) == ("demo", "chat", Dial.AUTO, 2)
        assert (pull.id, pull.mode, pull.remote) == ("pr-7", "review", True)
        for space in (demo, pull):
            assert (space.effects, space.overlay, space.locked) == ((), None, False)
        states = [a.state for a in store.approvals.list(now=now)]
        assert sorted(states) == ["pending", "pending", "pending", "rejected", "used"]
        assert [p.title for p in store.plans.list()] == ["ship it"]
        assert store.grants.list() == ()


def test_version_1_goes_on(old: Path, now: datetime) -> None:
    """What this version adds works in what the earlier one made, and a rebuild agrees."""
    with Store.open(old) as store:
        store.spaces.set_effect("demo", Setting("git.push", Verdict.DENY), by="operator", now=now)
        store.spaces.set_overlay("demo", Overlay("o.toml", "[ceiling]\n"), by="operator", now=now)
        store.spaces.set_lock("demo", True, by="operator", now=now)
        store.grants.add("demo", Grant("mcp-git:git_commit", "{}"), by="operator", now=now)
        waiting = store.approvals.list(now=now, state=ApprovalState.PENDING)
        store.approvals.decide(waiting[0].id, True, by="operator", now=now)
        assert store.log.verify().ok
        assert store.log.rebuild().equal
        kept = store.spaces.get("demo")
        assert not store.log.rebuild(check=False).problems
        assert store.spaces.get("demo") == kept


def test_version_1_becomes_what_is_made_today(old: Path, now: datetime, tmp_path: Path) -> None:
    """A migrated database has the tables, columns and indexes of a fresh one."""
    Store.open(old).close()
    fresh = tmp_path / "fresh.db"
    Store.open(fresh, create=now).close()
    assert columns(old) == columns(fresh)
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)


def test_a_killed_migration_is_done_by_the_next_opening(
    old: Path, forked: Callable[[Callable[[], None]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any statement, the database is of one version or the other, never between."""
    connect: Any = sqlite3.connect
    saved, anchor = old.read_bytes(), old.with_name(f"{old.name}.anchor").read_bytes()
    for at in itertools.count():
        for part in old.parent.glob("remit.db*"):
            part.unlink()
        old.write_bytes(saved)
        old.with_name(f"{old.name}.anchor").write_bytes(anchor)
        left = [at]

        def step(sql: str, left: list[int] = left) -> None:
            if not left[0]:
                signal.raise_signal(signal.SIGKILL)
            left[0] -= 1

        def traced(
            *args: Any, step: Callable[[str], None] = step, **kwargs: Any
        ) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*args, **kwargs)
            connection.set_trace_callback(step)
            return connection

        with monkeypatch.context() as patched:
            patched.setattr(sqlite3, "connect", traced)
            ended = forked(lambda: Store.open(old).close())
        assert ended in (0, -signal.SIGKILL)
        with Store.open(old) as store:
            assert store.log.verify().ok
            assert store.log.rebuild().equal
            assert store.spaces.get("demo").locked is False
        if ended == 0:
            break
    assert at > len(schema.MIGRATIONS) + 5
