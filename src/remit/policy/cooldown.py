"""The cooldown of proposals: an agent that has a second thought waits, and sends all of it at once.

A pure function of what was proposed and of a clock passed in (S003-17). Neither an id left out nor
a goal spelled otherwise is a way around it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from attrs import frozen

from remit.policy.orchestration import goal_key
from remit.policy.problems import Problem

__all__ = ["COOLDOWN", "Proposed", "cooldown", "too_soon"]

COOLDOWN = timedelta(minutes=2)


@frozen
class Proposed:
    """What was proposed before: where, for which goal, when (aware), and what became of it.

    ``answered`` is true once an operator has rejected it: to propose again then answers them.
    """

    id: str
    space: str
    goal: str
    at: datetime
    by_agent: bool = True
    answered: bool = False


def cooldown(
    before: Iterable[Proposed], space: str, goal: str, revises: str | None = None
) -> datetime | None:
    """Return when an agent may propose again in a space, for a goal or in place of a proposal.

    None where nothing that an agent proposed is in the way.
    """
    key = goal_key(goal)
    ends = (
        one.at + COOLDOWN
        for one in before
        if one.by_agent and not one.answered and one.space == space
        if one.id == revises or goal_key(one.goal) == key
    )
    return max(ends, default=None)


def too_soon(
    before: Iterable[Proposed], space: str, goal: str, now: datetime, revises: str | None = None
) -> Problem | None:
    """Return what refuses a proposal of an agent at a time; None from the end of it on."""
    end = cooldown(before, space, goal, revises)
    if end is None or now >= end:
        return None
    seconds = -((now - end) // timedelta(seconds=1))
    return Problem(
        "proposal-cooldown",
        f"this was proposed less than {COOLDOWN.seconds // 60} minutes ago; it may be proposed "
        f"again at {end:%H:%M:%S} UTC, in {seconds} s",
        "gather everything that is to change, and propose it once, as one revision",
    )
