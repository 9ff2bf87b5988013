"""Compiling: a profile and a catalogue become a byte per tool into shared decisions.

Most tools look alike to a ceiling, so each shape is judged once, for every dial; names matter only
to pins, deny entries and allow-lists, which are laid over the shapes. What is left for a call is
three look-ups. No hook runs here and none runs on a call.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Mapping
from functools import lru_cache
from itertools import compress

from attrs import field, frozen

from remit.policy.decision import Cause, Decision
from remit.policy.gate import Setting, gate
from remit.policy.guard import admission, as_called, refusal
from remit.policy.profile import Profile
from remit.policy.tools import CallEffects, Catalog, Shape, Tool, small_ints
from remit.policy.vocabulary import ADMITTED, Dial, Layer, Verdict

__all__ = ["Compiled", "compile_profile"]

_PIN = Decision(Verdict.ALLOW, Layer.PIN, Cause.PINNED)
_UNKNOWN = Decision(Verdict.DENY, Layer.FILTER, Cause.UNKNOWN_TOOL)
_OTHER_VERB = Decision(Verdict.DENY, Layer.FILTER, Cause.OTHER_VERB)
_NOT_ADMITTED = Decision(Verdict.DENY, Layer.FILTER, Cause.NOT_ADMITTED)


@frozen
class Compiled:
    """The rows of one profile over one catalogue.

    ``rows`` has one entry a tool, the place in ``table`` of its decisions under each dial. All
    else is a view, computed when asked for. (By hand: a cached property in a class with slots
    would halve the speed of a decision.)
    """

    profile: Profile
    catalog: Catalog
    rows: bytes | array[int]
    table: tuple[Mapping[Dial, Decision], ...]
    settings: tuple[Setting, ...] = ()
    admitted: frozenset[str] = ADMITTED
    askable: bool = True
    _index: Mapping[str, int] = field(factory=dict, eq=False, repr=False)
    _visible: tuple[bool, ...] | None = field(default=None, init=False, eq=False, repr=False)
    _surface: tuple[Tool, ...] | None = field(default=None, init=False, eq=False, repr=False)
    _hash: str = field(default="", init=False, eq=False, repr=False)

    def decide(self, tool: str, dial: Dial, found: CallEffects | None = None) -> Decision:
        """Judge a call by tool name or key, in the order pin, filter, guard, gate.

        ``found`` is what a classifier or the host saw of this call. Without it a call has all that
        its tool declares, and one of a tool with a classifier is opaque besides.
        """
        try:
            at = self._index[tool]
        except KeyError:
            return self._nameless(tool)
        decision = self.table[self.rows[at]][dial]
        if found is None or decision.layer in (Layer.PIN, Layer.FILTER):
            return decision
        return self._judge(self.catalog.shapes[self.catalog.shape_of[at]], dial, found)

    def _judge(self, shape: Shape, dial: Dial, found: CallEffects) -> Decision:
        found = as_called(shape, found)
        return refusal(self.profile.ceiling, shape, found) or gate(
            shape, found, dial, self.settings, self.admitted, self.askable
        )

    def _nameless(self, name: str) -> Decision:
        if keys := self.catalog.ambiguous.get(name):
            return Decision(Verdict.DENY, Layer.FILTER, Cause.AMBIGUOUS, keys)
        return _UNKNOWN

    def admits(self, tool: str) -> bool:
        """Say whether a tool is in the surface: visible or pinned."""
        at = self.catalog.index.get(tool)
        return at is not None and self.visible[at]

    @property
    def visible(self) -> tuple[bool, ...]:
        """For each tool of the catalogue, whether it is in the surface."""
        if self._visible is None:
            shown = [row[Dial.ASK].layer is not Layer.FILTER for row in self.table]
            object.__setattr__(self, "_visible", tuple(map(shown.__getitem__, self.rows)))
            assert self._visible is not None, "it was set just now"
        return self._visible

    @property
    def surface(self) -> tuple[Tool, ...]:
        """The tools that the model is shown, in catalogue order."""
        if self._surface is None:
            object.__setattr__(self, "_surface", tuple(compress(self.catalog.tools, self.visible)))
            assert self._surface is not None, "it was set just now"
        return self._surface

    @property
    def hidden(self) -> tuple[tuple[Tool, Decision], ...]:
        """The tools that the model is not shown, each with the filter's decision."""
        return tuple(
            (tool, self.table[row][Dial.ASK])
            for tool, row, visible in zip(self.catalog.tools, self.rows, self.visible, strict=True)
            if not visible
        )

    @property
    def hash(self) -> str:
        """SHA-256 over all that decides or is said: equal inputs, equal hash, and no others."""
        if not self._hash:
            settings = sorted([s.effect, s.verdict.value, *_told(s.target)] for s in self.settings)
            admitted = sorted(self.admitted)
            parts = [self.profile.hash, self.catalog.hash, settings, admitted, self.askable]
            hashed = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
            object.__setattr__(self, "_hash", hashed)
        return self._hash


