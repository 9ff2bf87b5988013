"""A space as the store has it: one row, read the same way wherever it is needed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from attrs import frozen

from remit.policy.gate import Setting
from remit.policy.vocabulary import Dial, SpaceKind, Verdict

__all__ = ["SELECT_SPACE", "Overlay", "Space", "setting_values", "space_of"]


@frozen
class Overlay:
    """What narrows a space in every mode: the text of a file with one ``[ceiling]``, kept whole.

    ``file`` is where it came from, which is how the places of its facts are told; nothing is read
    from there again.
    """

    file: str
    text: str


@frozen
class Space:
    """A space as the store has it; ``revision`` counts its modes, and nothing else of it."""

    id: str
    mode: str
    kind: SpaceKind
    worktree: str | None
    dial: Dial
    remote: bool
    revision: int
    created: str
    #: The operator's settings, by effect and target; at most one of each.
    effects: tuple[Setting, ...] = ()
    overlay: Overlay | None = None
    #: A locked space forwards nothing, and is not left.
    locked: bool = False
    #: The conversation whose approved exit or plan brought the mode, if one did.
    left_by: str | None = None


SELECT_SPACE = (
    "SELECT id, mode, kind, worktree, dial, remote, revision, created, effects, overlay, locked,"
    " left_by FROM space"
)


# A space is read for every call and seldom changes, so rows are understood once.
@lru_cache(maxsize=1024)
def space_of(row: tuple[Any, ...]) -> Space:
    """Return the space of a row of `SELECT_SPACE`."""
    id, mode, kind, worktree, dial, remote, revision, created, effects, overlay, locked, left = row
    return Space(
        id,
        mode,
        SpaceKind(kind),
        worktree,
        Dial(dial),
        bool(remote),
        revision,
        created,
        tuple(
            Setting(s["effect"], Verdict(s["verdict"]), s["target"]) for s in json.loads(effects)
        ),
        None if overlay is None else Overlay(**json.loads(overlay)),
        bool(locked),
        left,
    )


def setting_values(settings: Iterable[Setting]) -> list[dict[str, str | None]]:
    """Return settings as the log holds them."""
    return [{"effect": s.effect, "verdict": s.verdict.value, "target": s.target} for s in settings]
