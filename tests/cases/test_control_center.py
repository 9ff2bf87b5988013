"""The cases of the control centre, read from a table that says how ours stands to each."""

from __future__ import annotations

import ast
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from remit.harness.engine import Engine
from remit.policy.gate import Setting
from remit.policy.profile import Profile
from remit.policy.projection import Host, Projection
from remit.policy.tools import Call, CallEffects, Catalog, Tool
from remit.policy.vocabulary import Dial, Tier, Verdict
from remit.profiles.source import Source

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = {c["id"]: c for c in json.loads((HERE / "control_center.json").read_text())}
TABLE: dict[str, Any] = tomllib.loads((HERE / "control_center.toml").read_text())
WORLD: dict[str, Any] = TABLE.pop("world")
WAYS = ("run", "shown", "design", "safe", "waits", "argued")
SCENARIOS = [
    pytest.param(id, row, id=f"{id}-{i}")
    for id, entry in TABLE.items()
    for i, row in enumerate(entry.get("run", []))
]


@cache
def _engine() -> Engine:
    return Engine.load()


def _catalog() -> Catalog:
    tools = (
        Tool(
            "world",
            name,
            Tier(said.get("tier", "execute")),
            said.get("effects", []),
            classify=said.get("classify"),
            declared="effects" in said,
        )
        for name, said in WORLD.items()
    )
    return Catalog((*tools, *_engine().natives.tools), {"seen"})


def _profile(row: dict[str, Any]) -> Profile:
    if "profile" in row:
        text = row["profile"].replace("|", "\n")
        return _engine().library.parse(Source(text, "case.toml"))
    profile = _engine().profile(row["mode"])
    if "under" in row:
        profile = profile.under(*_engine().profile(row["under"]).sides)
    return profile


def _setting(text: str) -> Setting:
    effect, verdict, *target = text.split(" ", 2)
    return Setting(effect, Verdict(verdict), *target)


def _projection(row: dict[str, Any]) -> Projection:
    settings = tuple(_setting(s) for s in row.get("set", ()))
    made = _engine().project(_profile(row), _catalog(), Host("cases"), settings)
    found = CallEffects({"git.push"}, {"git.push": tuple(row.get("targets", ()))})
    return evolve(made, classifiers={"seen": lambda call, tool, facts: found})


class TestTable:
    def test_every_case_is_in_it_once(self) -> None:
        """Each case has exactly one way in which ours stands to it."""
        assert set(TABLE) == set(CASES)
        assert {
            id for id, e in TABLE.items() if len(set(e) & set(WAYS)) != 1 or len(e) != 1
        } == set()

    def test_few_are_argued(self) -> None:
        """At most one case in twenty is argued away."""
        assert sum("argued" in e for e in TABLE.values()) * 20 <= len(CASES)

    @pytest.mark.parametrize("id", [i for i, e in TABLE.items() if "shown" in e])
    def test_what_shows_a_case_exists(self, id: str) -> None:
        """A test that is said to show a case is there."""
        file, *names = TABLE[id]["shown"].split("::")
        nodes: list[ast.stmt] = ast.parse((ROOT / file).read_text()).body
        for name in names:
            (found,) = [n for n in nodes if getattr(n, "name", None) == name]
            nodes = getattr(found, "body", [])


@pytest.mark.parametrize(("id", "row"), SCENARIOS)
def test_case(id: str, row: dict[str, Any]) -> None:
    """What the case expects of a mode or of a call is so."""
    known = {"mode", "profile", "under", "tool", "dial", "set", "targets", "verdict", "layer",
             "detail", "visible", "hidden", "posture", "contract", "problem"}  # fmt: skip
    assert set(row) <= known
    if "problem" in row:
        entry = _engine().library.examine(Source(row["profile"].replace("|", "\n"), "case.toml"))
        assert entry.profile is None
        assert row["problem"] in {p.code for p in entry.problems}
        return
    projection = _projection(row)
    shown = {t.name for t in projection.tools}
    assert set(row.get("visible", ())) <= shown
    assert not set(row.get("hidden", ())) & shown
    if row.get("hidden") == []:
        assert set(WORLD) <= shown
    if "posture" in row:
        assert projection.compiled.profile.ceiling.posture == row["posture"]
    if "contract" in row:
        assert (projection.contract or "") == row["contract"]
    if "tool" in row:
        decision = projection.judge(Call(row["tool"]), Dial(row.get("dial", "ask"))).decision
        assert (decision.verdict, decision.layer) == (row["verdict"], row["layer"])
        assert decision.detail == tuple(row.get("detail", decision.detail))
