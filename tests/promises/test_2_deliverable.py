"""Promise 2: a mode's own verb passes every layer, under every dial, overlay and plugin."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import evolve

from remit.harness.session import Answer, Session
from remit.harness.store import SYSTEM, Store
from remit.policy.ceiling import Ceiling
from remit.policy.profile import Side
from remit.policy.projection import Host
from remit.policy.tools import Call, CallEffects, Facts, Tool
from remit.policy.vocabulary import EFFECTS, Dial, Layer, Tier, Unknown, Verdict
from tests.harness.gateway.rig import Place, calling
from tests.promises.modes import built_in, engine, projected, verbs_of, worlds

#: The narrowest side there is.
NOTHING = Side(
    "overlay",
    Ceiling(
        tier=Tier.READ,
        refuse=EFFECTS,
        unknown=Unknown.REFUSE,
        allow=frozenset({frozenset()}),
        deny={"*", "remit:*"},
    ),
)
PLAN: dict[str, Any] = {
    "goal": "Say hello",
    "nodes": [{"key": "a", "title": "Greet", "description": "Say it."}],
}
#: What is seen of a call that does everything at once.
WORST = CallEffects(EFFECTS, opaque=True, protected=("/w/.git/hooks",))


def _strict(call: Call, tool: Tool, found: CallEffects, facts: Facts) -> str | None:
    return "nothing passes"


def _broken(call: Call, tool: Tool, found: CallEffects, facts: Facts) -> str | None:
    raise RuntimeError("odd")


def test_passes_every_layer_dial_overlay_and_plugin() -> None:
    """S003-18, S003-19: no side, setting, guard or finding silences a verb of the brief."""
    verbs = 0
    for world, case in worlds(120):
        narrowed = evolve(world, sides=(*world.sides, NOTHING), askable=False)
        for guards in ({}, {"strict": _strict}, {"broken": _broken}):
            projection = projected(narrowed, guards=dict(guards), found=WORST)
            shown = {t.key for t in projection.tools}
            for key in verbs_of(case):
                verbs += 1
                assert key in shown
                for dial in Dial:
                    for seen in (None, WORST):
                        judged = projection.judge(Call(key), dial, seen=seen)
                        assert judged.decision.verdict is Verdict.ALLOW
                        assert judged.decision.layer is Layer.PIN
    assert verbs > 500


def test_is_told_to_the_model() -> None:
    """A mode that owes something says by which verb, and how to say that nothing is owed."""
    for case in built_in():
        brief = case.profile.brief
        if brief is not None and brief.required:
            text = case.projection.preamble
            assert all(f"`{verb.removeprefix('remit:')}`" in text for verb in brief.verbs)
            assert "`nothing_to_deliver`" in text


@pytest.mark.parametrize("dial", list(Dial))
def test_delivers_in_a_conversation(dial: Dial, tmp_path: Path) -> None:
    """A plan is delivered in a session whatever the dial, though plan mode changes nothing."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    with Store.open(tmp_path / "remit.db", create=now) as store:
        store.spaces.create("s", "plan", by=SYSTEM, now=now, dial=dial)
        session = Session(engine(), store, "s", "c", Host("test"), lambda: now)

        answer = session.call(session.frame(), Call("submit_plan", PLAN))

        assert isinstance(answer, Answer)
        assert not answer.error, answer.text
        assert [p.title for p in store.plans.list("s")] == ["Say hello"]


@pytest.mark.parametrize("dial", list(Dial))
def test_delivers_through_a_gateway(dial: Dial, tmp_path: Path) -> None:
    """A plan is delivered by an agent behind a gateway whatever the dial."""

    async def deliver() -> bool:
        async with calling(place.gateway(*place.command()), "auto") as caller:
            return bool((await caller.call("submit_plan", **PLAN)).is_error)

    place = Place.make(tmp_path, "plan", dial)
    try:
        assert not anyio.run(deliver)
    finally:
        place.store.close()
