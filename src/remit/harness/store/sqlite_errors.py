"""What SQLite raises, told in one sentence with a stable code."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import peewee

from remit.harness.store.errors import StoreError
from remit.policy.problems import Problem

__all__ = ["FAILURES", "held", "told"]

#: What the database raises by itself.
FAILURES = (peewee.PeeweeException, sqlite3.Error)

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
    "FULL": ("store-full", "there is no room left for the database `{path}`", "make room"),
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
    known = _TOLD.get(_named(error))
    if known is None:
        return None
    code, message, hint = known
    return StoreError(Problem(code, message.format(path=path), hint))


def held(error: Exception) -> bool:
    """Say whether a failure is that another process has the database just now."""
    return _named(error) in ("BUSY", "LOCKED")


def _named(error: Exception) -> str:
    """Return SQLite's own name of a failure, without what it adds to it."""
    cause = error if isinstance(error, sqlite3.Error) else error.__context__
    name = getattr(cause, "sqlite_errorname", None) or ""
    return name.removeprefix("SQLITE_").partition("_")[0]