def _told(target: str | None) -> list[str]:
    return [] if target is None else [target]


def compile_profile(
    profile: Profile,
    catalog: Catalog,
    settings: tuple[Setting, ...] = (),
    admitted: frozenset[str] = ADMITTED,
    askable: bool = True,
) -> Compiled:
    """Compile a profile with a catalogue; every decision that needs no look at a call is made."""
    ceiling = profile.ceiling
    table: dict[tuple[Decision, ...], int] = {}

    def place(*row: Decision) -> int:
        return table.setdefault(row * len(Dial) if len(row) == 1 else row, len(table))

    shapes = catalog.shapes
    refused = [admission(ceiling, shape) for shape in shapes]
    inside = [
        place(no) if no else place(*_unseen(profile, shape, settings, admitted, askable))
        for shape, no in zip(shapes, refused, strict=True)
    ]
    rows = [inside[s] for s in catalog.shape_of]

    if ceiling.allow:
        # What a ceiling refuses of a tool says more than that no list named it.
        outside = [
            row if no else place(_NOT_ADMITTED) for row, no in zip(inside, refused, strict=True)
        ]
        everything = frozenset(range(len(rows)))
        for allowed in ceiling.allow:
            named = frozenset[int]().union(*(catalog.select(s) for s in allowed))
            for i in everything - named:
                rows[i] = outside[catalog.shape_of[i]]
    for selector in sorted(ceiling.deny, reverse=True):
        denied = place(Decision(Verdict.DENY, Layer.FILTER, Cause.DENIED, (selector,)))
        for i in catalog.select(selector):
            rows[i] = denied
    for i in catalog.native:
        rows[i] = place(_OTHER_VERB)
    for key in profile.pins:
        for i in catalog.select(key):
            if _serves(catalog.tools[i]):
                rows[i] = place(_PIN)

    return Compiled(
        profile,
        catalog,
        small_ints(rows, len(table)),
        tuple(map(_row, table)),
        settings,
        admitted,
        askable,
        catalog.index,
    )


def _serves(tool: Tool) -> bool:
    """Say whether a tool may be pinned: one that changed since it was declared may not."""
    return tool.native or (tool.declared and (tool.verb or tool.exit))


@lru_cache(maxsize=1 << 16)
def _row(decisions: tuple[Decision, ...]) -> Mapping[Dial, Decision]:
    """Modes share these too: most of a mode's rows are like some other's."""
    return dict(zip(Dial, decisions, strict=True))


def _unseen(
    profile: Profile,
    shape: Shape,
    settings: tuple[Setting, ...],
    admitted: frozenset[str],
    askable: bool,
) -> tuple[Decision, ...]:
    """Judge, for each dial, a call of which nothing was seen but its tool."""
    if refused := refusal(profile.ceiling, shape, as_called(shape, None)):
        return (refused,) * len(Dial)
    return _gated(shape, settings, admitted, askable)


@lru_cache(maxsize=1 << 16)
def _gated(
    shape: Shape, settings: tuple[Setting, ...], admitted: frozenset[str], askable: bool
) -> tuple[Decision, ...]:
    """The gate knows no mode, so all modes share its rows."""
    found = as_called(shape, None)
    return tuple(gate(shape, found, dial, settings, admitted, askable) for dial in Dial)
