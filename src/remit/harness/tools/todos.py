"""The list of what is to do: a record of one conversation, kept by whoever holds it."""

from __future__ import annotations

from enum import StrEnum

from attrs import define, frozen

__all__ = ["State", "Todo", "Todos"]


class State(StrEnum):
    """How far a piece of work is."""

    OPEN = "open"
    ACTIVE = "active"
    DONE = "done"


@frozen
class Todo:
    """One piece of work."""

    text: str
    state: State = State.OPEN


@define
class Todos:
    """The list of one conversation; a tool replaces it as a whole."""

    items: tuple[Todo, ...] = ()
