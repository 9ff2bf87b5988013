"""The log: chained, anchored, only ever longer; the tables are what it says."""

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest

from remit.harness.store import KINDS, Store, StoreError
from remit.harness.store.anchor import Anchor, Head
from remit.harness.store.events import stamp
from remit.harness.store.fold import FOLDED
from remit.policy.problems import InputError
from tests.harness.store.where import File, Where, made, opened

INTEGRITY = (sqlite3.IntegrityError, psycopg.IntegrityError)


@pytest.fixture
def filled(store: Store, space: str, now: datetime) -> Store:
    """A log of eight records."""
    store.spaces.set_mode(space, "chat", by="operator:ann", why="go", now=now)
    for n in range(5):
        store.log.record("decision", {"n": n}, actor="agent:c1", now=now, space=space)
    return store


def test_records_follow_each_other(filled: Store) -> None:
    """Numbers have no gaps and each record holds the hash of the one before it."""
    events = filled.log.read()
    assert [e.seq for e in events] == list(range(1, 9))
    assert [e.prev for e in events[1:]] == [e.hash for e in events[:-1]]
    assert filled.log.verify().records == filled.log.verify().anchored == 8
    assert filled.data_version() == 8


def test_reading_is_by_space_number_and_kind(filled: Store, now: datetime) -> None:
    """`after` is what a follower has seen already."""
    filled.spaces.create("other", "chat", by="operator", now=now)
    assert [e.seq for e in filled.log.read(after=7)] == [8, 9]
    assert [e.kind for e in filled.log.read("other")] == ["space.made"]
    assert [e.body["n"] for e in filled.log.read("demo", kinds=("decision",), limit=2)] == [0, 1]


def test_the_log_is_append_only_in_the_database_itself(filled: Store, where: Where) -> None:
    """A stray statement cannot rewrite it, whoever runs it."""
    for statement in ("UPDATE event SET actor = 'x'", "DELETE FROM event WHERE seq = 8"):
        refused = pytest.raises(INTEGRITY, match="append-only")
        with refused, where.connected() as db:
            db.execute(statement)


