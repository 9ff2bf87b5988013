"""The modes of steps, by what kind of work each is: one table for plans and orchestrations."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from remit.policy.plan import NodeType

__all__ = ["step_modes"]


@cache
def step_modes() -> Mapping[NodeType, str]:
    """Return the mode that each kind of step is pinned to; every kind has one."""
    said = tomllib.loads((files("remit.profiles") / "steps.toml").read_text("utf-8"))
    return MappingProxyType({kind: said[kind.value] for kind in NodeType})
