"""Catalogues and profiles of a size, alike in every run."""

from __future__ import annotations

from random import Random

from remit.policy.ceiling import Ceiling
from remit.policy.profile import Brief, Profile, Side
from remit.policy.tools import NATIVE, Catalog, Tool
from remit.policy.vocabulary import EFFECTS, Tier, Unknown, world_changing

__all__ = ["catalog", "profiles"]

_GROUPS = ("research", "memory", "git", "todo", "tickets", "files", "web", "desktop")
_NATIVES = (
    Tool(NATIVE, "mode", Tier.READ),
    Tool(NATIVE, "ask_user", Tier.READ),
    Tool(NATIVE, "submit_plan", Tier.WRITE, {"record.write"}, verb=True),
    Tool(NATIVE, "exit_plan_mode", Tier.READ, exit=True),
    Tool(NATIVE, "nothing_to_deliver", Tier.READ),
)


def catalog(size: int) -> Catalog:
    """Return a catalogue of so many tools: one source in ten, the native verbs among them."""
    random = Random(size)
    shapes = [
        (tier, tuple(random.sample(sorted(EFFECTS), random.choice((0, 1, 1, 2)))), classify)
        for tier in Tier
        for classify in (None, None, "look")
        for _ in range(4)
    ]
    made = []
    for i in range(size - len(_NATIVES)):
        tier, effects, classify = random.choice(shapes)
        groups = random.sample(_GROUPS, random.choice((0, 1, 1, 2)))
        declared = random.random() > 0.05
        if not declared:
            effects, classify = (), None
        source, name = f"server-{i % max(1, size // 20)}", f"{random.choice(('get', 'do'))}_{i}"
        made.append(Tool(source, name, tier, effects, groups, classify, declared=declared))
    return Catalog((*made, *_NATIVES), {"look"})


def profiles(count: int) -> list[Profile]:
    """Return so many modes, from one without policy to chains with lists of tools."""
    random = Random(count)
    plan = Brief(("remit:submit_plan",), True, "plan", exit="remit:exit_plan_mode")
    read_only = Ceiling(refuse=world_changing(), unknown=Unknown.REFUSE)
    made = []
    for i in range(count):
        listed = ["tier:read", *(f"group:{g}" for g in random.sample(_GROUPS, 3))]
        own = Ceiling(
            tier=random.choice(list(Tier)),
            refuse=random.sample(sorted(EFFECTS), random.randint(0, 4)),
            allow=frozenset({frozenset(listed)} if i % 2 else ()),
            deny=[f"do_{random.randrange(20)}"],
        )
        sides = [Side("read-only", read_only)] if i % 3 == 0 else []
        brief = plan if i % 4 == 0 else None
        made.append(Profile(f"mode-{i}", sides=(*sides, Side(f"mode-{i}", own)), brief=brief))
    return made
