"""A store: one workspace's database, its log and the tables that the log is folded into."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from remit.harness.store.anchor import Anchor
from remit.harness.store.approvals import Approvals
from remit.harness.store.database import BUSY_SECONDS, Database
from remit.harness.store.events import SYSTEM
from remit.harness.store.exits import Exits
from remit.harness.store.grants import Grants
from remit.harness.store.log import Log
from remit.harness.store.plans import Plans
from remit.harness.store.spaces import Spaces
from remit.policy.problems import InputError, Problem

__all__ = ["Store"]


class Store:
    """One open database. Threads may share it; a forked child must open its own.

    All times are passed in, aware. Every failure is a `RemitError` with a code: `StoreError` for
    what this machine does, `InputError` for what was given, `StoreConflict` for what somebody else
    was faster at.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.log = Log(database, Anchor.beside(database.path))
        self.spaces = Spaces(database, self.log)
        self.approvals = Approvals(database, self.log, self.spaces)
        self.exits = Exits(database, self.log, self.spaces, self.approvals)
        self.grants = Grants(database, self.log, self.spaces)
        self.plans = Plans(database, self.log, self.spaces)

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        create: datetime | None = None,
        busy: float = BUSY_SECONDS,
    ) -> Store:
        """Open the database at a path; ``create`` is the time at which to make it if missing.

        ``busy`` is how many seconds to wait for another process's transaction.
        """
        if "://" in str(location):
            raise InputError(
                Problem(
                    "store-kind",
                    f"`{location}` is not a path; databases other than SQLite come later",
                    "give the path of a file",
                )
            )
        database = Database(Path(location), create=create is not None, busy=busy)
        store = cls(database)
        try:
            if create is not None and not store.log.head():
                with store.log.writing(create) as writer:
                    if not writer.head.seq:
                        writer.record("workspace.made", {}, actor=SYSTEM)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def path(self) -> Path:
        """The file of the database."""
        return self._database.path

    def data_version(self) -> int:
        """Return a number that grows with every change, by whatever process: cheap to poll."""
        return self.log.head()

    def close(self) -> None:
        """Close the database; a second time does nothing."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
