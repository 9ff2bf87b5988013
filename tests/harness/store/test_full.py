"""A full disk under the database is told as what it is, and nothing is lost by it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.harness.store import OPERATOR, Store, StoreError

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 700 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = (str(mount), "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(folder))
    if mount is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(("umount", str(folder)), check=True)


def _fill(folder: Path) -> Path:
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 512):
            continue
    return filler


def _many(store: Store) -> None:
    for i in range(200):
        store.spaces.create(f"s{i}", "chat", by=OPERATOR, now=NOW)


def test_opening(disk: Path) -> None:
    """Opening a database on a full disk says that there is no room, and works once there is."""
    path = str(disk / "remit.db")
    with Store.open(path, create=NOW) as store:
        store.spaces.create("desk", "chat", by=OPERATOR, now=NOW)
    filler = _fill(disk)
    with pytest.raises(StoreError) as caught:
        Store.open(path)
    (problem,) = caught.value.problems
    assert problem.code == "store-full"
    assert "make room" in problem.hint

    filler.unlink()
    with Store.open(path) as store:
        assert [s.id for s in store.spaces.list()] == ["desk"]


def test_writing(disk: Path) -> None:
    """What finds no room to be recorded is not done, and says so; it can be done afterwards."""
    with Store.open(str(disk / "remit.db"), create=NOW) as store:
        store.spaces.create("desk", "chat", by=OPERATOR, now=NOW)
        filler = _fill(disk)
        with pytest.raises(StoreError) as caught:
            _many(store)
        assert caught.value.problems[0].code == "store-full"
        made = {s.id for s in store.spaces.list()}

        filler.unlink()
        assert {s.id for s in store.spaces.list()} == made
        store.spaces.create("later", "chat", by=OPERATOR, now=NOW)
        assert store.log.verify().ok
