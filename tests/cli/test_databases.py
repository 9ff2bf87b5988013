"""Databases that cannot be used: each is told once, with what to do, and nothing is lost."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.cli.options import Place
from remit.harness.store import Store
from tests.cli.conftest import Remit

COMMANDS = [
    ("space", "list"),
    ("space", "show", "desk"),
    ("approvals", "list"),
    ("plans", "list"),
    ("log",),
    ("log", "verify"),
]


def corrupt(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 8192)


def no_database(path: Path) -> None:
    path.write_text("a letter to a friend")


def foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE bookmarks (url TEXT)")
    db.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


def missing(path: Path) -> None:
    path.unlink()


#: How it is spoilt, and the code that tells of it.
SPOILT: dict[str, tuple[Callable[[Path], None], str]] = {
    "corrupt": (corrupt, "store-corrupt"),
    "no database": (no_database, "store-corrupt"),
    "of another program": (foreign, "store-foreign"),
    "of a newer remit": (newer, "store-newer"),
    "missing": (missing, "store-missing"),
}


@pytest.fixture
def spoiled(remit: Remit, workspace: dict[str, str]) -> Path:
    """The database of a workspace, closed and whole in one file."""
    remit("space", "create", "desk")
    with sqlite3.connect(workspace["db"]) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return Path(workspace["db"])


@pytest.mark.parametrize(("spoil", "code"), SPOILT.values(), ids=SPOILT)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_spoiled(
    remit: Remit,
    spoiled: Path,
    spoil: Callable[[Path], None],
    code: str,
    command: tuple[str, ...],
) -> None:
    """Every command says the same of it, exits with 3, and leaves the file as it is."""
    spoil(spoiled)
    before = spoiled.read_bytes() if spoiled.exists() else None

    said = remit(*command)

    assert (said.code, said.out) == (3, "")
    assert f"[{code}]" in said.err
    assert "hint:" in said.err
    assert (spoiled.read_bytes() if spoiled.exists() else None) == before


def test_locked(remit: Remit, spoiled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that another process holds is waited for, then told of; nothing is written."""
    monkeypatch.setattr(Place, "store", lambda self: Store.open(self.workspace.db, busy=0.1))
    with sqlite3.connect(spoiled, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")

        said = remit("space", "set", "desk", "plan")

        other.execute("ROLLBACK")
    other.close()
    assert said.code == 3
    assert "[store-locked]" in said.err
    assert remit("space", "show", "desk", "--json").json["mode"] == "chat"


@pytest.mark.parametrize(
    ("db", "code", "told"),
    [("folder", 2, "store-directory"), ("mysql://h/d", 2, "store-kind")],
)
def test_named_wrong(remit: Remit, tmp_path: Path, db: str, code: int, told: str) -> None:
    """A database that cannot be one is a wrong command."""
    (tmp_path / "folder").mkdir()
    name = db if "://" in db else str(tmp_path / db)

    said = remit("space", "list", "--db", name)

    assert said.code == code
    assert f"[{told}]" in said.err
