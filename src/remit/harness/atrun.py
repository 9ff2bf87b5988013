"""At a run: what the open run of a space adds to what is in force there.

It is read with the space, for each step and call anew, from the store alone: the stage holds by the
snapshot that the run began with, whatever the mode's file says by now (S000-88, S000-94).
"""

from __future__ import annotations

from attrs import evolve, frozen

from remit.harness.store import Space, Store
from remit.policy.vocabulary import Dial
from remit.profiles.names import BUILT_IN

__all__ = ["AtRun", "at_run", "capped"]


@frozen
class AtRun:
    """The stage in force, by run and snapshot; ``stage`` None is the mode without any stage.

    ``turn`` is the claim that is held, if one is. ``unattended`` says that the host began that turn
    in a mode whose dial is capped then.
    """

    run: str
    conversation: str
    mode: str
    hash: str
    stage: str | None
    turn: str | None = None
    unattended: bool = False

    @property
    def decides(self) -> tuple[str, str, str | None]:
        """What of it decides which profile holds."""
        return self.conversation, self.hash, self.stage


def at_run(store: Store, space: Space) -> AtRun | None:
    """Return what the open run of a space adds, None where there is none or its mode was left."""
    # No run is of a profile, and this is asked for every call.
    if space.mode in BUILT_IN:
        return None
    there = store.runs.open_in(space.id)
    if there is None or there.mode.workflow.name != space.mode:
        return None
    claim = there.run.claim
    return AtRun(
        there.id,
        there.conversation,
        space.mode,
        there.hash,
        there.run.stage,
        claim.turn if claim else None,
        claim is not None and claim.host and not there.mode.keeps_dial,
    )


def capped(space: Space, run: AtRun | None, line: tuple[str, ...]) -> Space:
    """Return a space with the dial that a conversation and its parents have in it (S000-85)."""
    if run is None or not run.unattended or run.conversation not in line:
        return space
    return evolve(space, dial=Dial.ACCEPT_EDITS) if space.dial is Dial.AUTO else space
