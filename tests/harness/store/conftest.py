"""A store on a real disk or server, and a clock that stands still."""

from collections.abc import Iterator
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
