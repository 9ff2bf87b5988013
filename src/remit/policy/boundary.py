"""Boundaries: when the mode that a space was given comes into force in a conversation.

A turn's start takes it whatever it is; a step's start takes what only narrows, and what the
conversation itself was granted. Between boundaries both hold, and the stricter decides (design
section 6).
"""

from __future__ import annotations

from enum import StrEnum

from remit.policy.profile import Profile

__all__ = ["Boundary", "crosses", "narrows"]


class Boundary(StrEnum):
    """Where a conversation can take another mode."""

    TURN = "turn"
    STEP = "step"


def narrows(wanted: Profile, held: Profile) -> bool:
    """Say whether one mode may do less than another, and nothing that the other may not."""
    ceiling = held.ceiling
    return wanted.ceiling != ceiling and wanted.ceiling.narrower_or_equal(ceiling)


def crosses(
    at: Boundary, held: Profile, wanted: Profile, *, newer: bool = True, granted: bool = False
) -> bool:
    """Say whether a conversation that holds one mode takes the space's at this boundary.

    ``newer``: the space was given it after the conversation took its own; one that is older was
    left behind by going to another branch. ``granted``: it came by an exit or a plan of this
    conversation that an operator approved, so the same turn goes on in it.
    """
    if wanted.name == held.name:
        return False
    return narrows(wanted, held) or (newer and (at is Boundary.TURN or granted))
