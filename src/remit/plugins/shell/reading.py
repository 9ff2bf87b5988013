"""What was read of a command line: its parts, each with its effects, targets and reasons."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from attrs import frozen

from remit.policy.tools import CallEffects

__all__ = ["Note", "Part", "Reading"]

_SPAWN = "process.spawn"


class Part(NamedTuple):
    """One command or redirection that would run.

    ``targets`` maps each of its effects to what it acts on; ``opaque`` says that not everything of
    it could be seen; ``why`` has one reason per finding.
    """

    text: str
    targets: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    opaque: bool = False
    why: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    #: Where in the whole text it stands; (0, 0) if it is not a part of it.
    at: tuple[int, int] = (0, 0)

    @property
    def effects(self) -> frozenset[str]:
        """The effects of this part."""
        return frozenset(self.targets)


@frozen(slots=False)
class Reading:
    """A whole command line; its effects are those of all its parts together.

    ``wants`` holds the paths that somebody would have to look at for a full answer, ``repos`` and
    ``globs`` the folders and patterns.
    """

    text: str
    parts: tuple[Part, ...] = ()
    wants: frozenset[str] = frozenset()
    repos: frozenset[str] = frozenset()
    globs: frozenset[str] = frozenset()

    @cached_property
    def targets(self) -> Mapping[str, tuple[str, ...]]:
        """Effects with what they act on."""
        found: dict[str, dict[str, None]] = {}
        for part in self.parts:
            for effect, targets in part.targets.items():
                found.setdefault(effect, {}).update(dict.fromkeys(targets))
        return MappingProxyType({e: tuple(t) for e, t in found.items()})

    @property
    def effects(self) -> frozenset[str]:
        """All effects."""
        return frozenset(self.targets)

    @property
    def opaque(self) -> bool:
        """Could something not be seen."""
        return any(p.opaque for p in self.parts)

    @property
    def protected(self) -> tuple[str, ...]:
        """The protected paths that it touches."""
        return tuple(dict.fromkeys(p for part in self.parts for p in part.protected))

    @property
    def found(self) -> CallEffects:
        """The same, as the guard wants it."""
        return CallEffects(self.effects, self.targets, self.opaque, self.protected)


class Note:
    """What is being found of one part; `part` closes it."""

    __slots__ = ("at", "opaque", "protected", "targets", "text", "why")

    def __init__(self, text: str, at: tuple[int, int] = (0, 0)) -> None:
        self.text = text
        self.at = at
        self.targets: dict[str, list[str]] = {}
        self.opaque = False
        self.why: list[str] = []
        self.protected: list[str] = []

    def add(self, effect: str, target: str, why: str = "") -> None:
        """Note an effect on a target; code that was not read is opaque too."""
        self.targets.setdefault(effect, []).append(target)
        if effect == _SPAWN:
            self.opaque = True
        if why:
            self.why.append(why)

    def blind(self, why: str) -> None:
        """Note that something could not be seen."""
        self.opaque = True
        self.why.append(why)

    def unread(self, program: str, why: str) -> None:
        """Note code that was not read."""
        self.add(_SPAWN, program, why)

    @property
    def blank(self) -> bool:
        """Say whether nothing was found yet."""
        return not (self.targets or self.opaque or self.why or self.protected)

    def merge(self, other: Note) -> None:
        """Take over what another note found."""
        for effect, targets in other.targets.items():
            self.targets.setdefault(effect, []).extend(targets)
        self.opaque = self.opaque or other.opaque
        self.why += other.why
        self.protected += other.protected

    @property
    def part(self) -> Part:
        """The finished part."""
        why, protected = self.why, self.protected
        return Part(
            self.text,
            {e: tuple(dict.fromkeys(t)) for e, t in self.targets.items()} if self.targets else {},
            self.opaque,
            tuple(dict.fromkeys(why)) if why else (),
            tuple(dict.fromkeys(protected)) if protected else (),
            self.at,
        )
