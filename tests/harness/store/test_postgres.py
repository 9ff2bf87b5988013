"""The store on a server: what each failure is told as, and what a lost connection leaves."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

import psycopg
import pytest

from remit.harness.store import Store, StoreConflict, StoreError, schema
from remit.harness.store.postgres_errors import shown
from remit.policy.problems import InputError, RemitError
from tests.harness.store.where import NOW, Remote, made, opened
from tests.server import PASSWORD, Server, name_of
from tests.server import server as started


@pytest.fixture
def where(server: Server) -> Iterator[Remote]:
    place = Remote(server, server.make())
    yield place
    place.remove()


def code(act: Callable[[], object]) -> str:
    with pytest.raises(RemitError) as caught:
        act()
    (problem,) = caught.value.problems
    assert PASSWORD not in str(caught.value)
    assert problem.hint
    return problem.code


def test_a_missing_database_is_made_on_request_alone(where: Remote) -> None:
    """A database is the server's to make, and what remit needs in it `remit init`'s."""
    assert code(lambda: Store.open(where.server.url("nowhere"), create=NOW)) == "store-missing"
    assert code(lambda: opened(where)) == "store-missing"
    for _ in range(2):
        with made(where) as store:
            assert [e.kind for e in store.log.read()] == ["workspace.made"]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://127.0.0.1:1/x", "store-unreachable"),
        ("postgresql://no.such.host.invalid/x", "store-unreachable"),
        ("postgresql:///x?host=/nowhere", "store-unreachable"),
        (f"postgresql://a:{PASSWORD}@[", "store-path"),
        (f"postgresql://a@h/d?pasword={PASSWORD}", "store-path"),
        (f"mysql://a:{PASSWORD}@h/d", "store-kind"),
    ],
)
def test_a_server_that_cannot_be_reached_is_told(url: str, told: str) -> None:
    """A wrong URL is the caller's mistake, a silent server the machine's."""
    assert code(lambda: Store.open(url, create=NOW)) == told


def test_who_may_not_is_told(where: Remote) -> None:
    """A wrong password, a user whom nobody knows, and one who may not look or make."""
    server, name = where.server, name_of(where.location)
    stranger = server.url(name).replace("postgres@", "stranger@")
    assert code(lambda: Store.open(stranger)) == "store-permission"
    assert code(lambda: Store.open(server.over_network(name, "wrong"))) == "store-permission"
    mine = server.over_network(name)
    assert code(lambda: Store.open(mine, create=NOW)) == "store-permission"
    made(where).close()
    assert code(lambda: Store.open(mine)) == "store-permission"


def test_a_password_works_and_is_never_shown(where: Remote) -> None:
    """Nor is one that stands among the URL's options."""
    server, name = where.server, name_of(where.location)
    server.run("GRANT CREATE ON SCHEMA public TO guarded", name)
    with Store.open(server.over_network(name), create=NOW) as store:
        assert store.location == f"postgresql://guarded@127.0.0.1:{server.port}/{name}"
        assert store.log.verify().ok
    assert shown("postgres://h/d?password=p&port=1") == "postgres://h/d?port=1"
    assert shown("postgres://a:p@q@h/d?PASSWORD=p&sslpassword=p") == "postgres://a@h/d"


def foreign(db: psycopg.Connection[object]) -> None:
    db.execute("CREATE TABLE theirs (x int)")


def newer(db: psycopg.Connection[object]) -> None:
    db.execute("UPDATE remit_store SET version = 99")


def test_what_is_no_database_of_ours_is_told(where: Remote) -> None:
    """Another program's and a newer remit's are told apart, also with `create`."""
    other = where.another()
    with other.connected() as db:
        foreign(db)
    made(where).close()
    with where.connected() as db:
        newer(db)
    for create in (None, NOW):
        assert code(partial(Store.open, other.location, create=create)) == "store-foreign"
        assert code(partial(Store.open, where.location, create=create)) == "store-newer"
    other.remove()


