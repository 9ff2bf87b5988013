"""The completion contract: what a run owes, and how it came out (design section 7).

Pure bookkeeping over steps and calls; whoever runs the loop says when the model stopped.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import define, field

from remit.harness.turns import Step
from remit.policy.placeholders import fill
from remit.policy.profile import NOTHING_TO_DELIVER
from remit.policy.tools import Tool

__all__ = ["Contract", "Outcome"]


class Outcome(StrEnum):
    """How a contract came out."""

    DELIVERED = "delivered"
    DECLINED = "declined"
    LEFT = "left"
    UNMET = "unmet"


_NUDGE = (
    "You have stopped, and there is no {{noun}} yet: it exists only once {{verbs}} has succeeded. "
    "Call it now. If no {{noun}} is needed, say so honestly with `nothing_to_deliver`."
)


@define
class Contract:
    """The contract of one turn, from step to step: that of the brief in force last."""

    _step: Step | None = field(default=None, init=False)
    _left: bool = field(default=False, init=False)
    _met: dict[str, Outcome] = field(factory=dict, init=False)
    #: The contract that was left by an approved exit, if any.
    _was: str | None = field(default=None, init=False)
    nudged: bool = field(default=False, init=False)

    @property
    def id(self) -> str | None:
        """What is owed, such as ``plan.delivered``; None where nothing is, or ever was."""
        held = self._step.frame.projection.contract if self._step else None
        return held or (self._was if self._left else None)

    @property
    def outcome(self) -> Outcome | None:
        """How it stands; None where there is none. It is unmet until something says otherwise."""
        if self.id is None:
            return None
        met = self._met.get(self.id)
        return met or (Outcome.LEFT if self._left else Outcome.UNMET)

    def stepped(self, step: Step) -> None:
        """Take in the next step; an exit that this conversation was granted leaves what it owed."""
        before, self._step = self._step, step
        if before is None or before.mode == step.mode:
            return
        self._left = step.frame.space.left_by == before.frame.force.line[0].conversation
        self._was = before.frame.projection.contract or self._was

    def answered(self, step: Step, tool: Tool | None, failed: bool) -> None:
        """Take in a call that came to an end."""
        contract, brief = step.frame.projection.contract, step.frame.profile.brief
        if failed or contract is None or tool is None or brief is None:
            return
        if tool.key in brief.verbs:
            self._met[contract] = Outcome.DELIVERED
        elif tool.key == NOTHING_TO_DELIVER:
            self._met.setdefault(contract, Outcome.DECLINED)

    def nudge(self) -> str:
        """Return what the model is told once, when it stopped unmet; empty if it was, or is met."""
        if self.nudged or self.outcome is not Outcome.UNMET:
            return ""
        self.nudged = True
        assert self._step is not None, "what is unmet was owed in a step"
        frame = self._step.frame
        brief = frame.profile.brief
        text = brief.nudge if brief and brief.nudge else _NUDGE
        return fill(text, frame.profile, frame.catalog.called)