TAMPERED = {
    "a column": ("UPDATE event SET actor = 'operator' WHERE seq = 5", "log-broken", "record 5 "),
    "the body": ("UPDATE event SET body = '{}' WHERE seq = 4", "log-broken", "record 4 "),
    "a hash": ("UPDATE event SET hash = prev WHERE seq = 6", "log-broken", "record 6 "),
    "one gone": ("DELETE FROM event WHERE seq = 3", "log-missing", "record 3 is missing"),
    "the first gone": ("DELETE FROM event WHERE seq = 1", "log-missing", "record 1 is missing"),
    "the last gone": ("DELETE FROM event WHERE seq = 8", "log-cut", "record 8 is missing"),
    "a tail gone": ("DELETE FROM event WHERE seq > 5", "log-cut", "records 6 to 8 are missing"),
    "all gone": ("DELETE FROM event", "log-cut", "records 1 to 8 are missing"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_the_first_broken_or_missing_record_is_named(
    name: str, filled: Store, where: Where
) -> None:
    """Whatever was done to the log, `verify` says where it begins."""
    statement, code, words = TAMPERED[name]
    with where.tampering() as db:
        db.execute(statement)
    problem = filled.log.verify().problem
    assert problem is not None
    assert problem.code == code
    assert words in problem.message


def test_a_value_of_another_type_is_a_broken_record(path: Path, now: datetime) -> None:
    """SQLite keeps bytes where text was, and no text has the hash of bytes."""
    where = File(path)
    with made(where) as store:
        with where.tampering() as db:
            db.execute("UPDATE event SET actor = x'ff'")
        problem = store.log.verify().problem
    assert problem is not None
    assert problem.code == "log-broken"


def test_a_cut_log_is_not_written_on(filled: Store, where: Where, now: datetime) -> None:
    """What is written next would hide the cut, so it is refused until a person decides."""
    with where.tampering() as db:
        db.execute("DELETE FROM event WHERE seq = 8")
    with pytest.raises(StoreError) as caught:
        filled.spaces.set_mode("demo", "plan", by="operator", why="", now=now)
    assert caught.value.problems[0].code == "log-cut"
    assert filled.spaces.get("demo").mode == "chat"


def test_another_log_of_the_same_length_is_not_written_on(
    filled: Store, where: Where, now: datetime
) -> None:
    """The anchor names a record by its hash, not by its number alone."""
    other = where.another()
    with made(other) as second:
        for n in range(8):
            second.log.record("decision", {"n": n}, actor="system", now=now)
    filled.close()
    where.replace(other)
    with opened(where) as store:
        problem = store.log.verify().problem
        assert problem is not None
        assert problem.code == "log-changed"
        with pytest.raises(StoreError) as caught:
            store.log.record("decision", {}, actor="system", now=now)
        assert caught.value.problems[0].code == "log-changed"


def test_an_older_copy_is_taken_on_when_its_anchor_is_removed(
    filled: Store, where: Where, now: datetime
) -> None:
    """A person who means it removes the anchor; the log says for ever that it was made anew."""
    with where.tampering() as db:
        db.execute("DELETE FROM event WHERE seq > 6")
    where.anchor.unlink()
    problem = filled.log.verify().problem
    assert problem is not None
    assert problem.code == "anchor-missing"
    filled.log.record("decision", {}, actor="system", now=now)
    assert filled.log.verify().ok
    made = filled.log.read(kinds=("anchor.made",))
    assert [e.body["seq"] for e in made] == [6]


def test_a_log_ahead_of_its_anchor_is_whole(
    filled: Store, where: Where, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash after the commit leaves the anchor behind; that is told from a cut, and mended."""
    anchor = where.anchor
    before = anchor.read_bytes()
    filled.log.record("decision", {}, actor="system", now=now)
    anchor.write_bytes(before)
    found = filled.log.verify()
    assert (found.ok, found.ahead) == (True, 1)
    filled.log.record("decision", {}, actor="system", now=now)
    assert filled.log.verify().ahead == 0


def test_an_anchor_never_goes_back(path: Path) -> None:
    """Of two processes that commit, the slower one to anchor does not undo what the other did."""
    anchor, later, earlier = Anchor.beside(path), Head(8, "b" * 64), Head(7, "a" * 64)
    with anchor.held() as fd:
        anchor.advance(fd, later)
        anchor.advance(fd, earlier)
    assert anchor.read() == later


def test_a_damaged_anchor_is_told(filled: Store, where: Where, now: datetime) -> None:
    """An anchor that names nothing is not taken for none."""
    where.anchor.write_text("rubbish\n")
    acts: tuple[Callable[[], object], ...] = (
        filled.log.verify,
        lambda: filled.log.record("decision", {}, actor="system", now=now),
    )
    for act in acts:
        with pytest.raises(StoreError) as caught:
            act()
        assert caught.value.problems[0].code == "anchor-damaged"


def test_an_anchor_is_never_a_link(path: Path, tmp_path: Path, now: datetime) -> None:
    """Whoever may write beside the database cannot have us write elsewhere."""
    target = tmp_path / "precious"
    target.write_text("keep me")
    path.with_name("remit.db.anchor").symlink_to(target)
    with pytest.raises(StoreError) as caught:
        Store.open(path, create=now)
    assert caught.value.problems[0].code == "anchor-failed"
    assert target.read_text() == "keep me"


def test_tables_that_differ_from_the_log_are_named_and_made_anew(
    filled: Store, where: Where, now: datetime
) -> None:
    """`rebuild` names each row that is wrong, and makes all of them anew."""
    filled.spaces.create("gone", "plan", by="operator", now=now)
    with where.connected() as db:
        db.execute("UPDATE space SET mode = 'plan' WHERE id = 'demo'")
        db.execute("DELETE FROM space WHERE id = 'gone'")
        db.execute(
            "INSERT INTO space VALUES"
            " ('new', 'chat', 'normal', NULL, 'auto', false, 1, '2026', '[]', NULL, false, NULL)"
        )
    found = filled.log.rebuild()
    assert [p.message for p in found.problems] == [
        "row `demo` of `space` differs",
        "row `gone` of `space` is missing",
        "row `new` of `space` is in no record",
    ]
    assert not filled.log.rebuild(check=False).equal
    assert filled.log.rebuild().equal
    assert filled.spaces.get("demo").mode == "chat"
    assert {s.id for s in filled.spaces.list()} == {"demo", "gone"}


def test_a_log_that_cannot_be_folded_changes_no_table(filled: Store, where: Where) -> None:
    """A broken record is named, and the tables stay as they are."""
    with where.tampering() as db:
        db.execute("UPDATE event SET body = '{}' WHERE kind = 'space.made'")
    assert filled.log.rebuild().problems[0].code == "log-unfit"
    with pytest.raises(StoreError):
        filled.log.rebuild(check=False)
    assert filled.spaces.get("demo").mode == "chat"


def test_a_record_that_is_no_json_is_told(filled: Store, where: Where) -> None:
    """Reading on would show what nobody recorded."""
    with where.tampering() as db:
        db.execute("UPDATE event SET body = '{' WHERE seq = 4")
    with pytest.raises(StoreError) as caught:
        filled.log.read()
    assert caught.value.problems[0].code == "log-broken"


def test_only_kinds_without_a_table_are_recorded_from_outside(store: Store, now: datetime) -> None:
    """A table never changes by a record that its own rules did not make."""
    assert KINDS.keys() > FOLDED
    for kind in (*FOLDED, "mode.sett"):
        with pytest.raises(ValueError, match="kind"):
            store.log.record(kind, {}, actor="system", now=now)


def test_who_acts_is_always_named(store: Store, now: datetime) -> None:
    """A record without a known kind of actor could not be traced to anyone."""
    for actor in ("", "root", "operator:", "agent:", "agent:a b", "operator\n"):
        with pytest.raises(InputError):
            store.log.record("decision", {}, actor=actor, now=now)


def test_text_of_any_kind_is_recorded_as_it_was(store: Store, now: datetime) -> None:
    """Halves of surrogate pairs, controls and large texts come back as they went in."""
    body = {"text": "\ud800 \x00 \u202e é", "long": "x" * 100_000}
    store.log.record("decision", body, actor="system", now=now)
    assert store.log.read()[-1].body == body
    assert store.log.verify().ok


def test_times_are_utc_and_sort(now: datetime) -> None:
    """One width and one zone, whatever the caller's; a time without a zone is refused."""
    assert stamp(now) == "2026-11-30T12:00:00.000000Z"
    assert stamp(now) < stamp(now + timedelta(microseconds=1))
    with pytest.raises(ValueError, match="zone"):
        stamp(now.replace(tzinfo=None))
