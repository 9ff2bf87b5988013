"""The cases of plans, read from a table that says how ours stands to each."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = {c["id"]: c for c in json.loads((HERE / "plans.json").read_text())}
TABLE: dict[str, Any] = tomllib.loads((HERE / "plans.toml").read_text())


def test_every_case_is_in_it_once() -> None:
    """Each case has exactly one way in which ours stands to it, and none is argued away."""
    assert set(TABLE) == set(CASES)
    assert [id for id, e in TABLE.items() if len(e) != 1 or not set(e) <= {"shown", "design"}] == []


@pytest.mark.parametrize("id", [i for i, e in TABLE.items() if "shown" in e])
def test_what_shows_a_case_exists(id: str) -> None:
    """A test that is said to show a case is there."""
    file, name = TABLE[id]["shown"].split("::")
    names = [getattr(n, "name", None) for n in ast.parse((ROOT / file).read_text()).body]
    assert names.count(name) == 1
