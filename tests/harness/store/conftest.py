"""A store on a real disk or server, a clock that stands still, and a process to be killed."""

import os
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from remit.harness.store import Store
from tests.harness.store.where import NOW, File, Remote, Where, made


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "remit.db"


@pytest.fixture(params=("sqlite", "postgres"))
def where(request: pytest.FixtureRequest, path: Path) -> Iterator[Where]:
    """A place for a store: what holds for one kind of database holds for the other."""
    if request.param == "sqlite":
        yield File(path)
        return
    server = request.getfixturevalue("server")
    place = Remote(server, server.make())
    yield place
    place.remove()


@pytest.fixture
def store(where: Where) -> Iterator[Store]:
    with made(where) as opened:
        yield opened


@pytest.fixture
def space(store: Store) -> str:
    """A space in plan mode."""
    return store.spaces.create("demo", "plan", by="operator", now=NOW).id


@pytest.fixture
def fork() -> Callable[[], int]:
    """Fork, whatever threads the runner has: those that spread tests have some, none of ours."""

    def run() -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return os.fork()

    return run


@pytest.fixture
def forked(fork: Callable[[], int]) -> Callable[[Callable[[], None]], int]:
    """Run something in a child that ends with it, and return how it ended.

    0 is well, 1 an exception, less than 0 the signal that killed it. A fork costs a hundredth of
    an interpreter's start, so hundreds of kills fit into a test.
    """

    def run(act: Callable[[], None]) -> int:
        child = fork()
        if child == 0:
            code = 1
            try:
                act()
                code = 0
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return run
