"""What modes were last seen as, so that one whose file goes away still holds (design section 9)."""

from __future__ import annotations

from datetime import datetime

from remit.harness.store.database import Database
from remit.harness.store.events import SYSTEM
from remit.harness.store.log import Log
from remit.policy.profile import Profile
from remit.profiles.snapshot import read_snapshot, snapshot

__all__ = ["Kept"]


class Kept:
    """The profiles that a store keeps, one a mode."""

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log

    def get(self, mode: str) -> Profile | None:
        """Return what a mode last was, None if it was never seen."""
        row = self._database.row("SELECT profile FROM profile WHERE mode = ?", (mode,))
        return None if row is None else read_snapshot(row[0])

    def keep(self, profile: Profile, *, now: datetime) -> None:
        """Keep what a mode is now, unless it is what is kept."""
        if self._is(profile):
            return
        with self._log.writing(now) as writer:
            if not self._is(profile):
                body = {
                    "mode": profile.name,
                    "hash": profile.hash,
                    "profile": snapshot(profile),
                }
                writer.record("profile.kept", body, actor=SYSTEM)

    def _is(self, profile: Profile) -> bool:
        row = self._database.row("SELECT hash FROM profile WHERE mode = ?", (profile.name,))
        return row is not None and row[0] == profile.hash
