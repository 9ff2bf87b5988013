"""Any sequence of what happens to conversations, against a reference that shares no code."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.reference.conversation_faults import FAULTS, Fault, made
from tests.reference.talks import Conversations
from tests.reference.walk import NEVER, Walk, caught


def explored(examples: int, steps: int) -> type[Any]:
    """The machine as a test of so many examples of so many acts."""
    made: Any = Conversations.TestCase
    made.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    return made  # type: ignore[no-any-return]


TestConversations = explored(15, 40)
#: Those that a short walk meets; `./tools/conversations --faults` makes them all.
SOON = {
    "a step takes whatever the space was given",
    "what narrows waits for the next turn",
    "a call is judged by its frame alone",
    "a change is told again with each request",
    "a switch is answered as if no turn were open",
}


def test_pairs_of_acts_come() -> None:
    """Whatever comes right after whatever, the engine is where the reference is."""
    walk = Walk(1)
    while walk.acts < 900:
        walk.life()

    assert not walk.pairs.keys() & NEVER
    assert len(walk.pairs) > 220, walk.missing


@pytest.mark.parametrize("fault", [f for f in FAULTS if f.what in SOON], ids=lambda f: f.what)
def test_a_fault_is_caught(fault: Fault) -> None:
    """A seeded fault makes the engine differ from the reference."""
    assert caught(fault, seed=1, lives=10)


def test_every_fault_can_be_made() -> None:
    """More than ten faults, each of a line that is there; made ones are taken back."""
    assert len({f.what for f in FAULTS}) == len(FAULTS) >= 10
    for fault in FAULTS:
        before = fault.where.__code__
        with made(fault):
            assert fault.where.__code__ is not before
        assert fault.where.__code__ is before