def test_two_workspaces_share_a_database_by_schemas(where: Remote) -> None:
    """What the URL says of the search path is where the tables are."""
    for name in ("one", "two"):
        where.server.run(f"CREATE SCHEMA {name}", name_of(where.location))
        url = f"{where.location}&options=-csearch_path%3D{name}"
        with Store.open(url, create=NOW) as store:
            store.spaces.create(name, "plan", by="operator", now=NOW)
            assert [s.id for s in store.spaces.list()] == [name]
    assert len(list(Path(os.environ["REMIT_HOME"], "anchors").iterdir())) == 2


def test_a_writer_is_waited_for_then_told_of(where: Remote) -> None:
    """Another session in the middle of a transaction; reads go on."""
    made(where).close()
    with Store.open(where.location, busy=0.1) as store, where.connected() as other:
        other.execute(f"SELECT pg_advisory_xact_lock({schema.APPLICATION_ID})")
        create = partial(store.spaces.create, "demo", "plan", by="operator", now=NOW)
        assert code(create) == "store-locked"
        assert store.spaces.list() == ()
        other.rollback()
        create()
        assert store.log.verify().ok


def test_a_server_that_takes_no_writes_is_told(where: Remote) -> None:
    """As a standby does, which can be read all the same."""
    made(where).close()
    where.server.run(
        f"ALTER DATABASE {name_of(where.location)} SET default_transaction_read_only = on"
    )
    with opened(where) as store:
        assert store.log.head() == 1
        act = partial(store.spaces.create, "demo", "plan", by="operator", now=NOW)
        assert code(act) == "store-read-only"


def cut(where: Remote) -> None:
    """End every session of a database, as a failing network does."""
    where.server.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE datname = '{name_of(where.location)}'"
    )


def test_a_lost_connection_is_made_anew_between_transactions(where: Remote) -> None:
    """A read, a write and a snapshot each come through; what was in a transaction is told."""
    with made(where) as store:
        acts: tuple[Callable[[], object], ...] = (
            store.log.head,
            lambda: store.spaces.create("demo", "plan", by="operator", now=NOW),
            store.log.verify,
            lambda: store.spaces.get("demo"),
        )
        for act in acts:
            cut(where)
            assert act() is not None

        def within() -> None:
            with store.log.writing(NOW) as writer:
                writer.record("lock.set", {"locked": True}, actor="operator", space="demo")
                cut(where)
                store.spaces.get("demo")

        assert code(within) == "store-lost"
        assert store.spaces.get("demo").locked is False
        store.spaces.set_lock("demo", True, by="operator", now=NOW)
        assert store.log.verify().ok
        assert store.log.rebuild().equal


def test_another_database_of_the_same_name_is_not_taken_for_the_first(where: Remote) -> None:
    """A connection that comes back to something else stops there."""
    with made(where) as store:
        store.spaces.create("demo", "plan", by="operator", now=NOW)
        cut(where)
        with where.connected() as db:
            db.execute("UPDATE remit_store SET id = 'other'")
        assert code(lambda: store.spaces.get("demo")) == "store-changed"


