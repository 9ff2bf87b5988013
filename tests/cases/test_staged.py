"""The cases of modes as staged workflows, read from a table that says how ours stands to each."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from remit.policy.problems import Severity
from remit.profiles.library import Library
from remit.profiles.source import Source

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = {c["id"]: c for c in json.loads((HERE / "staged.json").read_text())}
TABLE: dict[str, dict[str, Any]] = tomllib.loads((HERE / "staged.toml").read_text())
WAYS = {"file", "shown", "design"}
SCENARIOS = {
    scenario["name"]
    for path in (ROOT / "tests" / "policy" / "runs").glob("*.toml")
    for scenario in tomllib.loads(path.read_text())["scenario"]
}


def test_every_case_is_in_it_once() -> None:
    """Each case has exactly one way in which ours stands to it."""
    assert set(TABLE) == set(CASES)
    assert [id for id, e in TABLE.items() if len(e) != 1 or not set(e) <= WAYS] == []


@pytest.mark.parametrize("id", [id for id, e in TABLE.items() if "shown" in e])
def test_what_shows_it_is_there(id: str) -> None:
    """A case that is shown elsewhere is shown by a test or a scenario that is there."""
    shown = TABLE[id]["shown"]
    file, found, name = shown.partition("::")
    assert f"def {name}" in (ROOT / file).read_text() if found else shown in SCENARIOS


@pytest.mark.parametrize("id", [id for id, e in TABLE.items() if "file" in e])
def test_file(id: str) -> None:
    """A mode's file is taken, or rejected whole with every problem of it."""
    text, *codes = TABLE[id]["file"]
    entry = Library.load([Source(f"---\n{text}---\nWords.\n", "modes/tidy/mode.md")]).entries[-1]
    found = [p.code for p in entry.problems if p.severity is Severity.ERROR]
    assert sorted(found) == sorted(codes)
    assert (entry.name, entry.profile is None) == ("tidy", bool(codes))


def test_every_requirement_is_named_or_says_why_not() -> None:
    """Each of S000-1 to S000-113 is named by a test, or waits, or the design decides otherwise."""
    told = tomllib.loads((HERE / "staged_requirements.toml").read_text())
    elsewhere = {int(n) for group in told.values() for n in group}
    named: set[int] = set()
    for path in (*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("tests/policy/runs/*.toml")):
        text = path.read_text()
        named |= {int(n) for n in re.findall(r"S000-(\d+)", text)}
        for first, last in re.findall(r"S000-(\d+) to S000-(\d+)", text):
            named |= set(range(int(first), int(last) + 1)) if path != Path(__file__) else set()

    assert set(range(1, 114)) - named - elsewhere == set()
    assert elsewhere <= set(range(1, 114))
