"""The cases of orchestrating and reviewing, from a table that says how ours stands to each."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = {c["id"]: c for c in json.loads((HERE / "orchestrations.json").read_text("utf-8"))}
TABLE: dict[str, Any] = tomllib.loads((HERE / "orchestrations.toml").read_text("utf-8"))
WAYS = {"shown", "design", "argued"}


def test_every_case_is_in_it_once() -> None:
    """Each case has exactly one way in which ours stands to it."""
    assert set(TABLE) == set(CASES)
    assert [id for id, e in TABLE.items() if len(e) != 1 or not set(e) <= WAYS] == []


def test_few_are_argued() -> None:
    """At most one case in twenty is argued away."""
    assert sum("argued" in e for e in TABLE.values()) * 20 <= len(CASES)


@pytest.mark.parametrize("id", [i for i, e in TABLE.items() if "shown" in e])
def test_what_shows_a_case_exists(id: str) -> None:
    """A test that is said to show a case is there."""
    file, *names = TABLE[id]["shown"].split("::")
    nodes: list[ast.stmt] = ast.parse((ROOT / file).read_text("utf-8")).body
    for name in names:
        (found,) = [n for n in nodes if getattr(n, "name", None) == name]
        nodes = getattr(found, "body", [])
