"""A walk through what can happen to conversations, towards pairs of acts that did not come yet.

``./tools/conversations`` walks far, and makes every seeded fault; the tests do so on a shorter way.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from remit.policy.vocabulary import Dial
from tests.reference.conversation_faults import FAULTS, Fault, made
from tests.reference.conversations import OVERLAYS
from tests.reference.talks import CALLS, INTENTS, Conversations

__all__ = ["ACTS", "NEVER", "Walk", "caught"]

#: Acts in one world: conversations are few there, so that acts meet.
LIFE = 60

#: How often acts come by chance: what makes the others matter comes most.
OFTEN = {"begin": 3, "step": 5, "batch": 6, "end": 3, "child": 2, "switch": 2}

_overlays = tuple(OVERLAYS)


def _at(r: Random) -> int:
    # Mostly the first one that there is: much has to happen to one for some of it to show.
    return 0 if r.random() < 0.7 else r.randrange(8)


#: Every act, by the name that it is counted under, and with what it may be done.
ACTS: Mapping[str, tuple[str, Callable[[Random], dict[str, Any]]]] = {
    "switch": ("switch", lambda r: {"mode": r.choice(INTENTS)}),
    "dial": ("turn_the_dial", lambda r: {"dial": r.choice((*Dial, Dial.ASK, Dial.ASK))}),
    "space overlay": ("narrow_the_space", lambda r: {"name": r.choice(_overlays)}),
    "conversation overlay": (
        "narrow_a_conversation",
        lambda r: {"at": _at(r), "name": r.choice(_overlays)},
    ),
    "approve": ("approve", lambda _: {}),
    "conversation": ("talk", lambda _: {}),
    "child": ("child", lambda r: {"at": _at(r), "which": r.randrange(2)}),
    "fork": ("fork", lambda r: {"at": _at(r), "step": r.randrange(41)}),
    "move": ("move", lambda r: {"at": _at(r), "step": r.randrange(41)}),
    "compact": ("compact", lambda r: {"at": _at(r)}),
    "begin": ("begin", lambda r: {"at": _at(r), "narrowed": r.choice((None, *_overlays))}),
    "step": ("step", lambda r: {"at": _at(r)}),
    "batch": (
        "batch",
        lambda r: {
            "at": _at(r),
            "step": r.randrange(-3, 0),
            "tools": r.choices(CALLS, k=r.randrange(1, 5)),
        },
    ),
    "approved call": ("granted", lambda r: {"at": _at(r), "tool": r.choice(CALLS)}),
    "end": ("end", lambda r: {"at": _at(r), "well": r.random() < 0.5}),
    "restart": ("restart", lambda _: {"killed": False}),
    "kill": ("restart", lambda _: {"killed": True}),
    "failed append": (
        "fail",
        lambda r: {
            "at": _at(r),
            "after": r.randrange(3),
            "what": r.choice(("step", "begin", "call", "set")),
        },
    ),
}
#: Pairs that cannot be: after the end of a process no turn is open, and one approval is of all that
#: waits.
NEVER = frozenset(
    {("approve", "approve")}
    | {(a, b) for a in ("kill", "restart") for b in ("step", "batch", "end", "approved call")}
)


class Walk:
    """Acts chosen by a seed, so that pairs come which were rare, in worlds of `LIFE` acts."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.acts = 0

    @property
    def missing(self) -> list[tuple[str, str]]:
        """The pairs that can be and did not come."""
        every = {(a, b) for a in ACTS for b in ACTS} - NEVER
        return sorted(every - self.pairs.keys())

    def life(self) -> None:
        """Walk through one world and fold its log in the end; `AssertionError` on a difference."""
        world = Conversations()
        try:
            for _ in range(LIFE):
                self._act(world)
                world.the_engine_is_where_the_model_is()
                world.no_child_may_more_than_its_parent()
        finally:
            world.teardown()

    def _act(self, world: Conversations) -> None:
        before = world.last
        for name in self._order(before, waiting="pending" in world.model.asked.values()):
            method, draw = ACTS[name]
            world.last = ""
            getattr(world, method)(**draw(self.random))
            if world.last:
                assert world.last == name
                self.acts += 1
                if before:
                    self.pairs[before, name] += 1
                return
            world.last = before

    def _order(self, before: str, *, waiting: bool) -> list[str]:
        """Return the acts: a third of the time those first that came least after the last one."""
        names = self.random.sample(list(ACTS), len(ACTS))
        if waiting and self.random.random() < 1 / 4:
            # Little of what is asked for waits for long, so it is looked to while it does.
            return ["approve", *names]
        if self.random.random() < 1 / 3:
            return sorted(names, key=lambda name: self.pairs[before, name])
        return sorted(names, key=lambda n: self.random.random() ** (1 / OFTEN.get(n, 1)))[::-1]


def caught(fault: Fault, seed: int, lives: int) -> str:
    """Make a fault and walk until it shows; return how it did, "" if it did not."""
    with made(fault):
        walk = Walk(seed)
        for _ in range(lives):
            try:
                walk.life()
            except Exception as error:  # however a fault shows, it shows
                return f"after {walk.acts} acts: {type(error).__name__}"
    return ""


def main() -> None:
    """Walk for a time or until every pair came, or make the faults, and tell what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the walk (default: 1)")
    parser.add_argument("--acts", type=int, default=100_000, help="how many (default: 100000)")
    parser.add_argument("--faults", action="store_true", help="make each fault in place of that")
    args = parser.parse_args()
    if args.faults:
        lives = args.acts // LIFE
        found = {f.what: caught(f, args.seed, lives) for f in FAULTS}
        for what, how in found.items():
            print(f"{'caught' if how else 'SURVIVED':<9} {what} {how}")
        sys.exit(not all(found.values()))
    walk, began = Walk(args.seed), time.monotonic()
    while walk.acts < args.acts:
        walk.life()
    seconds = time.monotonic() - began
    print(f"{walk.acts} acts in {seconds:.0f} s, {len(walk.pairs)} pairs, {walk.missing} missing")
    rare = walk.pairs.most_common()[-1]
    print(f"the rarest pair is {rare[0]}, {rare[1]} times")
    sys.exit(bool(walk.missing))


if __name__ == "__main__":
    main()
