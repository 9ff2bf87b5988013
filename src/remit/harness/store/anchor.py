"""The anchor: a file beside the database that names the last record of the log.

Each commit is followed by a write of the anchor, so a crash between the two leaves the log ahead
of it; the log is never behind, unless its tail was cut. It holds one line of one length, written
over the older one in a single call, which a crash cannot tear.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from remit.harness.store.errors import StoreError
from remit.policy.problems import Problem

__all__ = ["GENESIS", "Anchor", "Head"]

#: What the first record follows.
GENESIS = "0" * 64
_LINE = re.compile(rb"(\d{20}) ([0-9a-f]{64})\n")


@frozen
class Head:
    """The end of the log: the place and the hash of its last record."""

    seq: int = 0
    hash: str = GENESIS


@frozen
class Anchor:
    """The anchor of one database."""

    path: Path

    @classmethod
    def beside(cls, database: Path) -> Anchor:
        """Return the anchor of a database, whether it is there or not."""
        return cls(database.with_name(f"{database.name}.anchor"))

    def read(self) -> Head | None:
        """Return what is anchored, None where there is no anchor."""
        try:
            with self._opened(os.O_RDONLY) as fd:
                return self.head(fd)
        except FileNotFoundError:
            return None

    @contextmanager
    def held(self) -> Iterator[int]:
        """Open the anchor for `advance`, made if it is missing: before a commit, not after it."""
        with self._opened(os.O_RDWR | os.O_CREAT) as fd:
            yield fd

    def head(self, fd: int) -> Head | None:
        """Return what an open anchor names, None where it names nothing yet."""
        with self._locked(fd, fcntl.LOCK_SH):
            return self._parse(fd)

    def advance(self, fd: int, head: Head) -> None:
        """Anchor a head that is on disk, unless another process has anchored a later one."""
        with self._locked(fd, fcntl.LOCK_EX):
            there = self._parse(fd)
            if there is None or there.seq < head.seq:
                # Not flushed: the record is on disk by now, so a power cut can only leave the
                # anchor behind it, as a crash does. A flush would double the cost of a decision.
                os.pwrite(fd, b"%020d %s\n" % (head.seq, head.hash.encode()), 0)

    def _parse(self, fd: int) -> Head | None:
        line = os.pread(fd, 128, 0)
        if not line:
            return None
        if (found := _LINE.fullmatch(line)) is None:
            raise StoreError(
                Problem(
                    "anchor-damaged",
                    f"the log's anchor `{self.path}` cannot be read",
                    "put a copy of it back; `remit log verify` tells what holds without it",
                )
            )
        return Head(int(found[1]), found[2].decode())

    @contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        try:
            fd = os.open(self.path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._failed(error) from error
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def _locked(self, fd: int, how: int) -> Iterator[None]:
        try:
            fcntl.flock(fd, how)
            try:
                yield
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> StoreError:
        return StoreError(
            Problem(
                "anchor-failed",
                f"the log's anchor `{self.path}` cannot be used: "
                f"{(error.strerror or str(error)).lower()}",
                "look at its permissions and at the disk that it is on",
            )
        )
