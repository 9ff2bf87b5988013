"""Opening a store: what is made, what is recognised, and what each failure is told as."""

import os
import sqlite3
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import peewee
import psycopg
import pytest

from remit.harness.store import Store, StoreError, schema
from remit.harness.store.postgres import Postgres
from remit.harness.store.sqlite import Sqlite
from remit.policy.problems import InputError, RemitError
from tests.harness.store.where import Where, made, opened


def test_a_missing_database_is_made_on_request_alone(path: Path, now: datetime) -> None:
    """Without `create` nothing appears on disk, and the hint names `remit init`."""
    with pytest.raises(StoreError) as caught:
        Store.open(path)
    assert caught.value.problems[0].code == "store-missing"
    assert "remit init" in caught.value.problems[0].hint
    assert not path.exists()
    with Store.open(path, create=now) as store:
        assert [e.kind for e in store.log.read()] == ["workspace.made"]
    with Store.open(path, create=now) as store:
        assert store.log.head() == 1


def test_what_is_made_is_for_its_owner_alone(path: Path, now: datetime) -> None:
    """The log holds what calls were given, so nobody else may read it."""
    with Store.open(path.parent / "new" / "remit.db", create=now) as store:
        store.spaces.create("demo", "plan", by="operator", now=now)
        modes = {p.name: oct(p.stat().st_mode & 0o777) for p in store.path.parent.iterdir()}
    assert set(modes.values()) == {"0o600"}
    assert "remit.db.anchor" in modes


