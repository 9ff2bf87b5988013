"""Waiting for the operator: an approval decided anywhere wakes the turn that needs it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

import anyio
import anyio.to_thread
from attrs import define, field

from remit.harness.store import Approval, ApprovalState, Store

__all__ = ["Clocked", "Waiting"]

#: Seconds after which a wait looks up whether it was given up.
_LOOK = 0.5


class Clocked(Protocol):
    """What has a store and tells the time."""

    @property
    def store(self) -> Store:
        """Where approvals are."""
        ...

    @property
    def clock(self) -> Callable[[], datetime]:
        """Tells the time, aware."""
        ...


def _many() -> anyio.CapacityLimiter:
    # Threads that only wait take none of those that work.
    return anyio.CapacityLimiter(1_000)


@define
class Waiting:
    """Waits for approvals of one workspace; ``given_up`` ends every wait."""

    workspace: Clocked
    given_up: Callable[[], bool]
    _threads: anyio.CapacityLimiter = field(factory=_many)

    async def decided(self, id: str) -> Approval | None:
        """Return an approval once it is not pending any more, None if the wait was given up."""
        store = self.workspace.store
        while True:
            seen = store.data_version()
            approval = store.approvals.get(id, now=self.workspace.clock())
            if approval.state is not ApprovalState.PENDING:
                return approval
            if self.given_up():
                return None
            await self.after(seen)

    async def after(self, seen: int) -> None:
        """Return once there is a record after one, or in a while."""
        await anyio.to_thread.run_sync(
            self.workspace.store.wait, seen, _LOOK, abandon_on_cancel=True, limiter=self._threads
        )
