"""What a call came to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

__all__ = ["Done"]


@frozen
class Done:
    """What a call came to. ``ran`` says that its tool was started."""

    text: str
    failed: bool
    data: Mapping[str, Any] = field(factory=dict)
    ran: bool = False
