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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import peewee

from remit.harness.store import schema
from remit.harness.store.errors import FAILURES, StoreError, telling, told
from remit.policy.problems import InputError, Problem

__all__ = ["Database"]

_HEADER = b"SQLite format 3\0"
#: How long to wait for another process to finish its transaction, in seconds.
BUSY_SECONDS = 5.0


class Database:
    """An open database of ours. Safe to use from several threads, not across a fork."""

    def __init__(self, path: Path, *, create: bool, busy: float = BUSY_SECONDS) -> None:
        self.path = path
        self._lock = threading.RLock()
        _look(path, create=create)
        with telling(path):
            self.peewee = peewee.SqliteDatabase(
                str(path),
                # FULL: the log is on disk before its anchor says so.
                pragmas=(("foreign_keys", 1), ("synchronous", "FULL")),
                timeout=busy,
                thread_safe=False,
                autoconnect=False,
                check_same_thread=False,
            )
            self.peewee.connect()
            try:
                self._prepare(create)
                # The one connection that there is, for the hot read.
                connection: Any = self.peewee.connection
                self._connection: sqlite3.Connection = connection()
            except BaseException:
                self.peewee.close()
                raise

    def close(self) -> None:
        """Close the connection; the store cannot be used any more."""
        with self._lock, telling(self.path):
            self.peewee.close()

    def rows(self, sql: str, params: Sequence[object] = ()) -> list[Any]:
        """Run one reading statement and return its rows."""
        with self._lock, telling(self.path):
            found: list[Any] = schema.sql(self.peewee, sql, params).fetchall()
            return found

    def row(self, sql: str, params: Sequence[object] = ()) -> Any:
        """Run one reading statement and return its first row, None where there is none."""
        # The hot read: a context manager for the errors would cost half of the statement.
        with self._lock:
            try:
                return self._connection.execute(sql, params).fetchone()
            except FAILURES as error:
                if (ours := told(error, self.path)) is None:
                    raise
                raise ours from error

    @contextmanager
    def reading(self) -> Iterator[peewee.Database]:
        """Read several statements from one snapshot."""
        with self._lock, telling(self.path), self.peewee.transaction("DEFERRED"):
            yield self.peewee

    @contextmanager
    def writing(self) -> Iterator[peewee.Database]:
        """Do what follows in one transaction, begun as a writer so that nothing read can change."""
        with self._lock, telling(self.path), self.peewee.transaction("IMMEDIATE"):
            yield self.peewee

    def _prepare(self, create: bool) -> None:
        """Recognise the database, and make or migrate its tables."""
        db = self.peewee
        if _empty(db):
            # Also what is left where the making was cut short, or another process is at it.
            if not create:
                raise _missing(self.path)
        else:
            self._recognise()
        if str(db.pragma("journal_mode")).lower() != "wal":
            db.pragma("journal_mode", "wal")
        if db.pragma("user_version") == schema.VERSION:
            return
        with db.transaction("IMMEDIATE"):
            # Asked again as the only writer: another process may have been first.
            if _empty(db):
                schema.create(db)
                db.pragma("application_id", schema.APPLICATION_ID)
            else:
                for step in schema.MIGRATIONS[int(db.pragma("user_version")) - 1 :]:
                    step(db)
            db.pragma("user_version", schema.VERSION)

    def _recognise(self) -> None:
        db = self.peewee
        if db.pragma("application_id") != schema.APPLICATION_ID:
            raise StoreError(
                Problem(
                    "store-foreign",
                    f"`{self.path}` is a database of another program",
                    "name another file; `remit init` makes a database of ours",
                )
            )
        if (version := int(db.pragma("user_version") or 0)) > schema.VERSION:
            raise StoreError(
                Problem(
                    "store-newer",
                    f"`{self.path}` was written by a newer remit: its version is {version}, "
                    f"this one knows up to {schema.VERSION}",
                    "use the newer remit",
                )
            )


def _empty(db: peewee.Database) -> bool:
    return schema.sql(db, "SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


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
