"""Random worlds, built from a seed: profile chains, overlays, frames, catalogues, settings, calls.

Each world has a theme by its number, so that every layer and every cause decides in a good share
of the calls; within a theme everything is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import TypeVar

from attrs import evolve, field, frozen

from remit.policy.ceiling import Ceiling
from remit.policy.gate import Setting
from remit.policy.grants import Grant
from remit.policy.profile import Brief, Profile, Side
from remit.policy.tools import NATIVE, CallEffects, Catalog, Tool
from remit.policy.vocabulary import ADMITTED, EFFECTS, Dial, Tier, Unknown, Verdict

__all__ = ["THEMES", "Use", "World", "build"]

T = TypeVar("T")

THEMES = (
    "wide",
    "read-only",
    "names",
    "limits",
    "tiers",
    "settings",
    "unseen",
    "grants",
    "anything",
)

#: Classes that a plugin brings: one world-changing, one admitted in read-only modes.
PLUGINS = ("acme.deploy", "acme.glance")
#: One classifier that is there, one that a catalogue names and nobody brings.
LOOK, ABSENT = "look", "absent"

_IDS = (*EFFECTS, *PLUGINS)
_CHANGING = tuple(e for e in _IDS if e not in ADMITTED)
_SOURCES = ("git", "web", "fs")
_NAMES = tuple(f"{v}_{n}" for v in ("read", "write", "run") for n in ("a", "b", "c"))
_GROUPS = ("git", "research", "memory")
_SELECTORS = (
    *_NAMES, "read_*", "*_b", "*", "?un_[ab]", "READ_A", "remit:*",
    *(f"{s}:{n}" for s in (*_SOURCES, "hub") for n in ("*", "read_*", "run_a", "git:*")),
    *(f"group:{g}" for g in _GROUPS), *(f"tier:{t.value}" for t in Tier), "group:none",
)  # fmt: skip
_PATTERNS = (
    "docs/**", "src/*.py", "**", "*", "**/a.md", "docs/**/a.?d", "origin feature/*",
    "!docs/private/**", "!**/*.py", "!origin main",
)  # fmt: skip
_TARGETS = (
    "docs/a.md", "docs/private/k", "docs/deep/down/a.md", "src/a.py", "src/in/a.py", "a.md",
    "origin main", "origin feature/x", "",
)  # fmt: skip
_NATIVES = (
    Tool(NATIVE, "mode", Tier.READ),
    Tool(NATIVE, "ask_user", Tier.READ),
    Tool(NATIVE, "submit_plan", Tier.WRITE, {"record.write"}, verb=True),
    Tool(NATIVE, "exit_plan_mode", Tier.READ, exit=True),
    Tool(NATIVE, "nothing_to_deliver", Tier.READ),
    Tool(NATIVE, "finalize_review", Tier.WRITE, {"record.write"}, verb=True),
)
#: An operator's own verb, which is no native one: as declared, bound to a server of another name,
#: changed since, and a tool that only has the name.
_OWN_VERBS = (
    Tool("desk", "hand_over", Tier.WRITE, {"vendor.write"}, verb=True),
    Tool("office", "hand_over", Tier.WRITE, {"vendor.write"}, verb=True, origin="desk"),
    Tool("desk", "hand_over", Tier.WRITE, verb=True, declared=False),
    Tool("desk", "hand_over", Tier.WRITE, {"vendor.write"}),
)
_BRIEFS = (
    None,
    Brief(),
    Brief(("remit:submit_plan",)),
    Brief(("remit:submit_plan",), True, "plan", exit="remit:exit_plan_mode"),
    Brief(("remit:finalize_review", "desk:hand_over"), True, "review"),
    Brief(("desk:hand_over",), False, "parcel", exit="remit:exit_plan_mode"),
)


@frozen
class Use:
    """One call: what its classifier finds (None: it fails), what the host sees, who objects."""

    tool: str
    dial: Dial
    looked: CallEffects | None = None
    seen: CallEffects | None = None
    objection: str | None = None
    args: Mapping[str, int] = field(factory=dict)


@frozen
class World:
    """A mode in force, the sides that narrow it, the tools, the space, and what is called."""

    sides: tuple[Side, ...]
    brief: Brief | None
    tools: tuple[Tool, ...]
    settings: tuple[Setting, ...]
    askable: bool
    uses: tuple[Use, ...]
    admitted: frozenset[str] = ADMITTED | {PLUGINS[1]}
    classifiers: frozenset[str] = frozenset({LOOK})
    grants: tuple[Grant, ...] = ()
    locked: bool = False

    @property
    def catalog(self) -> Catalog:
        """The tools as the engine takes them."""
        return Catalog(self.tools, self.classifiers)

    @property
    def profile(self) -> Profile:
        """The mode with all its sides, as a frame, a child or an overlay puts them together."""
        first, *others = self.sides or (Side("made"),)
        return Profile("made", sides=(first,), brief=self.brief).under(*others)


def build(seed: int, number: int, uses: int = 100) -> World:
    """Return world ``number`` of a seed; equal arguments give equal worlds."""
    return _Maker(Random(f"{seed}/{number}"), THEMES[number % len(THEMES)]).world(uses)


class _Maker:
    def __init__(self, random: Random, theme: str) -> None:
        self.random = random
        self.theme = theme

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def some(self, of: Iterable[T], least: int = 0, most: int = 3) -> list[T]:
        given = list(of)
        return self.random.sample(given, min(len(given), self.random.randint(least, most)))

    def world(self, uses: int) -> World:
        tools = self.tools()
        sides = self.sides()
        dials = {"settings": [Dial.ASK, Dial.ACCEPT_EDITS, Dial.AUTO], "grants": [Dial.ASK]}.get(
            self.theme, list(Dial)
        )
        names = [t.key for t in tools] + [t.name for t in tools]
        return World(
            tuple(sides),
            self.random.choice(_BRIEFS),
            tuple(tools),
            tuple(self.settings()),
            self.chance(0.85),
            tuple(self.use(names, tools, self.random.choice(dials)) for _ in range(uses)),
            grants=tuple(self.grants(tools)),
            locked=self.chance(0.06),
        )

    def tools(self) -> list[Tool]:
        keys = self.some([(s, n) for s in (*_SOURCES, "hub") for n in _NAMES], 4, 9)
        if self.chance(0.15):  # a name that reads like another tool's key
            keys.append(("web", "git:read_a"))
        made = [self.tool(source, name) for source, name in keys]
        made += [t for t in _NATIVES if self.chance(0.7)]
        if self.chance(0.6):
            made.append(self.random.choice(_OWN_VERBS))
        if self.chance(0.1):  # a server's own tool that bears a native verb's name
            made.append(evolve(self.tool("web", "ask_user"), verb=False))
        self.random.shuffle(made)
        bound = [evolve(t, origin="hub") if self.chance(0.1) and not t.native else t for t in made]
        return [t if t.name == "hand_over" else b for t, b in zip(made, bound, strict=True)]

    def tool(self, source: str, name: str) -> Tool:
        groups = self.some(_GROUPS, 0, 2)
        tier = self.random.choice(list(Tier) if self.theme != "tiers" else [*Tier, Tier.EXECUTE])
        kind = self.random.random()
        if kind < 0.12:  # changed since it was reviewed, or never seen
            effects = set(self.some(_IDS, 0, 2)) if self.chance(0.3) else set()
            classify = LOOK if self.chance(0.3) else None
            return Tool(source, name, tier, effects, groups, classify, declared=False)
        likely = ["worktree.write", "git.push"] if self.theme in ("limits", "settings") else []
        effects = set(self.some(_IDS, 0, 3)) | set(self.some(likely, 0, 2))
        if self.theme == "unseen" and self.chance(0.5):
            effects.add("process.spawn")
        if kind < (0.25 if self.theme in ("limits", "read-only", "unseen") else 0.5):
            return Tool(source, name, tier, effects, groups)
        classify = ABSENT if self.chance(0.06) else LOOK
        least = [self.some(sorted(effects), 1, 2) for _ in range(self.random.choice((0, 0, 1, 2)))]
        if not effects:
            least = []
        elif self.theme == "limits" and self.chance(0.5):  # so that limits can hide a tool
            least = [sorted(effects)]
        return Tool(source, name, tier, effects, groups, classify, least)

    def sides(self) -> list[Side]:
        """A chain of parents; often an overlay, a parent's or the present ceiling besides."""
        sides = [Side(f"chain{i}", self.ceiling()) for i in range(self.random.randint(1, 2))]
        if self.chance(0.25):
            sides.append(Side("overlay", self.ceiling()))
        if self.chance(0.25):
            sides += [Side(f"now{i}", self.ceiling()) for i in range(self.random.randint(1, 2))]
        return sides

    def ceiling(self) -> Ceiling:
        if self.theme in ("wide", "settings", "grants") and self.chance(0.8):
            return Ceiling()
        if self.theme == "read-only":
            unknown = Unknown.REFUSE if self.chance(0.5) else Unknown.ASK
            return Ceiling(refuse=self.some(_CHANGING, 2, 8), unknown=unknown)
        if self.theme == "tiers":
            return Ceiling(tier=self.random.choice(list(Tier)), refuse=self.some(_IDS, 0, 1))
        if self.theme == "names":
            return Ceiling(allow=self.lists(), deny=self.some(_SELECTORS, 0, 2))
        if self.theme == "limits":
            return Ceiling(limit=self.limit(0.7), refuse=self.some(_IDS, 0, 1))
        if self.theme == "unseen":
            return Ceiling(unknown=self.random.choice(list(Unknown)), refuse=self.some(_IDS, 0, 1))
        return Ceiling(
            tier=self.random.choice((Tier.READ, Tier.WRITE, Tier.EXECUTE, Tier.EXECUTE)),
            refuse=self.some(_IDS, 0, 3),
            unknown=self.random.choice(list(Unknown)),
            allow=self.lists() if self.chance(0.4) else frozenset(),
            deny=self.some(_SELECTORS, 0, 1) if self.chance(0.4) else (),
            limit=self.limit(0.3),
        )

    def lists(self) -> frozenset[frozenset[str]]:
        wide = ["*", "read_*", "*_b", "tier:read", "group:git"]
        made = [self.some(_SELECTORS, 0, 4) + self.some(wide, 0, 2) for _ in range(2)]
        return frozenset(frozenset(one) for one in self.some(made, 0, 2))

    def limit(self, of: float) -> dict[str, frozenset[frozenset[str]]]:
        limited = [e for e in ("worktree.write", "git.push", "acme.deploy") if self.chance(of)]
        apart = frozenset(frozenset([p]) for p in ("docs/**", "src/*.py"))
        return {
            e: apart
            if self.chance(0.2)
            else frozenset(
                frozenset([*self.some(_PATTERNS, 0, 2), *self.some(("docs/**", "**"), 0, 2)])
                for _ in range(self.random.choice((1, 1, 2)))
            )
            for e in limited
        }

    def settings(self) -> list[Setting]:
        likely = self.theme == "settings"
        patterns = [p for p in _PATTERNS if p[0] != "!"]
        made = []
        for _ in range(self.random.randint(1, 6) if likely else self.random.choice((0, 0, 1, 2))):
            effect = self.random.choice(
                ("worktree.write", "git.push") if self.chance(0.5) else _IDS
            )
            target = self.random.choice(patterns) if self.chance(0.5) else None
            made.append(Setting(effect, self.random.choice(list(Verdict)), target))
        return made

    def grants(self, tools: list[Tool]) -> Iterator[Grant]:
        """Some of exact arguments, more of an effect on a pattern."""
        patterns = [p for p in _PATTERNS if p[0] != "!"]
        for tool in tools:
            if not self.chance(0.9 if self.theme == "grants" else 0.3):
                continue
            if self.chance(0.7):
                yield Grant(tool.key, '{"n":1}')
            for effect in sorted(tool.effects):
                if self.chance(0.8):
                    target = "**" if self.chance(0.5) else self.random.choice(patterns)
                    yield Grant(tool.key, None, effect, target)

    def use(self, names: list[str], tools: list[Tool], dial: Dial) -> Use:
        if self.chance(0.03):
            name = self.random.choice(("nope", "", ":", "READ_A", "git:", "remit:nope", "read_a "))
            return Use(name, dial)
        # Natives are many and decided early; bare names often are two tools'.
        tries = [self.random.randrange(len(tools)) for _ in range(4)]
        at = next((i for i in tries if not tools[i].native), tries[0])
        tool = tools[at]
        if self.chance(0.2):
            at += len(tools)
        looked = None if self.chance(0.03) else self.found(tool)
        seen = self.found(tool) if self.chance(0.3) else None
        args = {"n": self.random.choice((1, 1, 2))} if self.chance(0.9) else {}
        return Use(names[at], dial, looked, seen, "no" if self.chance(0.05) else None, args)

    def found(self, tool: Tool) -> CallEffects:
        effects = set(self.some(sorted(tool.effects), 0, 3))
        if self.chance(0.1):
            effects.add(self.random.choice(_IDS))
        targets = {
            e: tuple(self.some(_TARGETS, 1, 2))
            for e in sorted(effects | tool.effects)
            if self.chance(0.6)
        }
        protected = (".git/hooks",) if self.chance(0.06) else ()
        return CallEffects(effects, targets, self.chance(0.15), protected)
