"""What the store needs of a database, whichever it is, and how the right one is opened.

Statements are written once, with ``?`` for what is passed; `schema.sql` spells that as the database
wants it. Two siblings are of this shape: `remit.harness.store.sqlite`, a file, and
`remit.harness.store.postgres`, a server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import peewee

from remit.harness.store import schema
from remit.harness.store.anchor import Anchor
from remit.harness.store.errors import StoreError
from remit.policy.problems import InputError, Problem

__all__ = ["BUSY_SECONDS", "Database", "Versioned", "connect", "prepare"]

#: How long to wait for another's transaction to end, in seconds.
BUSY_SECONDS = 5.0
_SERVERS = ("postgresql", "postgres")


class Database(Protocol):
    """One connection, shared by threads under one lock; not to be carried across a fork.

    Every method raises `StoreError` for what the machine does. A writer is the only one there is,
    from the first statement of its transaction to the last.
    """

    @property
    def location(self) -> str:
        """Where it is, as it may be shown: a path, or a URL without a password."""
        ...

    @property
    def anchor(self) -> Anchor:
        """The file on this machine that names the last record of its log."""
        ...

    def rows(self, sql: str, params: Sequence[object] = ()) -> list[Any]:
        """Run one reading statement and return its rows."""
        ...

    def row(self, sql: str, params: Sequence[object] = ()) -> Any:
        """Run one reading statement and return its first row, None where there is none."""
        ...

    def reading(self) -> AbstractContextManager[peewee.Database]:
        """Read several statements from one snapshot."""
        ...

    def writing(self) -> AbstractContextManager[peewee.Database]:
        """Do what follows in one transaction, begun as a writer so that nothing read can change."""
        ...

    def stamp(self) -> object | None:
        """Return what is equal only while nobody committed anything.

        None within a transaction, and where asking would cost as much as reading.
        """
        ...

    def watching(self) -> AbstractContextManager[Callable[[float], object]]:
        """Give what waits some seconds for a commit; it misses none from here on, and may err."""
        ...

    def close(self) -> None:
        """Close the connection; a second time does nothing."""
        ...


class Versioned(Protocol):
    """A database that tells which version of the tables it holds."""

    def version(self) -> int:
        """Return the version that is there, 0 where nothing is; raise if it is not ours."""
        ...

    def mark(self, version: int) -> None:
        """Say which version is there, within a transaction."""
        ...

    def writing(self) -> AbstractContextManager[peewee.Database]:
        """Begin as the only writer."""
        ...


def connect(location: str | Path, *, create: bool, busy: float, data: Path | None) -> Database:
    """Open the database at a path or a URL; ``data`` is where this machine keeps what is its own.

    The user's own data folder unless it is given; a file keeps it beside itself.
    """
    if "://" not in (text := str(location)):
        from remit.harness.store.sqlite import Sqlite

        return Sqlite(Path(location), create=create, busy=busy)
    if (scheme := text.partition("://")[0]) not in _SERVERS:
        raise InputError(
            Problem(
                "store-kind",
                f"there are no databases of the kind `{scheme}`",
                "give the path of a file, or a URL that begins with `postgresql://`",
            )
        )
    try:
        from remit.harness.store.postgres import Postgres
    except ImportError as error:
        raise StoreError(
            Problem(
                "store-driver",
                "what speaks to PostgreSQL is not installed",
                "`pip install 'remit[postgres]'`",
            )
        ) from error
    from remit.harness.location import ANCHORS, data_folder

    folder = data_folder(os.environ) if data is None else data
    return Postgres(text, create=create, busy=busy, anchors=folder / ANCHORS)


def prepare(database: Versioned, location: str) -> None:
    """Make the tables of an empty database, or take those that are there to this version."""
    if _known(database, location) == schema.VERSION:
        return
    with database.writing() as db:
        # Asked again as the only writer: another process may have been first.
        version = _known(database, location)
        if not version:
            schema.create(db)
        for step in schema.MIGRATIONS[version - 1 :] if version else ():
            step(db)
        if version != schema.VERSION:
            database.mark(schema.VERSION)


def _known(database: Versioned, location: str) -> int:
    if (version := database.version()) > schema.VERSION:
        raise StoreError(
            Problem(
                "store-newer",
                f"`{location}` was written by a newer remit: its version is {version}, "
                f"this one knows up to {schema.VERSION}",
                "use the newer remit",
            )
        )
    return version
