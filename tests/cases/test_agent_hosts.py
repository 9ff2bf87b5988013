"""Faults that users of agent hosts met, read from a table that says how ours stands to each."""

from __future__ import annotations

import ast
import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import yaml

from remit.harness.engine import Engine
from remit.policy.problems import Severity
from remit.policy.projection import Host
from remit.policy.tools import Call, Catalog, Tool
from remit.policy.vocabulary import Dial, Tier, Verdict
from remit.profiles.catalogs import parse_catalog
from remit.profiles.fit import check_with_catalog
from remit.profiles.source import Source

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = {c["id"]: c for c in json.loads((HERE / "agent_hosts.json").read_text())}
TABLE: dict[str, Any] = tomllib.loads((HERE / "agent_hosts.toml").read_text())
WAYS = {"check", "shown", "shape", "design"}
CHECKS = [
    pytest.param(row, id=f"{id}-{i}")
    for id, entry in TABLE.items()
    for i, row in enumerate(entry.get("check", []))
]
SHAPES = [id for id, e in TABLE.items() if "shape" in e]


@cache
def _engine() -> Engine:
    return Engine.load()


def _catalog(keys: list[str]) -> Catalog:
    parts = (k.partition(":") if ":" in k else ("world", ":", k) for k in keys)
    return _engine().with_natives(Catalog(Tool(s, n, Tier.READ) for s, _, n in parts))


class TestTable:
    def test_every_case_is_in_it_once(self) -> None:
        """Each case has exactly one way in which ours stands to it."""
        assert set(TABLE) == set(CASES)
        assert [id for id, e in TABLE.items() if len(e) != 1 or not set(e) <= WAYS] == []

    @pytest.mark.parametrize("id", [i for i, e in TABLE.items() if "shown" in e])
    def test_what_shows_a_case_exists(self, id: str) -> None:
        """A test that is said to show a case is there."""
        file, *names = TABLE[id]["shown"].split("::")
        nodes: list[ast.stmt] = ast.parse((ROOT / file).read_text()).body
        for name in names:
            (found,) = [n for n in nodes if getattr(n, "name", None) == name]
            nodes = getattr(found, "body", [])


@pytest.mark.parametrize("row", CHECKS)
def test_declaration(row: dict[str, Any]) -> None:
    """A declaration that would mean less or more than it says is told of, by code."""
    entry = _engine().library.examine(Source(row["text"].replace("|", "\n"), "case.toml"))
    problems = list(entry.problems)
    if entry.profile is not None and "tools" in row:
        catalog = _catalog(row["tools"])
        problems += check_with_catalog(entry.profile, catalog, _engine().effects)
        projection = _engine().project(entry.profile, catalog, Host("cases"))
        if "admits" in row:
            assert [t.key for t in projection.tools if not t.native] == [
                k if ":" in k else f"world:{k}" for k in row["admits"]
            ]
        for name in row.get("refuses", ()):
            judged = projection.judge(Call(name), Dial.AUTO)
            assert judged.decision.verdict is Verdict.DENY

    assert {p.code for p in problems} == set(row["codes"])
    assert row.get("says", "") in "".join(p.hint + p.message for p in problems)


@pytest.mark.parametrize("id", SHAPES)
@pytest.mark.parametrize("dump", [json.dumps, yaml.safe_dump, tomli_w.dumps])
def test_anothers_file_is_no_profile(id: str, dump: Any) -> None:
    """Another product's file, in any syntax, gives no profile and no tools, and says why."""
    shape = CASES[id]["input"]["shape"]
    text = shape["yaml"] if "yaml" in shape else dump(shape)

    entry = _engine().library.examine(Source(text, "theirs.toml"))
    catalog = parse_catalog(Source(text, "theirs.toml"))

    assert entry.profile is None
    assert catalog.catalog.tools == ()
    for problems in (entry.problems, catalog.problems):
        assert any(p.severity is Severity.ERROR for p in problems)
        assert all(p.where.file == "theirs.toml" for p in problems)
