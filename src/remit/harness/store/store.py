"""A store: one workspace's database, its log and the tables that the log is folded into."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from remit.harness.store.approvals import Approvals
from remit.harness.store.conversations import Conversations
from remit.harness.store.database import BUSY_SECONDS, Database, connect
from remit.harness.store.events import SYSTEM
from remit.harness.store.exits import Exits
from remit.harness.store.grants import Grants
from remit.harness.store.items import Items
from remit.harness.store.kept import Kept
from remit.harness.store.log import Log
from remit.harness.store.orchestrations import Orchestrations
from remit.harness.store.pipelines import Pipelines
from remit.harness.store.plans import Plans
from remit.harness.store.reviews import Reviews
from remit.harness.store.runs import Runs
from remit.harness.store.spaces import Spaces

__all__ = ["Store"]


class Store:
    """One open database. Threads may share it; a forked child must open its own.

    All times are passed in, aware. Every failure is a `RemitError` with a code: `StoreError` for
    what this machine does, `InputError` for what was given, `StoreConflict` for what somebody else
    was faster at.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.log = Log(database)
        self.spaces = Spaces(database, self.log)
        self.conversations = Conversations(database, self.log, self.spaces)
        self.kept = Kept(database, self.log)
        self.approvals = Approvals(database, self.log, self.spaces)
        self.exits = Exits(database, self.log, self.spaces, self.approvals)
        self.grants = Grants(database, self.log, self.spaces)
        self.reviews = Reviews(database, self.log, self.spaces)
        self.plans = Plans(database, self.log, self.spaces, self.approvals)
        self.orchestrations = Orchestrations(database, self.log, self.spaces, self.approvals)
        self.items = Items(database, self.log, self.spaces)
        self.pipelines = Pipelines(database, self.log, self.spaces)
        self.runs = Runs(database, self.log, self.spaces, self.approvals)

    @classmethod
    def open(
        cls,
        location: str | Path,
        *,
        create: datetime | None = None,
        busy: float = BUSY_SECONDS,
        data: Path | None = None,
    ) -> Store:
        """Open the database at a path or a URL; ``create`` is when to make what is missing of it.

        ``busy`` is how many seconds to wait for another's transaction. ``data`` is this machine's
        data folder, where the anchor of a server's database is; the user's own if it is not given.
        """
        store = cls(connect(location, create=create is not None, busy=busy, data=data))
        try:
            # Without an anchor this machine has nothing to hold the log against from now on.
            if create is not None and not (store.log.anchored and store.log.head()):
                with store.log.writing(create) as writer:
                    if not writer.head.seq:
                        writer.record("workspace.made", {}, actor=SYSTEM)
        except BaseException:
            store.close()
            raise
        return store

    @property
    def location(self) -> str:
        """Where the database is, as it may be shown: a path, or a URL without a password."""
        return self._database.location

    @property
    def path(self) -> Path:
        """The file of a database that is one."""
        return Path(self.location)

    def data_version(self) -> int:
        """Return a number that grows with every change, by whatever process: cheap to poll."""
        return self.log.head()

    def wait(self, after: int, seconds: float, *, deaf: Collection[str] = ()) -> int:
        """Return the number of the last record, once one came after ``after`` or time is over.

        Records of the kinds ``deaf`` end no wait. Other threads may use the store meanwhile. A
        server tells of a commit; a file is looked at twenty times a second.
        """
        until = time.monotonic() + seconds
        with self._database.watching() as wait:
            while not self.log.any(after, last := self.log.head(), deaf):
                if (left := until - time.monotonic()) <= 0:
                    break
                after = last
                wait(left)
        return last

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
