"""The words of the field: tiers, verdicts, dials, postures, layers and effect classes.

Words that are compared are ordered by definition, so ``min`` and ``max`` say what is laxer and
what is stricter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from attrs import field, frozen

__all__ = [
    "ADMITTED",
    "EFFECTS",
    "EFFECT_ORDER",
    "Announce",
    "Dial",
    "EffectClass",
    "Layer",
    "Posture",
    "SpaceKind",
    "Tier",
    "Unknown",
    "Verdict",
    "admitted",
    "in_order",
    "words",
    "world_changing",
]


class _Ordered(StrEnum):
    """A word that compares by its place in its class, not by its letters."""

    rank: int

    def __new__(cls, word: str) -> Self:
        """Make a member whose rank is its place in the class, from 0."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.rank = len(cls.__members__)
        return member

    def __lt__(self, other: str) -> bool:
        return self.rank < type(self)(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= type(self)(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > type(self)(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= type(self)(other).rank


class Tier(_Ordered):
    """How much approval a tool needs."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"


class Verdict(_Ordered):
    """What becomes of a call; later is stricter."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Unknown(_Ordered):
    """What a ceiling says of what cannot be judged; later is stricter."""

    ASK = "ask"
    REFUSE = "refuse"


class Dial(_Ordered):
    """The autonomy of a space."""

    PROPOSE = "propose"
    ASK = "ask"
    ACCEPT_EDITS = "accept-edits"
    AUTO = "auto"


class Posture(StrEnum):
    """May the worktree be written."""

    WRITABLE = "writable"
    READ_ONLY = "read-only"


class Layer(StrEnum):
    """Which layer decided; `INPUT` is a call that could not be read at all."""

    PIN = "pin"
    FILTER = "filter"
    GUARD = "guard"
    GATE = "gate"
    INPUT = "input"


class Announce(StrEnum):
    """How the model is told of the mode."""

    EVERY_TURN = "every-turn"
    ON_CHANGE = "on-change"
    SILENT = "silent"


class SpaceKind(StrEnum):
    """What a space was opened for (S003-11)."""

    NORMAL = "normal"
    PULL_REQUEST = "pull-request"


def words(items: Iterable[str]) -> frozenset[str]:
    """Make a set of words of any iterable of them; the converter of fields that hold one."""
    return frozenset(items)


@frozen
class EffectClass:
    """A kind of change a call makes to the world.

    A class is world-changing, so refused in read-only modes, unless it says that it is admitted
    there: forgetting to say so can only be stricter.
    """

    id: str
    meaning: str
    admitted_in: frozenset[str] = field(default=frozenset(), converter=words)
    plugin: str | None = None

    @property
    def world_changing(self) -> bool:
        """Is it refused in read-only modes."""
        return Posture.READ_ONLY.value not in self.admitted_in


_ADMITTED = frozenset({Posture.READ_ONLY.value})

_BUILT_IN = (
    EffectClass(
        "worktree.write",
        "creates or changes anything inside the worktree or its repository data",
    ),
    EffectClass("file.delete", "removes a file or folder, wherever"),
    EffectClass(
        "file.write_outside",
        "creates, changes or removes a path that resolves outside the worktree",
    ),
    EffectClass("git.commit", "makes commits"),
    EffectClass("git.push", "sends or deletes refs on a remote"),
    EffectClass("pr.create", "opens a pull or merge request"),
    EffectClass("pr.publish", "publishes a review, comment or merge on a pull or merge request"),
    EffectClass("vendor.write", "changes a record in an outside service"),
    EffectClass("package.install", "installs, or fetches and runs, a package"),
    EffectClass("package.publish", "publishes to a registry"),
    EffectClass(
        "process.spawn", "runs code that the guard cannot read, or leaves a process behind"
    ),
    EffectClass(
        "workspace.mutate",
        "changes the platform's own structure: spaces, agents, channels, projects",
    ),
    EffectClass(
        "enclosure.control", "boots, drives or destroys a virtual machine, container or desktop"
    ),
    EffectClass(
        "record.write",
        "changes the platform's own records: memory, todos, tickets, messages, review nodes",
        _ADMITTED,
    ),
    EffectClass("network.egress", "contacts the network", _ADMITTED),
    EffectClass("secret.read", "reads a secret file or dumps the environment", _ADMITTED),
)

#: The built-in effect classes by id (design section 3).
EFFECTS: Mapping[str, EffectClass] = MappingProxyType({e.id: e for e in _BUILT_IN})

#: Where an id stands when effects are listed; a plugin's classes follow, by name.
EFFECT_ORDER: Mapping[str, int] = MappingProxyType({e.id: i for i, e in enumerate(_BUILT_IN)})


def admitted(known: Mapping[str, EffectClass] = EFFECTS) -> frozenset[str]:
    """Return the ids that read-only modes admit; every other id, known or not, is refused there."""
    return frozenset(e.id for e in known.values() if not e.world_changing)


#: The built-in ones (S003-20).
ADMITTED = admitted()


def in_order(effects: Iterable[str]) -> tuple[str, ...]:
    """Return effect ids in the one order in which they are shown."""
    return tuple(sorted(effects, key=lambda e: (EFFECT_ORDER.get(e, len(EFFECT_ORDER)), e)))


def world_changing(known: Mapping[str, EffectClass] = EFFECTS) -> frozenset[str]:
    """Return the known ids that read-only modes refuse (S003-20)."""
    return frozenset(known) - admitted(known)
