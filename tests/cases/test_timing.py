"""Faults of hosts in time, and that the requirements of seeds 001 and 002 are each shown."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = {c["id"]: c for c in json.loads((HERE / "timing.json").read_text())}
TABLE: dict[str, Any] = tomllib.loads((HERE / "timing.toml").read_text())
#: How many each seed has, and how many of its later history.
SEEDS = {"S001": (18, 12), "S002": (14, 10)}
REQUIRED = (
    *(f"{s}-{n}" for s, (last, _) in SEEDS.items() for n in range(1, last + 1)),
    *(f"{s}-R{n}" for s, (_, last) in SEEDS.items() for n in range(1, last + 1)),
    "S004-5",
)


def test_every_case_is_in_the_table_once() -> None:
    """Each case has exactly one way in which ours stands to it, and few are decided otherwise."""
    assert set(TABLE) == set(CASES)
    assert [id for id, e in TABLE.items() if len(e) != 1 or not set(e) <= {"shown", "design"}] == []
    assert sum("design" in e for e in TABLE.values()) * 20 <= 2 * len(CASES)


@pytest.mark.parametrize("id", [id for id, e in TABLE.items() if "shown" in e])
def test_what_shows_a_case_exists(id: str) -> None:
    """A test that is said to show a case is there."""
    file, *names = TABLE[id]["shown"].split("::")
    nodes: list[ast.stmt] = ast.parse((ROOT / file).read_text()).body
    for name in names:
        (found,) = [n for n in nodes if getattr(n, "name", None) == name]
        nodes = getattr(found, "body", [])


def test_every_requirement_is_named_by_a_test() -> None:
    """Each requirement of seeds 001 and 002, and S004-5, stands in the docstring of a test."""
    named: set[str] = set()
    for path in ROOT.glob("tests/**/test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                named |= set(re.findall(r"S00\d-R?\d+\b", ast.get_docstring(node) or ""))

    assert [r for r in REQUIRED if r not in named] == []
