"""On a server too: a writer that is killed at any step loses nothing and repeats nothing."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from remit.harness.store import Store
from remit.harness.store import anchor as anchor_module
from remit.harness.store import plan_file as plan_file_module
from tests.harness.store.test_kill import CASES, NOW, WATCHED, Case, Steps, counted
from tests.harness.store.where import Remote, opened
from tests.server import Server, name_of

#: One without a file and one with; what the others write is killed on SQLite, and a server takes a
#: quarter of a second a kill.
SHAPES = ("granted call", "plan again")

Forked = Callable[[Callable[[], None]], int]


class Watched:
    """`os`, where each change of the anchor and of a plan's file is a step."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def __getattr__(self, name: str) -> object:
        there = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> object:
            if name != "open" or args[1] & os.O_CREAT:
                self.steps.step(f"os.{name}")
            return there(*args, **kwargs)

        return call if name in WATCHED else there


@contextmanager
def watched(steps: Steps) -> Iterator[None]:
    """Report each statement that is sent, and each change of a file; in a child, for good."""
    send: Any = psycopg.Cursor.execute

    def execute(cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        steps.step(str(query).split()[0])
        return send(cursor, query, *args, **kwargs)

    setattr(psycopg.Cursor, "execute", execute)  # noqa: B010
    for module in (anchor_module, plan_file_module):
        module.os = Watched(steps)  # type: ignore[attr-defined]
    yield
    steps.step("end")


class Ground:
    """One database that is put back as it was before each step, with its anchor and worktree."""

    def __init__(self, server: Server, folder: Path, case: Case) -> None:
        self.place = Remote(server, server.make())
        self.base = f"{name_of(self.place.location)}_base"
        self.tree, self.home = folder / "wt", Path(os.environ["REMIT_HOME"])
        self.saved = folder / "saved"
        self.tree.mkdir()
        with Store.open(self.place.location, create=NOW) as store:
            store.spaces.create("demo", "plan", by="operator", now=NOW, worktree=str(self.tree))
            case.before(store)
        server.run(f"ALTER DATABASE {name_of(self.place.location)} RENAME TO {self.base}")
        for name, path in (("wt", self.tree), ("home", self.home)):
            shutil.copytree(path, self.saved / name)

    def lay(self) -> None:
        """Put it back."""
        server, name = self.place.server, name_of(self.place.location)
        server.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.make(self.base, name)
        for saved, path in (("wt", self.tree), ("home", self.home)):
            shutil.rmtree(path)
            shutil.copytree(self.saved / saved, path)

    def remove(self) -> None:
        self.place.remove()
        self.place.server.run(f"DROP DATABASE {self.base}")


@pytest.mark.parametrize("name", SHAPES)
def test_a_killed_writer_loses_nothing_and_repeats_nothing(
    name: str, server: Server, tmp_path: Path, forked: Forked
) -> None:
    """Promise 8: killed at any statement or system call, the log verifies and tables equal it."""
    case = CASES[name]
    ground = Ground(server, tmp_path, case)
    for at in itertools.count():
        ground.lay()

        def act(at: int = at) -> None:
            with opened(ground.place) as store, watched(Steps(kill_at=at)):
                case.act(store)

        ended = forked(act)
        assert ended in (0, -signal.SIGKILL), f"step {at} ended with {ended}"
        with opened(ground.place) as store:
            assert store.log.verify().problem is None, at
            assert store.log.rebuild().problems == (), at
            case.act(store)
            store.log.record("contract", {"outcome": "unmet"}, actor="system", now=NOW)
            assert store.log.verify().problem is None, at
            assert store.log.verify().ahead == 0, at
            assert store.log.rebuild().problems == (), at
            assert {k: counted(store).get(k, 0) for k in case.leaves} == case.leaves, at
        if ended == 0:
            break
    # BEGIN, a look at the head, an insert, COMMIT, and the anchor's steps at the least.
    assert at >= 8
    ground.remove()


def test_a_killed_maker_leaves_what_a_second_one_finishes(server: Server, forked: Forked) -> None:
    """Killed at every third statement of the making, it is made whole by making it again."""
    for at in itertools.count(step=3):
        place = Remote(server, server.make())

        def make(at: int = at, place: Remote = place) -> None:
            with watched(Steps(kill_at=at)):
                Store.open(place.location, create=NOW).close()

        ended = forked(make)
        assert ended in (0, -signal.SIGKILL), f"step {at} ended with {ended}"
        with Store.open(place.location, create=NOW) as store:
            assert counted(store) == {"workspace.made": 1}
            assert store.log.verify().ok
            assert store.log.rebuild().equal
        place.remove()
        if ended == 0:
            break
    assert at > 20