def test_a_killed_server_loses_nothing_that_was_said(where: Remote) -> None:
    """Kill -9 of the server while it is written to: what was answered is there, and it goes on."""
    with started() as server:
        # The one setting that a crash of the server asks for.
        with (server.folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write("fsync = on\nsynchronous_commit = on\nfull_page_writes = on\n")
        server.stop()
        server.start()
        place = Remote(server, server.make())
        said: list[int] = []
        with made(place) as store:
            store.spaces.create("demo", "plan", by="operator", now=NOW)

            def write() -> None:
                while True:
                    try:
                        event = store.log.record("decision", {}, actor="system", now=NOW)
                    except StoreError:
                        return
                    said.append(event.seq)

            writer = threading.Thread(target=write)
            writer.start()
            while len(said) < 20:
                pass
            server.stop(signal.SIGKILL)
            writer.join(30)
            assert code(lambda: store.log.head()) == "store-unreachable"
            server.start()
            assert store.log.head() >= said[-1]
            assert store.log.verify().problem is None
            store.spaces.set_mode("demo", "chat", by="operator", why="", now=NOW)
            assert store.log.rebuild().equal


def test_each_machine_holds_the_log_against_an_anchor_of_its_own(
    where: Remote, tmp_path: Path
) -> None:
    """A machine that joins says so in the log, and finds a tail that is cut from then on."""
    there, here = tmp_path / "there", tmp_path / "here"
    Store.open(where.location, create=NOW, data=there).close()
    with Store.open(where.location, data=here) as store:
        problem = store.log.verify().problem
        assert problem is not None
        assert problem.code == "anchor-missing"
    with Store.open(where.location, create=NOW, data=here) as store:
        assert [e.kind for e in store.log.read()] == ["workspace.made", "anchor.made"]
        assert store.log.verify().ok
        store.log.record("decision", {}, actor="system", now=NOW)
    with where.tampering() as db:
        db.execute("DELETE FROM event WHERE seq = 3")
    with Store.open(where.location, data=here) as store:
        assert store.log.verify().problem.code == "log-cut"  # type: ignore[union-attr]
    # The other machine saw record 1 alone: to it nothing is missing.
    with Store.open(where.location, data=there) as store:
        assert store.log.verify().ok


def test_a_copy_of_a_database_has_an_anchor_of_its_own(where: Remote) -> None:
    """Two that have the same past go apart without one being taken for the other."""
    with made(where) as store:
        store.log.record("decision", {"n": 1}, actor="system", now=NOW)
    copy = Remote(where.server, where.server.make(name_of(where.location)))
    with opened(copy) as store:
        store.log.record("decision", {"n": 2}, actor="system", now=NOW)
        assert store.log.verify().ok
    with opened(where) as store:
        store.log.record("decision", {"n": 3}, actor="system", now=NOW)
        assert store.log.verify().ok
    copy.remove()


def test_ids_sort_by_bytes_whatever_the_language_of_the_server(where: Remote) -> None:
    """Lists come in one order on every database."""
    with made(where) as store:
        for id in ("b", "B", "a-1", "A", "a"):
            store.spaces.create(id, "plan", by="operator", now=NOW)
        assert [s.id for s in store.spaces.list()] == ["A", "B", "a", "a-1", "b"]


@pytest.mark.parametrize("odd", ["\x00", "\ud800", "\\u0000", "\\\\u0041", '"\\', "é\u202e\n"])
def test_text_that_the_server_cannot_read_hides_no_tool(where: Remote, odd: str) -> None:
    """What a model wrote beside it keeps nobody from asking which tools were called."""
    with made(where) as store:
        store.spaces.create("demo", "plan", by="operator", now=NOW)
        for tool in ("git:push", f"git:{odd}"):
            body = {"tool": tool, "cause": "effect", "reason": f"{odd}{odd}"}
            store.log.record("decision", body, actor="system", now=NOW, space="demo")
        assert "git:push" in store.grants.called("demo")
        assert len(store.grants.called("demo")) == 2


def test_what_has_a_nul_is_found_nowhere(where: Remote, now: datetime) -> None:
    """It is as unknown as any other name that nobody gave."""
    with made(where) as store:
        assert code(lambda: store.spaces.get("a\x00b")) == "unknown-space"
        assert store.log.read("a\x00b") == []
        with pytest.raises(InputError):
            store.spaces.create("a\x00b", "plan", by="operator", now=now)


def test_the_log_cannot_be_emptied_either(where: Remote) -> None:
    """TRUNCATE is no way around what refuses to delete."""
    made(where).close()
    refused = pytest.raises(psycopg.IntegrityError, match="append-only")
    with refused, where.connected() as db:
        db.execute("TRUNCATE event")


def test_a_migration_waits_for_no_reader_and_is_seen_by_all(
    where: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is open when another one takes the tables further goes on."""
    with made(where) as old:
        old.spaces.create("demo", "plan", by="operator", now=NOW)
        for _ in range(8):
            old.spaces.get("demo")
        step = lambda db: schema.sql(db, "ALTER TABLE space ADD COLUMN added TEXT")  # noqa: E731
        monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
        monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
        opened(where).close()
        assert old.spaces.get("demo").mode == "plan"
        old.spaces.set_mode("demo", "chat", by="operator", why="", now=NOW)
        with pytest.raises(StoreConflict):
            old.spaces.create("demo", "plan", by="operator", now=NOW)
