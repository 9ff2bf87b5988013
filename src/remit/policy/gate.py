"""The approval gate: the table of design section 6 and the operator's settings for a space."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from remit.policy.decision import Cause, Decision
from remit.policy.selectors import target_matches
from remit.policy.tools import CallEffects, Shape
from remit.policy.vocabulary import ADMITTED, Dial, Layer, Tier, Verdict, in_order

__all__ = ["Setting", "asked", "cells", "gate"]

_A, _Q, _D = Verdict.ALLOW, Verdict.ASK, Verdict.DENY

#: Verdicts under propose, ask, accept-edits and auto, for each kind of thing that a call may have.
_HARMLESS = (_A, _A, _A, _A)
_EDIT = (_D, _Q, _A, _A)
_CHANGE = (_D, _Q, _Q, _A)
_UNSAID = (_D, _Q, _Q, _Q)


@frozen
class Setting:
    """An operator's verdict on one effect in one space, on matching targets only if it names any.

    A target that cannot be seen may be any: one that would be stricter there holds, a laxer one
    does not.
    """

    effect: str
    verdict: Verdict
    target: str | None = None


def _cell(effect: str, dial: Dial, admitted: frozenset[str]) -> Verdict:
    row = _HARMLESS if effect in admitted else _EDIT if effect == "worktree.write" else _CHANGE
    return row[dial.rank]


def _set(
    effect: str, cell: Verdict, dial: Dial, targets: tuple[str, ...], settings: Iterable[Setting]
) -> tuple[Verdict, Cause]:
    """Return the cell as the settings leave it: per target the strictest that speaks, else it."""
    if dial is Dial.PROPOSE and cell is Verdict.DENY:
        return cell, Cause.EFFECT
    mine = [s for s in settings if s.effect == effect]
    general = [s.verdict for s in mine if s.target is None]
    usual = max(general, default=cell)

    def of(target: str | None) -> tuple[Verdict, Cause]:
        said = general + [
            s.verdict
            for s in mine
            if s.target is not None
            and (s.verdict > usual if target is None else target_matches(s.target, target))
        ]
        return (max(said), Cause.SETTING) if said else (cell, Cause.EFFECT)

    # Of targets that fare alike, one that the operator spoke of tells more, wherever it stands.
    return max(
        [of(t) for t in targets or (None,)], key=lambda told: (told[0], told[1] is Cause.SETTING)
    )


def cells(
    shape: Shape,
    found: CallEffects,
    dial: Dial,
    settings: tuple[Setting, ...],
    admitted: frozenset[str],
) -> list[tuple[Verdict, Cause, str]]:
    """Return what becomes of each thing that a call has; what is no effect has an empty name."""
    told: list[tuple[Verdict, Cause, str]] = []
    for effect in in_order(found.effects):
        verdict, cause = _set(
            effect, _cell(effect, dial, admitted), dial, found.targets.get(effect, ()), settings
        )
        told.append((verdict, cause, effect))
    at = dial.rank
    if not shape.declared:
        told.append((_UNSAID[at], Cause.UNDECLARED, ""))
    elif shape.tier > Tier.READ and not shape.effects:
        told.append((_UNSAID[at], Cause.NO_EFFECTS, ""))
    if found.opaque:
        told.append((_CHANGE[at], Cause.UNREAD, ""))
    return told


def asked(
    shape: Shape,
    found: CallEffects,
    dial: Dial,
    settings: Iterable[Setting] = (),
    admitted: frozenset[str] = ADMITTED,
) -> frozenset[str]:
    """Return the effects of a call that ask; the empty name stands for what is no effect."""
    told = cells(shape, found, dial, tuple(settings), admitted)
    return frozenset(effect for verdict, _, effect in told if verdict is Verdict.ASK)


def gate(
    shape: Shape,
    found: CallEffects,
    dial: Dial,
    settings: Iterable[Setting] = (),
    admitted: frozenset[str] = ADMITTED,
    askable: bool = True,
) -> Decision:
    """Judge a call that filter and guard let through; the strictest over its effects wins."""
    told = cells(shape, found, dial, tuple(settings), admitted)
    verdict = max((v for v, _, _ in told), default=Verdict.ALLOW)
    decisive = [(c, e) for v, c, e in told if v is verdict]
    if verdict is Verdict.ALLOW and not any(c is Cause.SETTING for c, _ in decisive):
        changing = [e for c, e in decisive if c is Cause.EFFECT and e not in admitted]
        if not changing and not found.opaque:
            return Decision(verdict, Layer.GATE, Cause.HARMLESS)
        cause = Cause.EFFECT if changing else Cause.UNREAD
        return Decision(verdict, Layer.GATE, cause, tuple(changing), dial)
    if verdict is Verdict.ASK and not askable:
        return Decision(Verdict.DENY, Layer.GATE, Cause.NOBODY, (), dial)
    # Several causes may be equally strict; the one that says most comes first.
    cause = min((c for c, _ in decisive), key=_TELLING.index)
    detail = tuple(e for c, e in decisive if c is cause and e)
    return Decision(verdict, Layer.GATE, cause, detail, None if cause is Cause.SETTING else dial)


_TELLING = (Cause.SETTING, Cause.UNDECLARED, Cause.NO_EFFECTS, Cause.UNREAD, Cause.EFFECT)
