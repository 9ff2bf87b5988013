"""A store on real disk, a clock that stands still, and a process to be killed."""

import os
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.harness.store import Store

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "remit.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path, create=NOW) as opened:
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
