from __future__ import annotations

from collections.abc import Iterator
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
