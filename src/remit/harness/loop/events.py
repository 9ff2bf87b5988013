"""What a turn tells whoever shows it, as it happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from attrs import field, frozen

__all__ = ["Event", "Tell", "What"]


class What(StrEnum):
    """What happened."""

    TURN = "turn"
    STEP = "step"
    #: One hidden message that the model was given besides.
    NOTICE = "notice"
    TEXT = "text"
    THINKING = "thinking"
    CALL = "call"
    RESULT = "result"
    #: A call waits for the operator; it was decided.
    WAITING = "waiting"
    DECIDED = "decided"
    NUDGE = "nudge"
    #: How the run of a staged mode stands.
    RUN = "run"
    ENDED = "ended"


@frozen
class Event:
    """One thing that happened in a conversation; ``text`` is what a person reads of it."""

    what: What
    conversation: str
    text: str = ""
    data: Mapping[str, Any] = field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return it as one flat table."""
        said = {"text": self.text} if self.text else {}
        return {
            "event": self.what.value, "conversation": self.conversation, **said, **self.data
        }  # fmt: skip


#: Hears what happens; it is called on the loop's thread and is to return at once.
Tell = Callable[[Event], None]
