"""One connection to one PostgreSQL database, opened anew between transactions where it was lost.

Writers of all machines take turns: each transaction begins by taking one lock of the server's, so
records have no gaps and each follows the one before it. What is read in between was committed.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import peewee
import psycopg
from psycopg.conninfo import conninfo_to_dict

from remit.harness.store import schema
from remit.harness.store.anchor import Anchor
from remit.harness.store.database import prepare
from remit.harness.store.errors import StoreError, Teller, telling
from remit.harness.store.postgres_errors import shown, told
from remit.policy.problems import InputError, Problem

__all__ = ["Postgres"]

#: Held by whoever writes, until the transaction ends.
_WRITE = f"BEGIN; SELECT pg_advisory_xact_lock({schema.APPLICATION_ID})"
#: One that verifies thinks for as long as the log is; nobody waits for it.
_READ = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
    " SET LOCAL idle_in_transaction_session_timeout = 0"
)
_THERE = (
    "SELECT to_regclass('remit_store') IS NOT NULL, EXISTS (SELECT FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema())"
)
#: Its name tells a database of ours from that of another program. It has one row.
_META = "CREATE TABLE remit_store (id TEXT NOT NULL, version BIGINT NOT NULL)"
_LISTEN, _UNLISTEN = f"LISTEN {schema.CHANNEL}", f"UNLISTEN {schema.CHANNEL}"


class Postgres:
    """An open database of ours on a server. Safe to use from several threads, not across a fork."""

    def __init__(self, url: str, *, create: bool, busy: float, anchors: Path) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            # What the driver says of it could quote a password.
            raise InputError(
                Problem(
                    "store-path",
                    f"`{shown(url)}` is no URL of a database",
                    "write `postgresql://user@host:port/database`",
                )
            ) from None
        self.location = shown(url)
        self._lock = threading.RLock()
        self._told = partial(told, location=self.location)
        self._idle: list[psycopg.Connection[Any]] = []
        self._closed = False
        dialled = partial(told, location=self.location, dialling=True)
        self.peewee = _Server(url, _settings(given, busy), dialled, self._again)
        with telling(self._told):
            self._open()
            try:
                if not self.version() and not create:
                    raise self._missing()
                prepare(self, self.location)
                self._id = self._identity()
            except BaseException:
                self.close()
                raise
        database, where = self._id[1:]
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", database)[:40]
        key = hashlib.sha256("\0".join((self._id[0], database, where)).encode()).hexdigest()[:16]
        self.anchor = Anchor(anchors / f"{name}-{key}.anchor")
        with suppress(OSError):  # told when the anchor is written
            anchors.mkdir(mode=0o700, parents=True, exist_ok=True)

    def close(self) -> None:
        """Close the connections; the store cannot be used any more."""
        with self._lock, telling(self._told):
            self._closed = True
            self.peewee.close()
            while self._idle:
                self._idle.pop().close()

    def rows(self, sql: str, params: Sequence[object] = ()) -> list[Any]:
        """Run one reading statement and return its rows."""
        return self._run(sql, params, None).fetchall()

    def row(self, sql: str, params: Sequence[object] = ()) -> Any:
        """Run one reading statement and return its first row, None where there is none."""
        return self._run(sql, params, True).fetchone()

    def _run(
        self, sql: str, params: Sequence[object], prepared: bool | None
    ) -> psycopg.Cursor[Any]:
        with self._lock:
            text = schema.spelt(sql)
            try:
                return self._connection.execute(text, params, prepare=prepared)
            except psycopg.Error as error:
                with telling(self._told):
                    # What has a NUL is found nowhere: no text there can have one.
                    found = [p.replace("\0", "\ufffd") if type(p) is str else p for p in params]
                    if found == [*params] and not self._again():
                        raise error
                    return self._connection.execute(text, found, prepare=prepared)

    @contextmanager
    def reading(self) -> Iterator[peewee.Database]:
        """Read several statements from one snapshot."""
        with self._lock, telling(self._told), self.peewee.transaction(_READ):
            yield self.peewee

    @contextmanager
    def writing(self) -> Iterator[peewee.Database]:
        """Do what follows in one transaction, once no other writer is in one."""
        with self._lock, telling(self._told), self.peewee.transaction(_WRITE):
            yield self.peewee

    def stamp(self) -> object | None:
        """Return None: to ask a server costs as much as to read."""
        return None

    @contextmanager
    def watching(self) -> Iterator[Callable[[float], object]]:
        """Give what waits until the server tells of a commit, on a connection of its own."""
        with telling(self._told):
            connection = self._idle.pop() if self._idle else self.peewee.dial()
            try:
                connection.execute(_LISTEN)
                yield lambda seconds: list(connection.notifies(timeout=seconds, stop_after=1))
                # One that listens and is not read would hold up the server's queue.
                connection.execute(_UNLISTEN)
            except BaseException:
                connection.close()
                raise
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    def version(self) -> int:
        """Return the version that is there, 0 where nothing is; raise if it is not ours."""
        ours, something = self.row(_THERE)
        if ours:
            return int(self.row("SELECT version FROM remit_store")[0])
        if something:
            raise StoreError(
                Problem(
                    "store-foreign",
                    f"`{self.location}` is a database of another program",
                    "make one for remit alone, or a schema, and name it",
                )
            )
        return 0

    def mark(self, version: int) -> None:
        """Say which version is there."""
        if not self.row(_THERE)[0]:
            schema.sql(self.peewee, _META)
            row = (secrets.token_hex(8), version)
            schema.sql(self.peewee, "INSERT INTO remit_store (id, version) VALUES (?, ?)", row)
        else:
            schema.sql(self.peewee, "UPDATE remit_store SET version = ?", (version,))

    def _identity(self) -> tuple[str, str, str]:
        """Return what tells this log from others: a restored one is the same, a copy is not."""
        found = self.row("SELECT id, current_database(), current_schema() FROM remit_store")
        return found[0], found[1], found[2]

    def _open(self) -> None:
        self.peewee.connect()
        # The one connection for all but waiting, for the hot read.
        connection: Any = self.peewee.connection
        self._connection: psycopg.Connection[Any] = connection()

    def _again(self) -> bool:
        """Connect anew where a connection was lost and nothing was begun on it."""
        if self._closed or not self._connection.closed or self.peewee.transaction_depth():
            return False
        self.peewee.close()
        self._open()
        if self._identity() != self._id:
            raise StoreError(
                Problem(
                    "store-changed",
                    f"`{self.location}` is another database than it was",
                    "start again",
                )
            )
        return True

    def _missing(self) -> StoreError:
        return StoreError(
            Problem(
                "store-missing",
                f"there is nothing of remit's in the database `{self.location}`",
                "`remit init` makes it",
            )
        )


# Order by bytes as SQLite does, whatever the server's language; numbers without an end.
_TYPES = {
    **peewee.PostgresqlDatabase.field_types,
    "INT": "BIGINT",
    "TEXT": 'TEXT COLLATE "C"',
}


class _Server(peewee.PostgresqlDatabase):
    """How peewee comes to its connection here, and which types our columns have."""

    def __init__(
        self, url: str, settings: dict[str, Any], told: Teller, lost: Callable[[], bool]
    ) -> None:
        self._url, self._settings, self._told, self._lost = url, settings, told, lost
        self.field_types = _TYPES
        super().__init__("remit", prefer_psycopg3=True, thread_safe=False, autoconnect=False)

    def dial(self) -> psycopg.Connection[Any]:
        """Return a new connection."""
        try:
            return psycopg.connect(self._url, autocommit=True, **self._settings)
        except psycopg.Error as error:
            if (ours := self._told(error)) is None:
                raise
            raise ours from error

    def _connect(self) -> psycopg.Connection[Any]:
        return self.dial()

    def begin(self, statements: str) -> None:  # type: ignore[override]
        """Begin a transaction, connected anew if need be: nothing was done in it yet."""
        connection: Any = self.connection
        try:
            connection().execute(statements)
        except psycopg.OperationalError:
            if self._lost():
                connection().execute(statements)
                return
            if not connection().closed:
                connection().rollback()
            raise


def _settings(given: dict[str, Any], busy: float) -> dict[str, Any]:
    """Return what is said on connecting, and was not said by the URL."""
    waits = (
        f"-c lock_timeout={max(1, round(busy * 1000))} -c idle_in_transaction_session_timeout=60000"
    )
    return {
        "connect_timeout": given.get("connect_timeout") or max(2, round(busy)),
        "application_name": given.get("application_name") or "remit",
        "options": f"{waits} {given.get('options') or ''}".strip(),
    }
