"""Done-when 3 of the first issue: surface, verdict and text of every shipped mode agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from remit.harness.engine import Engine
from remit.harness.session import Run, Session
from remit.harness.store import OPERATOR, Store
from remit.policy.projection import Host, Projection
from remit.policy.tools import Call, Tool
from remit.policy.vocabulary import Dial, Layer, Verdict
from remit.profiles.names import BUILT_IN
from remit.profiles.shipped import shipped_catalogs

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOST = Host("test", sandbox="test")


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.load()


@pytest.fixture(params=[*shipped_catalogs(), "all of them"])
def catalogue(request: pytest.FixtureRequest) -> str:
    """A shipped catalogue, and all of them at once."""
    return str(request.param)


def projected(engine: Engine, mode: str, catalogue: str) -> Projection:
    names = engine.shipped if catalogue == "all of them" else (catalogue,)
    return engine.project(engine.profile(mode), engine.with_natives(engine.catalogs(names)), HOST)


def harmless(tool: Tool) -> Call:
    """A call of a tool that does as little as it can: what a classifier looks at is filled in."""
    texts = {
        "command": "ls",
        "powershell": "ls",
        "url": "https://example.test",
        "sql": "SELECT 1",
        "patch": "+++ b/a",
    }
    return Call(
        tool.key,
        {name: texts.get(role, "a") for name, role in tool.arguments if role != "background"},
    )


def told(text: str) -> list[str]:
    """The tools that a preamble names, with the count that it tells."""
    count = re.search(r"there, (\d+) in all", text)
    assert count is not None
    names = [
        name
        for line in re.findall(r"^- \S+ \(\d+\): (.*)$", text, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", line)
    ]
    assert len(names) == int(count[1])
    return names


@pytest.mark.parametrize("mode", BUILT_IN)
def test_visible_is_callable(engine: Engine, catalogue: str, mode: str) -> None:
    """A visible tool is refused by no filter and no guard; under `auto` it runs or asks."""
    projection = projected(engine, mode, catalogue)

    assert projection.tools
    for tool, dial in product(projection.tools, Dial):
        decision = projection.judge(harmless(tool), dial).decision
        assert decision.layer in (Layer.PIN, Layer.GATE), tool.key
        # `propose` is the dial that runs nothing which changes the world.
        assert decision.verdict is not Verdict.DENY or dial is Dial.PROPOSE, tool.key


@pytest.mark.parametrize("mode", BUILT_IN)
def test_hidden_is_refused(engine: Engine, catalogue: str, mode: str) -> None:
    """A hidden tool is refused by the filter, by name and by key, and the refusal says why."""
    projection = projected(engine, mode, catalogue)

    shown = set(projection.tools)
    hidden = [t for t in projection.compiled.catalog.tools if t not in shown]
    assert [t for t, _ in projection.hidden] == hidden
    for tool, dial in product(hidden, Dial):
        for name in (tool.key, tool.name):
            judged = projection.judge(Call(name), dial)
            assert judged.decision.verdict is Verdict.DENY, name
            assert judged.decision.layer is Layer.FILTER, name
            assert f"{mode} mode refused `" in projection.text(judged).reason


@pytest.mark.parametrize("mode", BUILT_IN)
def test_pinned_is_allowed(engine: Engine, catalogue: str, mode: str) -> None:
    """S003-18, S003-19: a mode's own verbs are listed and allowed under every dial."""
    projection = projected(engine, mode, catalogue)

    pins = projection.compiled.profile.pins
    assert set(pins) <= {t.key for t in projection.tools}
    for pin, dial in product(pins, Dial):
        decision = projection.judge(Call(pin), dial).decision
        assert (decision.verdict, decision.layer) == (Verdict.ALLOW, Layer.PIN)


@pytest.mark.parametrize("mode", BUILT_IN)
def test_the_text_names_the_surface(engine: Engine, catalogue: str, mode: str) -> None:
    """S003-25: the preamble lists the surface, each tool once, and no other tool."""
    projection = projected(engine, mode, catalogue)
    if projection.compiled.profile.silent:
        assert projection.preamble == ""
        return

    called = projection.compiled.catalog.called
    named = [called(t.key) for t in projection.tools]
    get = projection.compiled.catalog.get
    assert all(get(name) == t for name, t in zip(named, projection.tools, strict=True))
    assert sorted(told(projection.preamble)) == sorted(named)


class TestSession:
    """What holds of a projection holds of the calls that go through a session."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "remit.db", create=NOW) as store:
            yield store

    @pytest.mark.parametrize("mode", BUILT_IN)
    def test_same(self, engine: Engine, store: Store, mode: str) -> None:
        """A call runs, asks or is refused as the surface says, and the log has each decision."""
        store.spaces.create("s", mode, by=OPERATOR, now=NOW)
        session = Session(engine, store, "s", "c", HOST)
        catalog = engine.catalogs(engine.shipped)
        session.set_catalog(catalog)
        frame = session.frame()
        visible = {t.key for t in frame.projection.tools}

        def outcome(tool: Tool) -> str:
            answer = session.call(frame, harmless(tool))
            if isinstance(answer, Run):
                return "ran"
            return "asked" if (answer.data or {}).get("state") == "pending" else "refused"

        outcomes = {tool.key: outcome(tool) for tool in catalog.tools}

        assert {key for key, what in outcomes.items() if what != "refused"} == {
            t.key for t in catalog.tools if t.key in visible
        }
        logged = {e.body["tool"]: e.body["verdict"] for e in store.log.read(kinds=("decision",))}
        words = {"allow": "ran", "ask": "asked", "deny": "refused"}
        assert {tool: words[verdict] for tool, verdict in logged.items()} == outcomes
