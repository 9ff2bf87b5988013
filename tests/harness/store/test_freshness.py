"""A space that was read before is answered from memory only where nobody can have changed it."""

import itertools
import os
import threading
from collections.abc import Callable
from datetime import datetime

import pytest

from remit.harness.store import Store
from tests.harness.store.where import Where, made, opened

MODES = ("chat", "plan")


def switch(store: Store, mode: str, now: datetime) -> None:
    store.spaces.set_mode("demo", mode, by="operator", why="", now=now)


def test_whoever_changes_a_space_the_next_look_sees_it(
    store: Store, space: str, where: Where, now: datetime
) -> None:
    """By this store, by another, past any store, or taken back: no answer is a stale one."""
    assert [store.spaces.get(space).mode for _ in range(3)] == ["plan"] * 3
    switch(store, "chat", now)
    assert [store.spaces.get(space).mode for _ in range(3)] == ["chat"] * 3
    with opened(where) as other:
        switch(other, "plan", now)
        assert [store.spaces.get(space).mode for _ in range(3)] == ["plan"] * 3
    with where.connected() as raw:
        raw.execute("UPDATE space SET mode = 'review' WHERE id = 'demo'")
    assert [store.spaces.get(space).mode for _ in range(3)] == ["review"] * 3
    store.log.rebuild(check=False)
    assert [store.spaces.get(space).mode for _ in range(3)] == ["plan"] * 3

    def fail() -> None:
        with store.log.writing(now) as writer:
            body = {"mode": "chat", "revision": 9}
            writer.record("mode.set", body, actor="operator", space=space)
            assert [store.spaces.get(space).mode for _ in range(3)] == ["chat"] * 3
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [store.spaces.get(space).mode for _ in range(3)] == ["plan"] * 3


def test_no_look_is_older_than_the_last_word(
    where: Where, now: datetime, fork: Callable[[], int]
) -> None:
    """Another process says what it committed; every look after that shows it or a later one."""
    with made(where) as store:
        store.spaces.create("demo", "plan", by="operator", now=now)
    said, say = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.close(said)
            with opened(where) as other:
                for mode in itertools.islice(itertools.cycle(MODES), 300):
                    switch(other, mode, now)
                    os.write(say, b".")
        finally:
            os._exit(0)
    os.close(say)
    least = 1
    with opened(where) as store:
        while word := os.read(said, 4096):
            least += len(word)
            for _ in range(3):
                assert store.spaces.get("demo").revision >= least
    os.close(said)
    os.waitpid(child, 0)
    assert least == 301


def test_threads_of_one_store_see_each_other(store: Store, space: str, now: datetime) -> None:
    """What one thread committed, no other one reads the old value of."""
    least, stale, done = [1], [0], threading.Event()

    def look() -> None:
        while not done.is_set():
            wanted = least[0]
            stale[0] += store.spaces.get(space).revision < wanted

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for thread in lookers:
        thread.start()
    for n in range(100):
        switch(store, MODES[n % 2], now)
        least[0] = n + 2
    done.set()
    for thread in lookers:
        thread.join()
    assert stale == [0]


def test_many_spaces_are_kept_and_none_too_many(
    store: Store, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept has an end, and each space stays its own."""
    monkeypatch.setattr("remit.harness.store.spaces._KEPT", 3)
    ids = [store.spaces.create(f"s{n}", "plan", by="operator", now=now).id for n in range(8)]
    for _ in range(2):
        assert [store.spaces.get(id).id for id in ids] == ids
        assert len(store.spaces._kept) <= 3


class TestWait:
    """Waiting for records: woken by a commit of whoever, and over when the time is."""

    def test_there_already(self, store: Store) -> None:
        """What came before is told at once."""
        assert store.wait(0, 30) == 1

    def test_nothing_comes(self, store: Store) -> None:
        """Then the last number is told when the time is over."""
        assert store.wait(1, 0.1) == 1
        assert store.wait(1, 0) == 1

    def test_another_connection_commits(self, store: Store, where: Where, now: datetime) -> None:
        """The wait ends long before its time; reads and writes of the store go on meanwhile."""
        found: list[int] = []
        waits = [threading.Thread(target=lambda: found.append(store.wait(2, 30))) for _ in range(2)]
        for thread in waits:
            thread.start()
        store.spaces.create("one", "plan", by="operator", now=now)
        assert store.spaces.get("one").mode == "plan"
        with opened(where) as other:
            other.spaces.create("two", "plan", by="operator", now=now)
        for thread in waits:
            thread.join(20)
        assert found == [3, 3]
        assert store.wait(3, 0.05) == 3
