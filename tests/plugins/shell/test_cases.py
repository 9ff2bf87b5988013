"""Faults that users of agent hosts met with their shells; each line must be judged right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remit.plugins.shell import classify_shell
from remit.policy.tools import Facts
from remit.policy.vocabulary import world_changing

CASES = json.loads((Path(__file__).parents[2] / "cases" / "shell.json").read_text("utf-8"))["cases"]
LINES = [
    pytest.param(case, line, id=f"{case['id']}-{at}")
    for case in CASES
    for at, line in enumerate(case["lines"], 1)
]


@pytest.mark.parametrize(("case", "line"), LINES)
def test_line(case: dict[str, Any], line: dict[str, Any]) -> None:
    """A line has the effects that it must have, none that it must not, and the right verdict."""
    facts = Facts(worktree=case["worktree"], cwd=case["cwd"], plain=True)

    found = classify_shell(line["command"], facts, case["shell"])

    for wanted in line["required"]:
        assert set(wanted.split("|")) & found.effects, (wanted, found.parts)
    assert not set(line["forbidden"]) & found.effects, found.parts
    if line["opaque"]:
        assert found.opaque
    refused = bool(found.effects & world_changing()) or found.opaque
    if line["read_only"] != "either":
        assert refused == (line["read_only"] == "refuse"), found.parts
