"""How the demo is told, and how it fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from remit.harness.store import Event
from remit.policy.problems import Problem, RemitError

__all__ = ["Teller", "Unmet", "expect"]


class Unmet(RemitError):
    """Something that the demo promises did not happen."""


class Teller(Protocol):
    """Who tells the story to people."""

    def act(self, title: str) -> None:
        """Begin an act."""

    def say(self, text: str) -> None:
        """Tell something that happened."""

    def command(self, command: str, output: str) -> None:
        """Tell of a command that the operator ran, and what it printed."""

    def decision(self, space: str, event: Event, outcome: str) -> None:
        """Tell of a decision, as the log has it, and what became of a call that had to ask."""

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show a table."""


def expect(kept: bool, promise: str) -> None:
    """Raise `Unmet` if a promise was not kept."""
    if not kept:
        hint = "the messages of the gateways lie beside the repositories"
        raise Unmet(Problem("demo-unmet", f"a promise was not kept: {promise}", hint))
