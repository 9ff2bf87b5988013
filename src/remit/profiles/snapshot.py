"""Snapshots: a profile as text that needs no file, parent or plugin to be read again.

What a space was last in is kept so; if the mode's file goes away, the snapshot holds until a person
decides (design section 9). A run keeps its staged mode so, whatever becomes of the file (S000-94).
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any

from attrs import evolve
from cattrs.preconf.json import JsonConverter, make_converter

from remit.policy.digest import canonical
from remit.policy.problems import InputError, Problem
from remit.policy.profile import Profile
from remit.policy.staged import StagedMode

__all__ = ["read_snapshot", "read_staged_snapshot", "snapshot", "staged_snapshot"]


@cache
def _converter() -> JsonConverter:
    # Sorted, so that equal profiles have equal snapshots.
    return make_converter(
        forbid_extra_keys=True, unstruct_collection_overrides={AbstractSet: sorted}
    )


def snapshot(profile: Profile) -> str:
    """Return a profile as JSON: all that decides or is said, without places and examples."""
    data: Any = _converter().unstructure(_bare(profile))
    return canonical(data)


def read_snapshot(text: str) -> Profile:
    """Return the profile of a snapshot; raise `InputError` if it is none."""
    try:
        return _converter().structure(json.loads(text), Profile)
    except Exception as error:
        raise InputError(
            Problem("bad-snapshot", f"a kept profile cannot be read: {type(error).__name__}")
        ) from error


def staged_snapshot(mode: StagedMode) -> str:
    """Return a staged mode as JSON, every profile of it bare as in `snapshot`."""
    bare = evolve(
        mode,
        profile=_bare(mode.profile),
        stages={id: _bare(profile) for id, profile in mode.stages.items()},
    )
    data: Any = _converter().unstructure(bare)
    # Tables are sorted, and a run starts in the stage that comes first.
    return canonical({"order": list(mode.workflow.stages), "mode": data})


def read_staged_snapshot(text: str) -> StagedMode:
    """Return the staged mode of a snapshot; raise `InputError` if it is none."""
    try:
        data = json.loads(text)
        mode = _converter().structure(data["mode"], StagedMode)
        stages = {id: mode.workflow.stages[id] for id in data["order"]}
    except Exception as error:
        raise InputError(
            Problem("bad-snapshot", f"a kept mode cannot be read: {type(error).__name__}")
        ) from error
    return evolve(mode, workflow=evolve(mode.workflow, stages=stages))


def _bare(profile: Profile) -> Profile:
    return evolve(
        profile,
        where={},
        origin="",
        examples=(),
        sides=tuple(evolve(s, where={}) for s in profile.sides),
    )
