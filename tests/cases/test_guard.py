"""Cases of the action guard, read from a table that says how ours stands to each."""

from __future__ import annotations

import ast
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from remit.harness.engine import Engine
from remit.policy.gate import Setting
from remit.policy.projection import Host, Projection
from remit.policy.tools import Call, Facts
from remit.policy.vocabulary import Dial, Verdict
from remit.profiles.catalogs import parse_catalog
from remit.profiles.source import Source

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = {c["id"]: c for c in json.loads((HERE / "guard.json").read_text())}
TABLE: dict[str, Any] = tomllib.loads((HERE / "guard.toml").read_text())
RUNS = [
    pytest.param(run, call, id=f"{id}-{i}-{j}")
    for id, entry in TABLE.items()
    for i, run in enumerate(entry.get("run", []))
    for j, call in enumerate(run["calls"])
]


@cache
def _engine() -> Engine:
    return Engine.load()


def _projection(run: dict[str, Any]) -> Projection:
    engine = _engine()
    if "text" in run:
        source = Source(run["text"].replace("|", "\n"), "case.toml")
        profile = engine.library.examine(source).profile
        assert profile is not None
    else:
        profile = engine.profile(run["mode"])
    if "tools" in run:
        catalog = parse_catalog(Source(run["tools"].replace("|", "\n"), "world.toml")).catalog
    else:
        catalog = engine.catalog(run.get("catalog", "claude-code"))
    settings = tuple(Setting(effect, Verdict.ALLOW) for effect in run.get("set", ()))
    return engine.project(profile, engine.with_natives(catalog), Host("cases"), settings)


def test_every_case_is_in_the_table() -> None:
    """Each case is run or shown by a test that exists; none is argued away."""
    assert set(TABLE) == set(CASES)
    assert all(("run" in e) != ("shown" in e) for e in TABLE.values())
    for entry in TABLE.values():
        if "shown" in entry:
            file, *names = entry["shown"].split("::")
            nodes: list[ast.stmt] = ast.parse((ROOT / file).read_text()).body
            for name in names:
                (found,) = [n for n in nodes if getattr(n, "name", None) == name]
                nodes = getattr(found, "body", [])


@pytest.mark.parametrize(("run", "call"), RUNS)
def test_call(run: dict[str, Any], call: dict[str, Any]) -> None:
    """A call is judged by what it does, under a dial that asks for nothing."""
    worktree = run.get("worktree", "/ws")
    facts = Facts(worktree=worktree, cwd=worktree, links=run.get("links", {}), plain=True)
    args = {call.get("arg", "command"): call["say"]} if "say" in call else {}

    judged = _projection(run).judge(Call(call.get("tool", "Bash"), args), Dial.AUTO, facts)

    decision = judged.decision
    assert decision.verdict.value == call["verdict"], (decision, judged.found)
    assert decision.layer.value == call.get("layer", decision.layer.value)
    assert set(call.get("effects", ())) <= judged.found.effects
