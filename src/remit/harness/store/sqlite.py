"""One connection to one SQLite file, opened with every check and shared under one lock.

A store has a single connection, and a lock around each read and each transaction. Threads wait for
each other for as long as a transaction takes, well under a millisecond; in exchange there is one
thing to close, and a reader never sees an older snapshot than a writer beside it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import peewee

from remit.harness.store import schema
from remit.harness.store.anchor import Anchor
from remit.harness.store.database import prepare
from remit.harness.store.errors import StoreError, telling
from remit.harness.store.sqlite_errors import FAILURES, held, told
from remit.policy.problems import InputError, Problem

__all__ = ["Sqlite"]

_HEADER = b"SQLite format 3\0"
#: Seconds between two looks at whether somebody wrote.
_LOOK = 0.05
#: And between two tries of what SQLite itself does not wait for.
_PAUSE = 0.01


class Sqlite:
    """An open file of ours. Safe to use from several threads, not across a fork."""

    def __init__(self, path: Path, *, create: bool, busy: float) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._told = partial(told, path=path)
        #: How many transactions of our own have ended, which SQLite does not count for us.
        self._own = 0
        _look(path, create=create)
        with telling(self._told):
            self.peewee = peewee.SqliteDatabase(
                str(path),
                # FULL: the log is on disk before its anchor says so. Few pages to a checkpoint: a
                # journal that is written over costs a third less to flush than one that grows.
                pragmas=(
                    ("foreign_keys", 1),
                    ("synchronous", "FULL"),
                    ("wal_autocheckpoint", 100),
                ),
                timeout=busy,
                thread_safe=False,
                autoconnect=False,
                check_same_thread=False,
            )
            self.peewee.connect()
            try:
                # The one connection that there is, for the hot read.
                connection: Any = self.peewee.connection
                self._connection: sqlite3.Connection = connection()
                # Nothing is also what is left where the making was cut short.
                if not self.version() and not create:
                    raise _missing(path)
                _write_ahead(self.peewee, busy)
                prepare(self, self.location)
            except BaseException:
                self.peewee.close()
                raise

    @property
    def location(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def anchor(self) -> Anchor:
        """The anchor lies beside the file."""
        return Anchor.beside(self.path)

    def close(self) -> None:
        """Close the connection; the store cannot be used any more."""
        with self._lock, telling(self._told):
            self.peewee.close()

    def rows(self, sql: str, params: Sequence[object] = ()) -> list[Any]:
        """Run one reading statement and return its rows."""
        with self._lock, telling(self._told):
            found: list[Any] = schema.sql(self.peewee, sql, params).fetchall()
            return found

    def row(self, sql: str, params: Sequence[object] = ()) -> Any:
        """Run one reading statement and return its first row, None where there is none."""
        # The hot read: a context manager for the errors would cost half of the statement.
        with self._lock:
            try:
                return self._connection.execute(sql, params).fetchone()
            except FAILURES as error:
                if (ours := self._told(error)) is None:
                    raise
                raise ours from error

    @contextmanager
    def reading(self) -> Iterator[peewee.Database]:
        """Read several statements from one snapshot."""
        with self._lock, telling(self._told), self.peewee.transaction("DEFERRED"):
            yield self.peewee

    @contextmanager
    def writing(self) -> Iterator[peewee.Database]:
        """Do what follows in one transaction, begun as a writer so that nothing read can change."""
        with self._lock, telling(self._told):
            try:
                with self.peewee.transaction("IMMEDIATE"):
                    yield self.peewee
            finally:
                self._own += 1

    def stamp(self) -> object | None:
        """Return what is equal only while nobody committed; None within a transaction."""
        with self._lock:
            if self._connection.in_transaction:
                return None
            return self._own, self.row("PRAGMA data_version")[0]

    @contextmanager
    def watching(self) -> Iterator[Callable[[float], object]]:
        """Give what looks again and again: a file tells nobody that it was written."""
        last = self.stamp()

        def wait(seconds: float) -> None:
            nonlocal last
            until = time.monotonic() + seconds
            while (now := self.stamp()) == last and (left := until - time.monotonic()) > 0:
                time.sleep(min(_LOOK, left))
            last = now

        yield wait

    def version(self) -> int:
        """Return the version that is there, 0 where nothing is; raise if it is not ours."""
        db = self.peewee
        if schema.sql(db, "SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
            return 0
        if db.pragma("application_id") != schema.APPLICATION_ID:
            raise StoreError(
                Problem(
                    "store-foreign",
                    f"`{self.path}` is a database of another program",
                    "name another file; `remit init` makes a database of ours",
                )
            )
        return int(db.pragma("user_version") or 0)

    def mark(self, version: int) -> None:
        """Say which version is there."""
        self.peewee.pragma("application_id", schema.APPLICATION_ID)
        self.peewee.pragma("user_version", version)


def _write_ahead(db: peewee.SqliteDatabase, busy: float) -> None:
    """Have the database in WAL mode, whoever else is about to make that of it.

    Two that both hold a snapshot and want it alone would wait for each other for ever, so SQLite
    fails one of them at once, whatever its timeout: who fails looks again.
    """
    until = time.monotonic() + busy
    while str(db.pragma("journal_mode")).lower() != "wal":
        try:
            db.pragma("journal_mode", "wal")
        except peewee.OperationalError as error:
            if not held(error) or time.monotonic() >= until:
                raise
            time.sleep(_PAUSE)


def _look(path: Path, *, create: bool) -> None:
    """Look at the file before SQLite does; make an empty one where ``create`` says so."""
    try:
        found = path.stat()
    except FileNotFoundError:
        if not create:
            raise _missing(path) from None
        _make(path)
        return
    except NotADirectoryError:
        raise InputError(
            Problem("store-path", f"the path `{path}` leads through a file", "name another path")
        ) from None
    except OSError as error:
        raise _permission(path, error) from error
    if stat.S_ISDIR(found.st_mode):
        raise InputError(
            Problem("store-directory", f"`{path}` is a folder", "name the database file in it")
        )
    if not stat.S_ISREG(found.st_mode):
        raise InputError(Problem("store-path", f"`{path}` is not a file", "name another path"))
    try:
        with path.open("rb") as file:
            header = file.read(len(_HEADER))
    except OSError as error:
        raise _permission(path, error) from error
    if header and header != _HEADER:
        raise StoreError(
            Problem(
                "store-corrupt",
                f"`{path}` is not a database, or its first page is damaged",
                "name another file, or put a copy of it back",
            )
        )
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise StoreError(
            Problem(
                "store-read-only",
                f"the database `{path}` cannot be written",
                "make the file and its folder writable: every decision is recorded",
            )
        )


def _make(path: Path) -> None:
    """Make an empty file for the owner alone: the log holds what calls were given."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise _permission(path, error) from error


def _missing(path: Path) -> StoreError:
    return StoreError(
        Problem("store-missing", f"there is no database at `{path}`", "`remit init` makes one")
    )


def _permission(path: Path, error: OSError) -> StoreError:
    return StoreError(
        Problem(
            "store-permission",
            f"the database `{path}` cannot be opened: {(error.strerror or str(error)).lower()}",
            "look at the permissions of the file and of its folder",
        )
    )
