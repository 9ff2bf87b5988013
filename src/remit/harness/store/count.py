"""Whether the decisions that turns counted are all in the log."""

from __future__ import annotations

import json
from collections import Counter

from attrs import Factory, define

__all__ = ["Count"]


@define
class Count:
    """Decisions of the turns that are open, and what turned out to be missing when they closed."""

    missing: int = 0
    #: Turns that ended with their process, which took its count with it.
    cut: int = 0
    _seen: Counter[str | None] = Factory(Counter)

    def take(
        self, kind: str, space: str | None, conversation: str | None, actor: str, body: str
    ) -> None:
        """Take the next record of the log."""
        if kind == "decision":
            self._seen[conversation] += 1
        elif kind == "turn.opened":
            del self._seen[conversation]
        elif kind == "turn.closed":
            told = json.loads(body)["decisions"]
            if told is None:
                self.cut += 1
            else:
                self.missing += max(0, told - self._seen[conversation])
