"""What can go wrong with a store, each told in one sentence with a stable code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from remit.policy.problems import Problem, RemitError

__all__ = ["StoreConflict", "StoreError", "Teller", "telling"]

#: Tells of a failure, None where that is a fault of ours.
Teller = Callable[[Exception], "StoreError | None"]


class StoreError(RemitError):
    """Something of this machine keeps the store from working: a file, a lock, a disk."""

    of_machine = True


class StoreConflict(RemitError):
    """What was asked for no longer fits what is there; nothing was changed by asking.

    ``now`` is what is there: a `Space`, an `Approval` or a `PlanRecord`.
    """

    def __init__(self, problem: Problem, now: Any = None) -> None:
        super().__init__(problem)
        self.now = now


@contextmanager
def telling(told: Teller) -> Iterator[None]:
    """Turn a database's own errors into `StoreError`; a fault of ours passes as it is."""
    try:
        yield
    except Exception as error:
        if (ours := told(error)) is None:
            raise
        raise ours from error
