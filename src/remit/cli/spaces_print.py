"""How `remit space` prints: a space with what narrows it, and an entry of its history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remit.cli.modes import ceiling_value
from remit.cli.options import Place
from remit.cli.output import emit, problem_value, say, show_problems
from remit.policy.problems import InputError, Problem, RemitError
from remit.profiles.source import Source

if TYPE_CHECKING:
    from remit.harness.store import Change, Overlay, Space

__all__ = ["change_value", "mode_problems", "print_space", "space_value", "wrong_modes"]

#: Of a mode that cannot be used: what is wrong with it.
Wrong = Mapping[str, tuple[Problem, ...]]


def wrong_modes(place: Place, *spaces: Space) -> Wrong:
    """Return which modes of spaces cannot be used, each with why."""
    wrong: dict[str, tuple[Problem, ...]] = {}
    for mode in dict.fromkeys(s.mode for s in spaces):
        try:
            place.engine.library.get(mode)
        except RemitError as error:
            wrong[mode] = error.problems
    return wrong


def mode_problems(wrong: Wrong) -> tuple[Problem, ...]:
    """Return what to tell of modes that cannot be used: a host admits nothing in them."""
    found = (p for problems in wrong.values() for p in problems)
    return tuple(dict.fromkeys(found))


def space_value(
    place: Place, space: Space, pending: str | None, wrong: Wrong | None = None
) -> dict[str, Any]:
    """Return a space as JSON; ``pending`` is its mode where a turn under way is in another.

    ``effects`` maps a class, or a class and a pattern with a blank between them, to a verdict;
    ``problems`` are those that keep its mode from use.
    """
    wrong = wrong_modes(place, space) if wrong is None else wrong
    return {
        "id": space.id,
        "mode": space.mode,
        "pending": pending,
        "kind": space.kind.value,
        "worktree": space.worktree,
        "dial": space.dial.value,
        "effects": _effects(space),
        "overlay": None if space.overlay is None else _overlay_value(place, space.overlay),
        "locked": space.locked,
        "remote": space.remote,
        "revision": space.revision,
        "problems": [problem_value(p) for p in wrong.get(space.mode, ())],
    }


def _effects(space: Space) -> dict[str, str]:
    return {
        s.effect if s.target is None else f"{s.effect} {s.target}": s.verdict.value
        for s in space.effects
    }


def _overlay_value(place: Place, overlay: Overlay) -> dict[str, Any]:
    """Return an overlay as JSON: where it came from, what it states, or why it cannot be used."""
    value: dict[str, Any] = {"file": overlay.file, "ceiling": None, "problems": []}
    try:
        side = place.engine.overlay(Source(overlay.text, overlay.file))
    except InputError as error:
        return value | {"problems": [problem_value(p) for p in error.problems]}
    return value | {"ceiling": ceiling_value(side.ceiling)}


def change_value(change: Change) -> dict[str, Any]:
    """Return an entry of a history as JSON."""
    return {
        "at": change.at,
        "what": change.what,
        "value": change.value,
        "by": change.by,
        "why": change.why,
        "answer": change.answer.value if change.answer else None,
        "revision": change.revision,
        "approval": change.approval,
    }


def print_space(place: Place, space: Space, as_json: bool) -> None:
    """Print one space; an overlay that cannot be used is a problem besides."""
    with place.store() as store:
        pending = store.spaces.pending(space.id)
    if as_json:
        emit(space_value(place, space, pending))
        return
    wrong = wrong_modes(place, space)
    settings = ", ".join(f"{what}: {verdict}" for what, verdict in _effects(space).items())
    for name, value in (
        ("space", space.id),
        ("mode", f"{space.mode} (unusable: it admits nothing)" if wrong else space.mode),
        ("pending", "turns under way take it at their next boundary" if pending else ""),
        ("dial", space.dial.value),
        ("effects", settings),
        ("overlay", space.overlay.file if space.overlay else ""),
        ("locked", "yes: no call is forwarded" if space.locked else ""),
        ("kind", space.kind.value),
        ("worktree", space.worktree or "none"),
        ("remote", "yes" if space.remote else "no"),
        ("revision", str(space.revision)),
    ):
        if value:
            say(f"{name:<10}{value}")
    show_problems(mode_problems(wrong))
    if space.overlay is not None:
        try:
            place.engine.overlay(Source(space.overlay.text, space.overlay.file))
        except InputError as error:
            show_problems(error.problems)
