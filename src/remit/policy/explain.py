"""Explaining: which declared line decided, what it shadowed, and what would flip it."""

from __future__ import annotations

from attrs import frozen

from remit.policy.facts import Fact, decides, find_facts
from remit.policy.flips import Trial, find_flip
from remit.policy.projection import Judgement, Projection
from remit.policy.tools import CallEffects, Facts
from remit.policy.vocabulary import Dial, Verdict

__all__ = ["Explanation", "Fact", "explain"]


@frozen
class Explanation:
    """A judgement traced to what was declared.

    ``decided`` are the facts that decided, ``shadowed`` those of the layers that did not, which
    would have had their say after them. ``flip`` is one smallest change that gives another
    verdict, ``becomes``; empty where no change of a declaration does, as for a protected path.
    """

    judgement: Judgement
    decided: tuple[Fact, ...]
    shadowed: tuple[Fact, ...]
    flip: str
    becomes: Verdict | None


def explain(
    projection: Projection,
    judgement: Judgement,
    dial: Dial,
    facts: Facts | None = None,
    seen: CallEffects | None = None,
) -> Explanation:
    """Trace a judgement and find one smallest change that would flip it.

    ``dial``, ``facts`` and ``seen`` are what the call was judged with.
    """
    tool, looked = judgement.tool, facts or Facts()
    told = tuple(find_facts(projection, judgement, dial, looked))
    decided = tuple(f for f in told if decides(f, judgement.decision))
    flip, becomes = "", None
    if tool is not None:
        trial = Trial.of(projection, tool, judgement.call, dial, looked, seen)
        flip, becomes = find_flip(trial, judgement.decision, told)
    return Explanation(
        judgement, decided, tuple(f for f in told if f not in decided), flip, becomes
    )
