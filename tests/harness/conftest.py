from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remit.harness.engine import Engine
from remit.harness.store import Store
from tests.harness.desk import START, Clock, Desk


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine.load()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "remit.db", create=START) as store:
        yield store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def chat(engine: Engine, store: Store, clock: Clock, tmp_path: Path) -> Desk:
    return Desk(engine, store, clock, "chat", tmp_path)


@pytest.fixture
def plan(engine: Engine, store: Store, clock: Clock, tmp_path: Path) -> Desk:
    return Desk(engine, store, clock, "plan", tmp_path)


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
