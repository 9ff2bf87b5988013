"""Profiles: a ceiling and a brief, declared once; every layer projects from them (S003-4)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from remit.policy.ceiling import TOP, Ceiling, narrow
from remit.policy.problems import Position
from remit.policy.tools import NATIVE, shown
from remit.policy.vocabulary import Announce, Verdict

__all__ = ["ASK_USER", "MODE", "NOTHING_TO_DELIVER", "Brief", "Example", "Profile", "Side", "shown"]

#: Native verbs that every mode has: how a run reaches the operator, and how it learns its mode.
ASK_USER = f"{NATIVE}:ask_user"
MODE = f"{NATIVE}:mode"
#: The honest way out of a contract; there wherever a brief requires a verb.
NOTHING_TO_DELIVER = f"{NATIVE}:nothing_to_deliver"


@frozen
class Brief:
    """What a mode is for. Briefs are never combined: exactly one holds.

    ``verbs`` and ``exit`` are tool keys, ``missed`` bare names, ``children`` modes.
    """

    verbs: tuple[str, ...] = ()
    required: bool = False
    noun: str = "result"
    nudge: str = ""
    exit: str | None = None
    exit_to: str = ""
    children: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    announce: Announce = Announce.EVERY_TURN
    guidance: str = ""

    @property
    def pins(self) -> tuple[str, ...]:
        """The keys of the tools that this brief keeps in the surface and pre-approves (S003-18)."""
        nothing = (NOTHING_TO_DELIVER,) if self.required else ()
        leave = (self.exit,) if self.exit else ()
        return (*self.verbs, *leave, *nothing)

    @property
    def contract(self) -> str | None:
        """The id of what a run must have delivered, such as ``plan.delivered``."""
        return f"{self.noun}.delivered" if self.required else None


@frozen
class Side:
    """One side of a meet: a parent, the profile itself, an overlay, a child's parent.

    ``where`` gives the place of each fact that this side states: ``tier``, ``unknown``,
    ``refuse.<effect>``, ``allow``, ``deny.<selector>``, ``limit.<effect>``.
    """

    name: str
    ceiling: Ceiling = TOP
    where: Mapping[str, Position] = field(factory=dict, eq=False)


@frozen
class Example:
    """A call and the verdict that the author expects of the profile."""

    tool: str
    args: Mapping[str, Any]
    verdict: Verdict
    where: Position = field(default=Position(), eq=False)


@frozen
class Profile:
    """A mode's declaration, resolved: the sides whose meet is its ceiling, and the brief in force.

    ``sides`` runs from the top parent to the profile itself; what narrows it further is appended.
    ``own_brief`` is what its own file says, None where the parent's holds. ``where`` gives the
    place of each fact of its own besides those of its ceiling.
    """

    name: str
    label: str = ""
    intent: str = ""
    extends: str | None = None
    selectable: bool = True
    sides: tuple[Side, ...] = ()
    own_brief: Brief | None = None
    brief: Brief | None = None
    examples: tuple[Example, ...] = ()
    where: Mapping[str, Position] = field(factory=dict, eq=False)
    #: Keys of verbs that a host serves in it besides those of the brief.
    offers: tuple[str, ...] = ()
    #: Who wrote it: ``built-in``, or the file that it came from.
    origin: str = field(default="", eq=False)
    #: Why it, or what narrows it, cannot be used, where this stands in for it; the intent says it.
    unusable: str = field(default="", eq=False)

    _ceiling: Ceiling | None = field(default=None, init=False, eq=False, repr=False)
    _hash: str = field(default="", init=False, eq=False, repr=False)

    @property
    def ceiling(self) -> Ceiling:
        """What it may at most do: the meet of its sides."""
        # Kept by hand, here and below: a cached property would need a dict in every profile.
        if self._ceiling is None:
            object.__setattr__(self, "_ceiling", narrow(*(s.ceiling for s in self.sides)))
            assert self._ceiling is not None, "it was set just now"
        return self._ceiling

    @property
    def own(self) -> Ceiling:
        """The ceiling that its own file states."""
        return next((s.ceiling for s in self.sides if s.name == self.name), TOP)

    @property
    def chain(self) -> tuple[str, ...]:
        """The names of the sides, the top parent first."""
        return tuple(s.name for s in self.sides)

    @property
    def pins(self) -> tuple[str, ...]:
        """Keys kept in the surface and pre-approved, past all layers (S003-18, S003-19)."""
        return (*(self.brief.pins if self.brief else ()), *self.offers, ASK_USER, MODE)

    @property
    def silent(self) -> bool:
        """Is it the absence of policy: the top ceiling and no brief, so no text (S002-10)."""
        return self.brief is None and self.ceiling == TOP

    def under(self, *sides: Side) -> Profile:
        """Return this profile narrowed by further sides; its brief stays as it is."""
        return evolve(self, sides=(*self.sides, *sides)) if sides else self

    @property
    def hash(self) -> str:
        """SHA-256 of all that decides or is said, in hexadecimal; places do not count."""
        if not self._hash:
            object.__setattr__(self, "_hash", self._hashed())
        return self._hash

    def _hashed(self) -> str:
        ceiling, brief = self.ceiling, self.brief
        return hashlib.sha256(
            json.dumps(
                {
                    "name": self.name,
                    "label": self.label,
                    "intent": self.intent,
                    **({"offers": self.offers} if self.offers else {}),
                    "tier": ceiling.tier,
                    "refuse": sorted(ceiling.refuse),
                    "unknown": ceiling.unknown,
                    "allow": _lists(ceiling.allow),
                    "deny": sorted(ceiling.deny),
                    "limit": {e: _lists(v) for e, v in ceiling.limit.items()},
                    "brief": brief
                    and {
                        "verbs": brief.verbs,
                        "required": brief.required,
                        "noun": brief.noun,
                        "nudge": brief.nudge,
                        "exit": brief.exit,
                        "exit_to": brief.exit_to,
                        "children": brief.children,
                        "missed": brief.missed,
                        "announce": brief.announce,
                        "guidance": brief.guidance,
                    },
                },
                sort_keys=True,
            ).encode()
        ).hexdigest()


def _lists(lists: Iterable[Iterable[str]]) -> list[list[str]]:
    return sorted(sorted(one) for one in lists)
