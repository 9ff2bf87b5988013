"""Runs through the gateway: the client drives the turns, the gateway judges the exit gates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import define

from remit.harness.engine import Engine
from remit.harness.gateway.run import compose
from remit.harness.gateway.server import Gateway
from remit.harness.gateway.servers import ServerSpec
from remit.harness.store import OPERATOR, RunRecord
from remit.policy.run import Event, Kind, State, Why
from tests.harness.gateway.rig import Place, calling, text_of

MODE = """---
artifacts: { spec: { path: spec.md, requiredHeadings: [Goal], template: templates/spec.md } }
stages:
  design:
    permission: read-only
    prompt: Write the spec.
    on: { enter: [{ inject: artifact:spec }] }
    exit: [{ require: artifact:spec }]
    next: work
  work: { exit: [{ ask: user }] }
---
Words of the mode.
"""


def now() -> datetime:
    return datetime.now(UTC)


@define
class Staged(Place):
    """A space in a staged mode, with a run that the operator started."""

    engine: Engine | None = None

    def begin(self) -> None:
        file, work = self.folder / "modes" / "build-it" / "mode.md", self.folder / "work"
        (file.parent / "templates").mkdir(parents=True)
        work.mkdir()
        file.write_text(MODE)
        (file.parent / "templates" / "spec.md").write_text("# To do\n")
        self.engine = Engine.load([file])
        space = self.store.spaces
        space.create("r", "build-it", by=OPERATOR, now=now(), worktree=str(work))
        mode = self.engine.library.staged("build-it")
        assert mode is not None
        self.store.runs.start(mode, "r", "c", "a greeting", by=OPERATOR, now=now())

    @property
    def record(self) -> RunRecord:
        return self.store.runs.list()[0]

    def in_front(self) -> Gateway:
        assert self.engine is not None
        spec = ServerSpec("test", self.command(), str(self.folder / "test.toml"))
        return compose(self.store, self.engine, "r", [spec], report=self.problems.append)

    def control(self, kind: Kind) -> None:
        self.store.runs.step(self.record.id, Event(kind), by=OPERATOR, now=now())


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Staged]:
    made = Staged.make(tmp_path)
    made.begin()
    yield made
    made.store.close()


def converse(place: Staged, talk: Any) -> None:
    async def run() -> None:
        async with calling(place.in_front(), "auto") as caller:
            await talk(caller)

    anyio.run(run)


def test_a_client_completes_a_stage(place: Staged) -> None:
    """S000-23, S000-31: `mode` tells the stage, and the gateway writes and judges."""

    async def talk(caller: Any) -> None:
        assert "complete_stage" in await caller.names()
        told = text_of(await caller.call("mode"))
        assert "Stage `design`" in told
        assert "it holds:\n\n# To do" in told
        listed = (await caller.client.list_tools()).tools
        (verb,) = [t for t in listed if t.name == "complete_stage"]
        report = verb.input_schema["properties"]["report"]["description"]
        assert "never while other permitted work is left" in report

        failed = await caller.call("complete_stage", summary="x", artifacts={"spec": "no"})
        assert failed.is_error
        assert "lacks the headings `Goal`" in text_of(failed)
        done = await caller.call("complete_stage", summary="x", artifacts={"spec": "# Goal\n"})
        assert not done.is_error
        assert "Stage `work`" in text_of(await caller.call("mode"))
        asked = await caller.call("complete_stage", summary="All is done.")
        assert "waits for the user's approval" in text_of(asked)

    converse(place, talk)
    assert (place.folder / "work" / "spec.md").read_text() == "# Goal\n"
    assert (place.record.run.state, place.record.run.why) == (State.WAITING, Why.APPROVAL)
    assert place.record.run.turns == 0


def test_a_paused_run_completes_nothing(place: Staged) -> None:
    """S000-56: what is paused is no client's to go on with, until it is resumed."""

    async def talk(caller: Any) -> None:
        await caller.call("mode")
        place.control(Kind.PAUSE)
        refused = await caller.call("complete_stage", summary="x")
        assert refused.is_error
        place.control(Kind.RESUME)
        await caller.call("mode")
        assert place.record.run.claim is not None

    converse(place, talk)
    assert place.record.run.stage == "design"


def test_a_turn_of_another_host_is_not_completed(place: Staged) -> None:
    """S000-35: whoever holds no claim completes nothing, though the space is the same."""
    store, id = place.store, place.record.id
    store.runs.step(id, Event(Kind.CLAIM, turn="c#1"), by="system", now=now(), owner="elsewhere")

    async def talk(caller: Any) -> None:
        refused = await caller.call("complete_stage", summary="x", artifacts={"spec": "# Goal\n"})
        assert "no turn of a run is under way here" in text_of(refused)

    converse(place, talk)
    claim = place.record.run.claim
    assert claim is not None
    assert (claim.turn, place.record.run.stage) == ("c#1", "design")


def test_a_space_without_runs_has_no_such_verb(place: Staged) -> None:
    """What is not in force is not listed."""

    async def run() -> None:
        async with calling(place.gateway(*place.command()), "auto") as caller:
            assert "complete_stage" not in await caller.names()

    anyio.run(run)
