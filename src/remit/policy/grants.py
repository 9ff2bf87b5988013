"""Grants: an operator's standing yes to calls of one tool (design section 6).

A grant satisfies the approval gate alone, so what filter or guard refuse is refused before anybody
looks for one. It says yes to exact arguments, or to one effect on the targets that it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from remit.policy.digest import canonical
from remit.policy.selectors import target_matches
from remit.policy.tools import CallEffects, Shape

__all__ = ["Grant", "covering"]


@frozen
class Grant:
    """What is allowed for good: a tool's key, and either arguments or an effect with a pattern.

    ``args`` is their canonical JSON; ``effect`` and ``target`` go together.
    """

    tool: str
    args: str | None = None
    effect: str | None = None
    target: str | None = None


def covering(
    grants: Iterable[Grant],
    shape: Shape,
    args: Mapping[str, Any],
    found: CallEffects,
    asked: Iterable[str],
) -> tuple[Grant, ...]:
    """Return the grants by which a call of their tool runs unasked; none if it must be asked.

    ``asked`` is what `gate.asked` says of it. One grant of the arguments is enough; else each
    effect that asks must be granted on each of its targets, of which at least one can be seen.
    What nobody declared or could read is never covered; ``found`` is what `as_called` made of it,
    so a call that spawns is opaque.
    """
    if not shape.declared or found.opaque:
        return ()
    grants, spelt = tuple(grants), canonical(args)
    if exact := next((g for g in grants if g.args == spelt), None):
        return (exact,)
    used: dict[Grant, None] = {}
    for effect in sorted(asked):
        for target in found.targets.get(effect, ()) or (None,):
            grant = next((g for g in grants if _covers(g, effect, target)), None)
            if grant is None:
                return ()
            used[grant] = None
    return tuple(used)


def _covers(grant: Grant, effect: str, target: str | None) -> bool:
    if target is None or grant.target is None:
        return False
    return grant.effect == effect and target_matches(grant.target, target)
