"""Promise 1: filter, gate, guard, preamble, mounts and every host say the same.

The reference model and the engine are compared in `tests/reference/test_differential.py`.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from remit.harness.session import Session
from remit.harness.store import SYSTEM, Store
from remit.plugins.action_guard import ActionGuard
from remit.policy.decision import Cause
from remit.policy.mounts import Access, Mounts, Network
from remit.policy.mounts import Cause as Because
from remit.policy.projection import Host
from remit.policy.tools import Call, CallEffects
from remit.policy.vocabulary import Dial, Layer, Posture, Verdict
from tests.harness.gateway.rig import Place, calling
from tests.promises.modes import HOSTS, Case, built_in, engine, projected, worlds

_BUILT_IN = {case.name: case for case in built_in()}
_WORLDS = {case.name: case for _, case in worlds(60)}
_CASES = _BUILT_IN | _WORLDS
#: A line of the preamble for one group: its name, how many, which.
_CATALOGS = ("--catalog", "mcp-git", "--catalog", "mcp-fetch")
_GROUP = re.compile(r"- .+ \((\d+)\): (.*)")


@pytest.fixture(params=sorted(_CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return _CASES[request.param]


class TestLayers:
    def test_the_filter_shows_what_the_rows_do_not_hide(self, case: Case) -> None:
        """A tool is shown, and not hidden, just where no dial has the filter refuse it."""
        layer = case.projection.layers["tool_filter"]
        for tool in case.compiled.catalog.tools:
            layers = {case.compiled.decide(tool.key, dial).layer for dial in Dial}
            assert (tool.key in layer.shown) == (Layer.FILTER not in layers)
            assert (tool.key in layer.hidden) == (layers == {Layer.FILTER})

    def test_the_gate_knows_the_tools_that_are_shown(self, case: Case) -> None:
        """The gate has each shown tool's decision, and no other, as a call is judged by it."""
        shown = list(case.projection.layers["tool_filter"].shown)
        shape = case.compiled.catalog.shape
        for dial in Dial:
            under = case.projection.gate.under(dial)
            assert list(under) == shown
            for tool in case.compiled.surface:
                if shape(tool).classify is None:
                    assert case.projection.judge(Call(tool.key), dial).decision == under[tool.key]

    def test_the_guard_refuses_what_it_lists(self, case: Case) -> None:
        """A call that passes the filter is refused for an effect just where the guard lists it."""
        guard = case.projection.guard
        assert isinstance(guard, ActionGuard)
        for tool in case.compiled.surface:
            if case.compiled.decide(tool.key, Dial.AUTO).layer is Layer.PIN:
                continue
            for effect in ("worktree.write", "git.push", "network.egress", "acme.deploy"):
                decision = case.compiled.decide(tool.key, Dial.AUTO, CallEffects({effect}))
                assert (decision.cause is Cause.REFUSED) == (effect in guard.refused)
                outside = effect in guard.limit and effect not in guard.refused
                assert outside <= (decision.cause is Cause.LIMIT)

    def test_the_preamble_names_the_surface(self, case: Case) -> None:
        """S003-25: the model is told of each tool of the surface, once, and of no other."""
        text, compiled = case.projection.preamble, case.compiled
        if case.profile.silent:
            assert text == ""
            return
        named = []
        for count, names in _GROUP.findall(text):
            named += re.findall(r"`([^`]+)`", names)
            assert int(count) == names.count("`") / 2
        told = [compiled.catalog.get(name) for name in named]
        assert sorted(t.key for t in told if t) == sorted(t.key for t in compiled.surface)
        assert f"{len(compiled.surface)} in all" in text

    def test_the_mounts_are_never_looser_than_the_guard(self, case: Case) -> None:
        """What the guard refuses the sandbox does not open; what it cannot limit is told.

        How limits become mounts is held to its laws in `tests/sandbox/test_mounts.py`.
        """
        mounts, guard = case.projection.mounts, case.projection.guard
        assert isinstance(mounts, Mounts)
        opened = {m.cause for m in mounts.mounts if m.access is Access.WRITE}
        told = {a.what.split()[0] for a in mounts.advisory}
        if "worktree.write" in guard.refused:
            assert mounts.posture is Posture.READ_ONLY
            assert opened <= {Because.SCRATCH}
        elif "worktree.write" in guard.limit:
            limits = guard.limit["worktree.write"]
            whole = "worktree.write" in told or all("**" in one for one in limits)
            assert Because.WORKTREE not in opened or whole
        if "network.egress" in guard.refused:
            assert mounts.network is Network.NONE
        elif "network.egress" in guard.limit:
            assert mounts.network is not Network.FULL or "network.egress" in told
        assert set(guard.protected) <= set(mounts.protected)


