"""Where the store of a test lies: a file or a server's database, and how to get at it otherwise."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import psycopg
from attrs import frozen

from remit.harness.store import Store
from tests.server import Server, name_of

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Where(Protocol):
    """One place for one store; nothing is there until a store is made."""

    @property
    def location(self) -> str: ...

    @property
    def anchor(self) -> Path: ...

    def connected(self) -> Any:
        """A context with a connection past the store; it commits at the end."""

    def tampering(self) -> Any:
        """The same, with the guards of the log put aside."""

    def another(self) -> Where:
        """A second place like this one."""

    def replace(self, other: Where) -> None:
        """Put another's database in the place of this one; nobody has either open."""

    def remove(self) -> None: ...


def opened(where: Where) -> Store:
    return Store.open(where.location)


def made(where: Where) -> Store:
    return Store.open(where.location, create=NOW)


@frozen
class File:
    """A file in a folder."""

    path: Path

    @property
    def location(self) -> str:
        return str(self.path)

    @property
    def anchor(self) -> Path:
        return self.path.with_name(f"{self.path.name}.anchor")

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path)) as db, db:
            yield db

    @contextmanager
    def tampering(self) -> Iterator[sqlite3.Connection]:
        with self.connected() as db:
            db.execute("DROP TRIGGER IF EXISTS event_update")
            db.execute("DROP TRIGGER IF EXISTS event_delete")
            yield db

    def another(self) -> File:
        return File(self.path.with_name(f"another-{self.path.name}"))

    def replace(self, other: Where) -> None:
        shutil.copy(other.location, self.path)

    def remove(self) -> None:
        for file in self.path.parent.glob(f"{self.path.name}*"):
            file.unlink()


@frozen
class Remote:
    """A database of a server; its anchor is in the data folder of the test."""

    server: Server
    location: str

    @property
    def anchor(self) -> Path:
        found = Path(os.environ["REMIT_HOME"], "anchors").glob(f"{name_of(self.location)}-*")
        (anchor,) = found
        return anchor

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(self.location) as db:
            yield db

    @contextmanager
    def tampering(self) -> Iterator[psycopg.Connection[Any]]:
        with self.connected() as db:
            db.execute("ALTER TABLE event DISABLE TRIGGER USER")
            yield db

    def another(self) -> Remote:
        return Remote(self.server, self.server.make())

    def replace(self, other: Where) -> None:
        with self.connected() as db:
            row = db.execute("SELECT id FROM remit_store").fetchone()
        self.remove()
        self.server.make(name_of(other.location), name_of(self.location))
        with self.connected() as db:
            db.execute("UPDATE remit_store SET id = %s", row)

    def remove(self) -> None:
        self.server.drop(self.location)