def foreign(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.close()


def newer(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xff" * 3996
    path.write_bytes(data)


def folder(path: Path) -> None:
    path.mkdir()


BAD: dict[str, tuple[str, Callable[[Path], object]]] = {
    "another program's": ("store-foreign", foreign),
    "text": ("store-corrupt", lambda p: p.write_text("not a database, just words\n")),
    "short": ("store-corrupt", lambda p: p.write_bytes(b"SQLite")),
    "empty": ("store-missing", lambda p: p.write_bytes(b"")),
    "a folder": ("store-directory", folder),
    "a pipe": ("store-path", os.mkfifo),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_database_of_ours_is_told(name: str, path: Path) -> None:
    """Each is one clear error with a code that names the path, and nothing is changed."""
    code, make = BAD[name]
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(RemitError) as caught:
        Store.open(path)
    (problem,) = caught.value.problems
    assert problem.code == code
    assert str(path) in problem.message
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize(("make", "code"), [(newer, "store-newer"), (damaged, "store-corrupt")])
def test_what_is_no_database_of_ours_any_more_is_told(
    path: Path, now: datetime, make: Callable[[Path], None], code: str
) -> None:
    """A newer schema and a damaged page are told apart, also with `create`."""
    Store.open(path, create=now).close()
    make(path)
    for create in (None, now):
        with pytest.raises(StoreError) as caught:
            Store.open(path, create=create)
        assert caught.value.problems[0].code == code


def test_a_path_through_a_file_is_told(path: Path, now: datetime) -> None:
    """A path that cannot be is the caller's mistake."""
    path.write_text("")
    with pytest.raises(InputError) as caught:
        Store.open(path / "remit.db", create=now)
    assert caught.value.problems[0].code == "store-path"


def test_a_url_of_another_kind_is_told(now: datetime) -> None:
    """It is no file's name either."""
    with pytest.raises(InputError) as caught:
        Store.open("mysql://localhost/remit", create=now)
    assert caught.value.problems[0].code == "store-kind"


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize(
    ("mode", "code"), [(0o600, "store-permission"), (0o644, "store-read-only")]
)
def test_permissions_are_told(
    mode: int, code: str, now: datetime, forked: Callable[[Callable[[], None]], int], tmp_path: Path
) -> None:
    """A user who may not read, and one who may not write, are told which."""
    path = tmp_path / "remit.db"
    Store.open(path, create=now).close()
    path.chmod(mode)
    for parent in (tmp_path, *tmp_path.parents):
        if parent != Path("/tmp") and parent.is_relative_to("/tmp"):
            parent.chmod(0o755)

    def as_nobody() -> None:
        os.setgid(65534)
        os.setuid(65534)
        with pytest.raises(StoreError) as caught:
            Store.open(path)
        assert caught.value.problems[0].code == code

    assert forked(as_nobody) == 0


def test_a_lock_is_told_after_the_wait(path: Path, now: datetime) -> None:
    """Another process in the middle of a transaction is waited for, then told of; reads go on."""
    Store.open(path, create=now).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Store.open(path, busy=0.05) as store:
        with pytest.raises(StoreError) as caught:
            store.spaces.create("demo", "plan", by="operator", now=now)
        assert caught.value.problems[0].code == "store-locked"
        assert store.spaces.list() == ()
        other.execute("ROLLBACK")
        other.close()
        store.spaces.create("demo", "plan", by="operator", now=now)
        assert store.log.verify().ok


def test_another_page_that_is_damaged_is_told_when_it_is_read(path: Path, now: datetime) -> None:
    """Damage that opening does not see is the same error later."""
    with Store.open(path, create=now) as store:
        for n in range(60):
            store.spaces.create(f"s{n}", "plan", by="operator", now=now)
    data = bytearray(path.read_bytes())
    for at in range(4096, len(data), 4096):
        data[at : at + 100] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(StoreError) as caught, Store.open(path) as store:
        store.spaces.list()
    assert caught.value.problems[0].code == "store-corrupt"


def test_a_fault_of_ours_is_no_store_error(store: Store) -> None:
    """A wrong statement keeps its own traceback instead of blaming the machine."""
    with pytest.raises((peewee.OperationalError, psycopg.ProgrammingError)):
        store._database.rows("SELECT nothing FROM nowhere")


def test_an_older_schema_is_migrated_in_one_transaction(
    where: Where, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps run in order from the version that is there; one that fails leaves it as it was."""
    with made(where) as store:
        store.spaces.create("demo", "plan", by="operator", now=now)

    def add(db: peewee.Database) -> None:
        schema.sql(db, "ALTER TABLE space ADD COLUMN added TEXT DEFAULT 'new'")

    def fail(db: peewee.Database) -> None:
        raise ZeroDivisionError

    done = schema.MIGRATIONS
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 2)
    monkeypatch.setattr(schema, "MIGRATIONS", (*done, add, fail))
    with pytest.raises(ZeroDivisionError):
        opened(where)
    monkeypatch.setattr(schema, "MIGRATIONS", (*done, add, lambda db: None))
    for _ in range(2):
        with opened(where) as store:
            assert store._database.row("SELECT added FROM space") == ("new",)
            assert isinstance(store._database, Sqlite | Postgres)
            assert store._database.version() == schema.VERSION


def test_threads_share_a_store(store: Store, space: str, now: datetime) -> None:
    """Reads and writes of several threads take turns; nothing is lost or doubled."""
    failed: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for n in range(15):
                store.log.record("decision", {"n": n}, actor=f"agent:c{name}", now=now, space=space)
                store.spaces.get(space)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(store.log.read(space, kinds=("decision",))) == 90
    assert store.log.verify().ok


def test_a_closed_store_can_be_closed_again(path: Path, now: datetime) -> None:
    """Closing leaves one file beside the anchor, and twice is once."""
    store = Store.open(path, create=now)
    store.close()
    store.close()
    assert {p.name for p in path.parent.iterdir()} == {"remit.db", "remit.db.anchor"}
    with pytest.raises(peewee.InterfaceError):
        store.spaces.list()


def test_a_read_of_a_mode_is_one_statement(path: Path, now: datetime) -> None:
    """A hot read is one look-up by key, or the proof that none is needed."""
    said: list[str] = []
    with Store.open(path, create=now) as store:
        space = store.spaces.create("demo", "plan", by="operator", now=now).id
    with Store.open(path) as fresh:
        assert isinstance(fresh._database, Sqlite)
        connect: Any = fresh._database.peewee.connection
        connect().set_trace_callback(said.append)
        for _ in range(3):
            fresh.spaces.get(space)
        connect().set_trace_callback(None)
        assert [s.split()[0] for s in said] == ["SELECT", "PRAGMA", "SELECT", "PRAGMA"]
        plan = fresh._database.row(f"EXPLAIN QUERY PLAN {said[0]}")
    assert "SEARCH space USING INDEX" in plan[-1]


@pytest.mark.parametrize("busy", [5.0, 0.05])
def test_waits_for_who_makes_it_at_the_same_time(path: Path, now: datetime, busy: float) -> None:
    """A database that another process writes while it is made is waited for, as long as is said.

    SQLite itself does not wait with its change to WAL mode, whatever the timeout.
    """
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.4, other.execute, ["ROLLBACK"])
    release.start()
    try:
        if busy < 1:
            with pytest.raises(StoreError, match="held by another process"):
                Store.open(path, create=now, busy=busy)
        else:
            with Store.open(path, create=now, busy=busy) as store:
                assert store.log.verify().ok
    finally:
        release.join()
        other.close()
