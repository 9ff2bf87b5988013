"""Snapshots: a profile as text that needs no file, parent or plugin to be read again.

What a space was last in is kept so; if the mode's file goes away, the snapshot holds until a person
decides (design section 9).
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

__all__ = ["read_snapshot", "snapshot"]


@cache
def _converter() -> JsonConverter:
    # Sorted, so that equal profiles have equal snapshots.
    return make_converter(
        forbid_extra_keys=True, unstruct_collection_overrides={AbstractSet: sorted}
    )


def snapshot(profile: Profile) -> str:
    """Return a profile as JSON: all that decides or is said, without places and examples."""
    bare = evolve(
        profile,
        where={},
        origin="",
        examples=(),
        sides=tuple(evolve(s, where={}) for s in profile.sides),
    )
    data: Any = _converter().unstructure(bare)
    return canonical(data)


def read_snapshot(text: str) -> Profile:
    """Return the profile of a snapshot; raise `InputError` if it is none."""
    try:
        return _converter().structure(json.loads(text), Profile)
    except Exception as error:
        raise InputError(
            Problem("bad-snapshot", f"a kept profile cannot be read: {type(error).__name__}")
        ) from error