class TestHosts:
    def test_what_a_host_enforces_changes_no_decision(self) -> None:
        """A host that enforces nothing is told the same as one that enforces everything."""
        for world, case in worlds(30):
            bare = projected(world, HOSTS[1])
            for use in world.uses:
                call = Call(use.tool)
                whole = case.projection.judge(call, use.dial, seen=use.seen)
                assert bare.judge(call, use.dial, seen=use.seen) == whole

    @pytest.mark.parametrize("mode", engine().library.names())
    def test_a_session_says_what_the_engine_says(self, mode: str, tmp_path: Path) -> None:
        """A conversation's frame is the projection of its space's mode, by hash."""
        now = datetime(2026, 1, 1, tzinfo=UTC)
        catalog = engine().catalogs(["mcp-git", "mcp-fetch"])
        with Store.open(tmp_path / "remit.db", create=now) as store:
            store.spaces.create("s", mode, by=SYSTEM, now=now)
            session = Session(engine(), store, "s", "c", Host("test"), lambda: now)
            session.set_catalog(catalog)

            frame = session.frame()

        tools = engine().with_natives(catalog)
        assert frame.projection.hash == (
            engine().project(engine().profile(mode), tools, Host("test")).hash
        )

    @pytest.mark.parametrize("dial", list(Dial))
    @pytest.mark.parametrize("mode", engine().library.names())
    def test_the_command_line_says_what_the_engine_says(
        self, mode: str, dial: Dial, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`remit decide` answers each call with the engine's verdict, layer and sentence."""
        tools = engine().with_natives(engine().catalogs(["mcp-git", "mcp-fetch"]))
        projection = engine().project(engine().profile(mode), tools, Host("test"))
        names = [t.key for t in tools.tools]

        told = list(_decide(monkeypatch, mode, dial, names))

        for name, answer in zip(names, told, strict=True):
            judged = projection.judge(Call(name), dial)
            assert answer["verdict"] == judged.decision.verdict, name
            assert answer["layer"] == judged.decision.layer, name
            assert answer["reason"] == projection.text(judged).reason

    @pytest.mark.parametrize("mode", engine().library.names())
    def test_a_gateway_lists_and_refuses_what_the_engine_says(
        self, mode: str, tmp_path: Path
    ) -> None:
        """A client behind a gateway sees the surface, and every hidden tool is refused it."""
        place = Place.make(tmp_path, mode)
        try:
            listed, refused, hidden, shown = anyio.run(_through, place)
        finally:
            place.store.close()

        assert sorted(listed) == sorted(shown)
        assert refused == hidden


async def _through(place: Place) -> tuple[list[str], list[str], list[str], list[str]]:
    gateway = place.gateway(*place.command())
    async with calling(gateway, "auto") as caller:
        listed = await caller.names()
        projection = gateway.judge.session.frame().projection
        hidden = [tool.name for tool, _ in projection.hidden]
        refused = [name for name in hidden if (await caller.call(name, "x")).is_error]
    return listed, refused, hidden, [t.name for t in projection.tools]


def _decide(
    monkeypatch: pytest.MonkeyPatch, mode: str, dial: Dial, names: list[str]
) -> Iterator[dict[str, str]]:
    from remit.cli.app import app
    from remit.cli.failures import run

    given = "\n".join(json.dumps({"tool": name}) for name in names).encode()
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8"))
        patch.setattr(sys, "stdout", out)
        code = run(
            app,
            ["decide", mode, *_CATALOGS, "--autonomy", dial.value],
        )
    assert code == 0
    out.seek(0)
    yield from (json.loads(line) for line in out.read().splitlines())


def test_a_refusal_never_becomes_an_ask() -> None:
    """Filter and guard refuse whatever the dial, so no dial turns their refusal into a question."""
    for _, case in worlds(40, seed=13):
        for tool in case.compiled.catalog.tools:
            decisions = [case.compiled.decide(tool.key, dial) for dial in Dial]
            early = [d for d in decisions if d.layer in (Layer.FILTER, Layer.GUARD)]
            assert len(early) in (0, len(Dial))
            assert all(d.verdict is Verdict.DENY for d in early)
