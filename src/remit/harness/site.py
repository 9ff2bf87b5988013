"""A site: where a run is worked on, whatever the host."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from attrs import frozen

from remit.harness.engine import Engine
from remit.harness.store import Store
from remit.policy.projection import Host

__all__ = ["Site"]


@frozen
class Site:
    """Where a run is worked on: a conversation of a space, on a host."""

    engine: Engine
    store: Store
    host: Host
    clock: Callable[[], datetime]
    space: str
    conversation: str
