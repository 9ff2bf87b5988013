"""What SQLite raises, told in one sentence with a stable code."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import peewee

from remit.harness.store.errors import StoreError
from remit.policy.problems import Problem

__all__ = ["FAILURES", "held", "told"]

#: What the database raises by itself.
FAILURES = (peewee.PeeweeException, sqlite3.Error)

#: Bytes with fewer of which the index of a write-ahead log finds no room.
_SCARCE = 1 << 16

#: SQLite's result codes, by the part of the name before any extension of it.
_TOLD: dict[str, tuple[str, str, str]] = {
    "BUSY": (
        "store-locked",
        "the database `{path}` is held by another process",
        "try again; if it stays so, end the process that has it open",
    ),
    "LOCKED": (
        "store-locked",
        "the database `{path}` is held by another process",
        "try again; if it stays so, end the process that has it open",
    ),
    "READONLY": (
        "store-read-only",
        "the database `{path}` cannot be written",
        "make the file and its folder writable: every decision is recorded",
    ),
    "CORRUPT": (
        "store-corrupt",
        "the database `{path}` is damaged",
        "put a copy of it back, or move it away and run `remit init`",
    ),
    "NOTADB": (
        "store-corrupt",
        "`{path}` is not a database, or its first page is damaged",
        "name another file, or put a copy of it back",
    ),
    "CANTOPEN": (
        "store-permission",
        "the database `{path}` cannot be opened",
        "look at the permissions of the file and of its folder",
    ),
    "PERM": (
        "store-permission",
        "the database `{path}` cannot be opened",
        "look at the permissions of the file and of its folder",
    ),
    "FULL": (
        "store-full",
        "there is no room left for the database `{path}`",
        "make room on the disk that it is on, then do it again: nothing was recorded",
    ),
    "IOERR": (
        "store-io",
        "reading or writing the database `{path}` failed",
        "look at the disk that it is on",
    ),
}


def told(error: Exception, path: Path) -> StoreError | None:
    """Return the `StoreError` that tells of a failure, None if the failure is a fault of ours."""
    if not isinstance(error, FAILURES):
        return None
    name = _named(error)
    # A disk without room for the index of the write-ahead log is no full database to SQLite.
    known = _TOLD.get("FULL" if name == "IOERR" and _full(path) else name)
    if known is None:
        return None
    code, message, hint = known
    return StoreError(Problem(code, message.format(path=path), hint))


def _full(path: Path) -> bool:
    try:
        there = os.statvfs(path.parent)
    except OSError:
        return False
    return there.f_bavail * there.f_frsize < _SCARCE


def held(error: Exception) -> bool:
    """Say whether a failure is that another process has the database just now."""
    return _named(error) in ("BUSY", "LOCKED")


def _named(error: Exception) -> str:
    """Return SQLite's own name of a failure, without what it adds to it."""
    cause = error if isinstance(error, sqlite3.Error) else error.__context__
    # A full disk ends a transaction by itself; that it cannot be taken back then is no news.
    if cause is not None and "no transaction is active" in str(cause):
        before = cause.__context__
        return "" if not isinstance(before, Exception) else _named(before)
    name = getattr(cause, "sqlite_errorname", None) or ""
    return name.removeprefix("SQLITE_").partition("_")[0]
