"""Ceilings: what a mode may at most do, and the one operation that combines them.

Ceilings form a meet-semilattice. Lists of tools and limits are kept as a conjunction of lists,
never as an intersection of names, because what a group or a glob names depends on a catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from remit.policy.vocabulary import Posture, Tier, Unknown, words

__all__ = ["TOP", "Ceiling", "narrow"]

_WRITE = "worktree.write"

Lists = frozenset[frozenset[str]]


@frozen
class Ceiling:
    """What a mode may at most do; the default is the top, which restricts nothing.

    ``allow`` holds lists of tool selectors, each of which must admit a tool; ``limit`` holds, per
    effect, lists of target patterns, each of which must admit every target. A read-only posture
    and a refused ``worktree.write`` are one fact with two spellings.
    """

    tier: Tier = Tier.EXECUTE
    refuse: frozenset[str] = field(default=frozenset(), converter=words)
    unknown: Unknown = Unknown.ASK
    allow: Lists = frozenset()
    deny: frozenset[str] = field(default=frozenset(), converter=words)
    limit: Mapping[str, Lists] = field(factory=dict)

    @property
    def posture(self) -> Posture:
        """May the worktree be written."""
        return Posture.READ_ONLY if _WRITE in self.refuse else Posture.WRITABLE

    def narrower_or_equal(self, other: Ceiling) -> bool:
        """Say whether this admits nothing that ``other`` does not, whatever the catalogue."""
        return narrow(self, other) == self


#: The ceiling that restricts nothing.
TOP = Ceiling()


def narrow(*ceilings: Ceiling) -> Ceiling:
    """Return the meet: commutative, associative, idempotent, never wider than any side."""
    tier, unknown, refuse, allow, deny = TOP.tier, TOP.unknown, TOP.refuse, TOP.allow, TOP.deny
    limit: dict[str, Lists] = {}
    for ceiling in ceilings:
        if ceiling.tier.rank < tier.rank:
            tier = ceiling.tier
        if ceiling.unknown.rank > unknown.rank:
            unknown = ceiling.unknown
        # Most sides have nothing to say of most things, and a union with nothing would be a copy.
        if ceiling.refuse:
            refuse = refuse | ceiling.refuse if refuse else ceiling.refuse
        if ceiling.allow:
            allow = allow | ceiling.allow if allow else ceiling.allow
        if ceiling.deny:
            deny = deny | ceiling.deny if deny else ceiling.deny
        if ceiling.limit:
            for effect, lists in ceiling.limit.items():
                limit[effect] = limit[effect] | lists if effect in limit else lists
    if len(limit) > 1:
        limit = dict(sorted(limit.items()))
    limits = limit or TOP.limit
    return Ceiling(tier, refuse, unknown, allow, deny, limits)
