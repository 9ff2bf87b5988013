"""Filter and guard: what a ceiling refuses, of a tool as a whole and of one call.

Visible means callable: the filter hides a tool only if no call of it could pass the guard.
"""

from __future__ import annotations

from functools import lru_cache

from attrs import evolve

from remit.policy.ceiling import Ceiling
from remit.policy.decision import Cause, Decision
from remit.policy.selectors import admits_nothing, admits_targets
from remit.policy.tools import CallEffects, Shape
from remit.policy.vocabulary import Layer, Unknown, Verdict, in_order

__all__ = ["admission", "as_called", "refusal"]

#: Code that was not read: declared without a classifier it is the unknown itself.
_SPAWN = "process.spawn"


@lru_cache(maxsize=4096)
def _deny(layer: Layer, cause: Cause, *detail: str) -> Decision:
    return Decision(Verdict.DENY, layer, cause, detail)


def admission(ceiling: Ceiling, shape: Shape) -> Decision | None:
    """Return the filter's refusal of every tool of a shape, None if a call of it may pass."""
    if shape.tier.rank > ceiling.tier.rank:
        return _deny(Layer.FILTER, Cause.TIER, shape.tier.value)
    if not shape.declared and ceiling.unknown is Unknown.REFUSE:
        return _deny(Layer.FILTER, Cause.UNDECLARED)
    unread = ceiling.unknown is Unknown.REFUSE
    if shape.classify is None:
        return _certain(ceiling, shape.effects, unread)
    least = shape.least or frozenset({frozenset[str]()})
    refused = [_certain(ceiling, effects, unread, limits=False) for effects in least]
    if any(found is None for found in refused):
        return None
    return min((d for d in refused if d), key=lambda d: (d.cause, d.detail))


def _certain(
    ceiling: Ceiling, effects: frozenset[str], unread: bool, *, limits: bool = True
) -> Decision | None:
    if hit := effects & ceiling.refuse:
        return _deny(Layer.FILTER, Cause.REFUSED, *in_order(hit))
    limited = effects & ceiling.limit.keys()
    if not limits:  # whoever looks may find a target within, where there is one
        limited = frozenset(e for e in limited if admits_nothing(ceiling.limit[e]))
    if limited:
        return _deny(Layer.FILTER, Cause.LIMIT, *in_order(limited))
    if unread and _SPAWN in effects:
        return _deny(Layer.FILTER, Cause.UNREAD)
    return None


def as_called(shape: Shape, found: CallEffects | None) -> CallEffects:
    """Hold what was found of a call, if it was looked at, against what its tool declares.

    Without a classifier every call has all the declared effects, whatever else was found. With
    one, a call that was not looked at, or has an effect beyond the declared bound, was not
    understood. A call that spawns is opaque whoever says so (design section 3).
    """
    classified = shape.classify is not None
    if found is None:
        found = CallEffects(shape.effects, opaque=classified)
    effects = found.effects if classified else found.effects | shape.effects
    opaque = found.opaque or _SPAWN in effects or (classified and not effects <= shape.effects)
    if opaque is found.opaque and effects == found.effects:
        return found
    return evolve(found, effects=effects, opaque=opaque)


def refusal(ceiling: Ceiling, shape: Shape, found: CallEffects) -> Decision | None:
    """Return the guard's refusal of one call, None if it passes; any overlap refuses.

    ``found`` is what `as_called` made of it.
    """
    if hit := found.effects & ceiling.refuse:
        return _deny(Layer.GUARD, Cause.REFUSED, *in_order(hit))
    outside = [
        effect
        for effect in in_order(found.effects & ceiling.limit.keys())
        if not all(
            admits_targets(patterns, found.targets.get(effect, ()))
            for patterns in ceiling.limit[effect]
        )
    ]
    if outside:
        return _deny(Layer.GUARD, Cause.LIMIT, *outside)
    if found.protected:
        return _deny(Layer.GUARD, Cause.PROTECTED, *found.protected)
    if (found.opaque or not shape.declared) and ceiling.unknown is Unknown.REFUSE:
        return _deny(Layer.GUARD, Cause.UNREAD)
    return None
