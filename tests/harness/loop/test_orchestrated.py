"""An orchestration from the proposal to the last step: a scripted model, an operator, a disk."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from remit.harness.carrying import carry_out
from remit.harness.conversation import Conversation
from remit.harness.loop.belt import Station
from remit.harness.loop.loop import Loop
from remit.harness.loop.pipelines import Moved, PipelineDriver
from remit.harness.loop.scripted import Script, ScriptedTurn, ScriptFile, scripted
from remit.harness.owners import gone
from remit.harness.store import OPERATOR, OrchestrationRecord, PipelineRecord, StoreConflict
from remit.harness.workspace import Workspace
from remit.policy.materialise import Act
from remit.policy.vocabulary import Dial
from tests.harness.loop.driver import Chat, call, says

PROPOSAL: dict[str, Any] = {
    "goal": "Two notes",
    "roles": [
        {"key": "dev", "title": "Writer", "hire": {"name": "bo", "instructions": "Be short."}},
        {"key": "lead", "title": "Lead", "agent": "ada"},
    ],
    "tickets": [
        {"key": "one", "title": "One", "description": "Write one.txt.", "role": "dev"},
        {"key": "two", "title": "Two", "description": "Write two.txt.", "role": "dev"},
    ],
    "research": {"role": "lead", "prompt": "Look around."},
    "synthesis": {"role": "lead", "prompt": "Put it together."},
    "budget": {"steps": 4, "minutes": 60},
}
WORK = {
    "Look around.": [says(call("write", path="no.txt", content="x")), says("Nothing is there.")],
    "Write one.txt.": [says(call("write", path="one.txt", content="1")), says("one is written")],
    "Write two.txt.": [says(call("write", path="two.txt", content="2")), says("two is written")],
    "Put it together.": [says("Both are there.")],
}


class Lab:
    """A space in which a model proposes, and what drives what comes of it."""

    def __init__(self, workspace: Workspace, worktree: Path, tmp_path: Path) -> None:
        self.at, self.worktree, self.tmp = workspace, worktree, tmp_path
        space = workspace.create_space(
            "lab", "orchestrate", by=OPERATOR, dial=Dial.AUTO, worktree=str(worktree)
        )
        self.chat = Chat(space, tmp_path)
        self.moved: list[Moved] = []

    def proposed(self, **more: Any) -> OrchestrationRecord:
        ended = self.chat.run(
            says(call("propose_orchestration", **PROPOSAL, **more)), says("It is proposed.")
        )
        assert ended.ok
        (record,) = self.at.store.orchestrations.list()
        return record

    def carried(self, record: OrchestrationRecord) -> PipelineRecord:
        store, clock = self.at.store, self.at.clock
        store.approvals.decide(record.approval, True, by=OPERATOR, now=clock())
        carry_out(store, record.id, clock)
        (made,) = store.pipelines.list()
        return made

    def drive(self, id: str, **work: list[ScriptedTurn]) -> PipelineRecord:
        turns = {**WORK, **work}
        scripts = tuple(Script(tuple(t), when) for when, t in turns.items())
        model, host = scripted(ScriptFile((), scripts)), self.at.host
        station = Station(str(self.worktree), host.protected, host.secret, str(self.tmp))

        def loop(talk: Conversation) -> Loop:
            return Loop(talk, model, station, self.tmp / "steps")

        driver = PipelineDriver(self.at, id, loop, tell=self.moved.append)
        asyncio.run(driver.drive())
        return self.at.store.pipelines.get(id)


@pytest.fixture
def lab(workspace: Workspace, worktree: Path, tmp_path: Path) -> Lab:
    return Lab(workspace, worktree, tmp_path)


def test_from_the_proposal_to_the_last_step(lab: Lab, worktree: Path) -> None:
    """S003-16: a model proposes, the operator approves, and the steps run in their pinned modes."""
    record = lab.proposed()
    assert lab.at.store.pipelines.list() == ()
    made = lab.carried(record)
    done = lab.drive(made.id)

    assert done.state == "done"
    modes = {m.key: m.mode for m in lab.moved}
    assert modes == {
        "research": "review", "ticket:one": "chat", "ticket:two": "chat", "synthesis": "chat",
    }  # fmt: skip
    assert (worktree / "one.txt").read_text() == "1"
    assert (worktree / "two.txt").read_text() == "2"
    assert not (worktree / "no.txt").exists()
    order = [m.key for m in lab.moved if m.state == "running"]
    assert order == ["research", "ticket:one", "ticket:two", "synthesis"]
    assert done.outputs["synthesis"] == "Both are there."
    assert lab.at.store.spaces.get("lab").mode == "orchestrate"
    (agent,) = lab.at.store.items.list(Act.HIRE)
    prompt = (lab.tmp / "steps" / f"{done.steps['ticket:one'].conversation}.jsonl").read_text()
    assert f"Your role: {agent.id}." in prompt
    assert "You are bo. Your part: Writer." in prompt
    assert "Be short." in prompt


def test_the_budget_holds_attempts(lab: Lab) -> None:
    """No step begins beyond the budget's attempts: a retry of what failed is one, too."""
    made = lab.carried(lab.proposed())
    failed = lab.drive(made.id, **{"Put it together.": [ScriptedTurn(fail="no model")]})
    assert failed.state == "failed"
    lab.at.store.pipelines.retry(made.id, by=OPERATOR, now=lab.at.clock(), gone=gone)

    with pytest.raises(StoreConflict, match="budget of 4 attempts is used up"):
        lab.drive(made.id)

    assert lab.at.store.pipelines.get(made.id).steps["synthesis"].attempt == 1
    assert lab.at.store.pipelines.get(made.id).owner is None


def test_the_budget_holds_time(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the budget's minutes on no step begins, whoever drives it."""
    made = lab.carried(lab.proposed())
    clock = lab.at.clock
    monkeypatch.setattr(lab.at, "clock", lambda: clock() + timedelta(minutes=60))

    with pytest.raises(StoreConflict, match="time was over"):
        lab.drive(made.id)

    assert lab.at.store.pipelines.get(made.id).steps == {}
