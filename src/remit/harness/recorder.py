"""Decisions that nothing else depends on, recorded in batches beside the path of a call.

A record of its own transaction costs a wait for the disk, for each call. What was judged is kept
here instead until the step is over, a tenth of a second passed, or much came together.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from remit.harness.store import Store
from remit.harness.store.anchor import Head

__all__ = ["Recorder"]

_log = logging.getLogger("remit")

#: Seconds that a decision waits at most, unless the disk fails or is slow.
_DELAY = 0.1
#: How many wait at most; whoever adds to so many writes them first.
_LIMIT = 1000
#: How many are written in one transaction.
_BATCH = 250


class Recorder:
    """What is to be recorded of a workspace's decisions, and the one thread that does it.

    Safe to use from several threads. Nothing is dropped: what cannot be written stays, is tried
    again, and fails the next `flush`.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._writing = threading.Lock()
        self._came = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        """How many are not recorded yet."""
        return len(self._waiting)

    def put(self, **record: Any) -> None:
        """Have a decision recorded soon, as `Writer.record` takes it; `StoreError` if too many."""
        if len(self._waiting) >= _LIMIT:
            self.flush()
        self._waiting.append(record)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="remit-recorder", daemon=True)
            self._thread.start()
        self._came.set()

    def flush(self) -> None:
        """Record all that waits; `StoreError` if that fails, and then it waits on."""
        while self._waiting:
            with self._writing:
                self._write(list(islice(self._waiting, _BATCH)))

    def close(self) -> None:
        """Record all that waits and end the thread."""
        try:
            self.flush()
        finally:
            self._over.set()
            self._came.set()
            if self._thread is not None:
                self._thread.join()
                self._thread = None

    def _write(self, batch: list[Mapping[str, Any]]) -> None:
        if not batch:
            return
        last: Head | None = None
        try:
            with self._store.log.writing(self._clock()) as writer:
                for record in batch:
                    writer.record("decision", **record)
                last = writer.head
        except BaseException:
            # What follows the commit may fail as well; then writing again would tell it twice.
            if last is None or not self._store.log.holds(last):
                raise
        for _ in batch:
            self._waiting.popleft()

    def _run(self) -> None:
        told = False
        while self._came.wait() and not self._over.wait(_DELAY):
            self._came.clear()
            try:
                self.flush()
                told = False
            except Exception as error:
                # Whoever goes on with a turn hears of it; until then it is tried again.
                self._came.set()
                if not told:
                    _log.warning("%d decisions are not recorded yet: %s", len(self), error)
                    told = True
