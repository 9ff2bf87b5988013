"""The cases of modes in a conversation, read from a table that says how ours stands to each."""

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
from remit.policy.announce import announce
from remit.policy.profile import Brief
from remit.policy.projection import Host, Projection
from remit.policy.tasks import Task, Tracker
from remit.policy.tools import Call
from remit.policy.vocabulary import Announce, Dial, Verdict

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = {c["id"]: c for c in json.loads((HERE / "conversations.json").read_text())}
TABLE: dict[str, Any] = tomllib.loads((HERE / "conversations.toml").read_text())
WAYS = {"run", "refused", "shown", "design", "waits", "argued"}
SCENARIOS = [
    pytest.param(scenario, id=f"{id}-{i}")
    for id, entry in TABLE.items()
    for i, scenario in enumerate(entry.get("run", []))
]
REFUSED = [pytest.param(row, id=id) for id, e in TABLE.items() for row in e.get("refused", [])]
KNOWN = {"mode", "how", "step", "narrated", "plan", "tells", "says", "lacks", "standing"}


@cache
def _engine() -> Engine:
    return Engine.load()


def _projection(request: dict[str, Any]) -> Projection:
    profile = _engine().profile(request["mode"])
    if "how" in request:
        how = Announce(request["how"])
        profile = evolve(profile, brief=evolve(profile.brief or Brief(), announce=how))
    return _engine().project(profile, _engine().natives, Host("cases"))


def _plan(done: int) -> Tracker:
    return Tracker("p1", tuple(Task(f"t{i}", f"Title {i}", i <= done) for i in range(1, 6)))


class TestTable:
    def test_every_case_is_in_it_once(self) -> None:
        """Each case has exactly one way in which ours stands to it."""
        assert set(TABLE) == set(CASES)
        assert [id for id, e in TABLE.items() if len(e) != 1 or not set(e) <= WAYS] == []

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


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_told(scenario: list[dict[str, Any]]) -> None:
    """Each request of the conversation tells what the case expects, and nothing twice."""
    told = None
    for request in scenario:
        assert set(request) <= KNOWN
        said = announce(
            _projection(request),
            told,
            turn_start=not request.get("step", False),
            narrated=request.get("narrated", False),
            plan=_plan(request["plan"]).active if "plan" in request else None,
        )
        told = said.told
        text = "\n".join(m.text for m in said.messages)
        if "tells" in request:
            assert [m.what for m in said.messages] == [t for t in [request["tells"]] if t]
        if "standing" in request:
            assert bool(said.standing) is request["standing"]
        for words in request.get("says", ()):
            assert words in text
        for words in request.get("lacks", ()):
            assert words not in text


@pytest.mark.parametrize("dial", Dial)
@pytest.mark.parametrize("row", REFUSED)
def test_refused(row: dict[str, Any], dial: Dial) -> None:
    """S001-R8: the mode refuses the command whatever the dial is, and it is the mode that does."""
    tools = _engine().with_natives(_engine().catalog("claude-code"))
    call = Call("Bash", {"command": row["command"]})

    def verdict(mode: str, dial: Dial) -> Verdict:
        projection = _engine().project(_engine().profile(mode), tools, Host("cases"))
        return projection.judge(call, dial).decision.verdict

    assert verdict(row["mode"], dial) is Verdict.DENY
    assert verdict("chat", Dial.AUTO) is Verdict.ALLOW
