"""Pipelines on the harness: pinned modes, outputs handed on, and no step that runs twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from remit.harness.conversation import Conversation
from remit.harness.loop.belt import Station
from remit.harness.loop.loop import Loop
from remit.harness.loop.pipelines import Moved, PipelineDriver
from remit.harness.loop.scripted import Script, ScriptedTurn, ScriptFile, scripted
from remit.harness.owners import owner
from remit.harness.store import OPERATOR, PipelineRecord, StoreConflict
from remit.harness.workspace import OpenSpace, Workspace
from remit.policy.pipeline import Pipeline, PipelineNode
from remit.policy.problems import InputError
from tests.harness.loop.driver import call, says

HERE = Path(__file__).parent


def node(key: str, *after: str, mode: str = "chat") -> PipelineNode:
    return PipelineNode(key, f"Step {key}", f"Work on {key}.", after, extras={"mode": mode})


def script(**turns: list[ScriptedTurn]) -> ScriptFile:
    return ScriptFile((), tuple(Script(tuple(t), f"Work on {key}.") for key, t in turns.items()))


class Works:
    """A space that runs pipelines with a scripted model."""

    def __init__(self, space: OpenSpace, tmp_path: Path) -> None:
        self.space, self.at, self.folder = space, space.workspace, tmp_path / "chats"
        self.store = space.workspace.store.pipelines
        self.moved: list[tuple[str, str]] = []
        self.modes: dict[str, str] = {}
        self.scratch = tmp_path / "scratch"
        self.scratch.mkdir()

    def start(self, *nodes: PipelineNode) -> str:
        made = Pipeline("p", nodes, "review")
        return self.store.start("s", made, by=OPERATOR, now=self.at.clock()).id

    def drive(self, id: str, file: ScriptFile, jobs: int = 4) -> PipelineRecord:
        host, model = self.at.host, scripted(file)

        def loop(talk: Conversation) -> Loop:
            station = Station(
                self.space.state.worktree, host.protected, host.secret, str(self.scratch)
            )
            return Loop(talk, model, station, self.folder)

        def tell(moved: Moved) -> None:
            self.moved.append((moved.key, moved.state.value))
            self.modes[moved.key] = moved.mode

        asyncio.run(PipelineDriver(self.at, id, loop, jobs, tell=tell).drive())
        return self.store.get(id)

    def prompts(self, key: str, id: str) -> str:
        talk = self.store.get(id).steps[key].conversation
        return (self.folder / f"{talk}.jsonl").read_text()


@pytest.fixture
def works(space: OpenSpace, tmp_path: Path) -> Works:
    return Works(space, tmp_path)


def test_steps_run_in_their_pinned_modes(works: Works, worktree: Path) -> None:
    """S003-22: one step writes in the mode that may, another is refused in the one that may not."""
    id = works.start(node("write"), node("judge", "write", mode="review"))
    done = works.drive(
        id,
        script(
            write=[says(call("write", path="n.txt", content="new")), says("It is written.")],
            judge=[says(call("write", path="x.txt", content="no")), says("I could not.")],
        ),
    )

    assert (done.state, done.owner) == ("done", None)
    assert works.modes == {"write": "chat", "judge": "review"}
    assert (worktree / "n.txt").read_text() == "new"
    assert not (worktree / "x.txt").exists()
    assert "What came of `write` (Step write):\\n\\nIt is written." in works.prompts("judge", id)
    assert works.at.store.log.rebuild().problems == ()
    assert works.moved == [
        ("write", "running"), ("write", "done"), ("judge", "running"), ("judge", "done"),
    ]  # fmt: skip


def test_a_step_has_no_more_than_the_space(workspace: Workspace, works: Works) -> None:
    """A step's ceiling is the meet of its mode and of the space that runs it."""
    works.space.set("plan", by=OPERATOR)
    id = works.start(node("write"))
    works.drive(
        id, script(write=[says(call("write", path="n.txt", content="x")), says("Refused.")])
    )

    assert not Path(works.space.state.worktree or "", "n.txt").exists()
    assert works.space.mode == "plan"


def test_a_step_delivers_and_does_not_leave(works: Works) -> None:
    """A step in a mode with a contract has its verb and no exit: it stays where it is pinned."""
    talk = works.space.step("pl-0", "plan")
    with talk.turn("pipeline") as turn:
        tools = [t.name for t in turn.step().tools]

    assert "submit_plan" in tools
    assert "exit_plan_mode" not in tools


def test_an_unmet_contract_fails_its_step(works: Works) -> None:
    """A step whose mode owes a result and did not deliver it has failed, and bars what follows."""
    id = works.start(node("plan", mode="plan"), node("next", "plan"), node("other"))
    done = works.drive(id, script(plan=[says("no")] * 3, other=[says("fine")]))

    assert done.state == "failed"
    assert {k: s.state for k, s in done.steps.items()} == {"plan": "failed", "other": "done"}
    assert "`plan.delivered` is unmet" in done.steps["plan"].error


def test_a_retry_begins_anew_what_failed_and_nothing_else(works: Works) -> None:
    """What is done keeps its conversation; what failed gets another one."""
    id = works.start(node("a"), node("b", "a"))
    failed = works.drive(id, script(a=[says("A")], b=[ScriptedTurn(fail="the model is down")]))
    assert (failed.state, failed.steps["b"].attempt) == ("failed", 1)
    assert "the model is down" in failed.steps["b"].error
    with pytest.raises(StoreConflict, match="pipeline-over"):
        works.drive(id, script())

    works.store.retry(id, by=OPERATOR, now=works.at.clock(), gone=lambda owner: False)
    done = works.drive(id, script(b=[says("B")]))

    assert done.state == "done"
    assert [(s.key, s.attempt) for s in done.steps.values()] == [("a", 1), ("b", 2)]
    assert done.steps["a"].conversation == f"{id}-0"
    assert done.steps["b"].conversation == f"{id}-1.2"


def test_as_many_steps_at_once_as_are_let(works: Works) -> None:
    """No more than `jobs` run at the same time, and that many do."""
    id = works.start(*(node(f"k{i}") for i in range(6)))
    turns = {f"k{i}": [says("x", wait=0.05)] for i in range(6)}
    works.drive(id, script(**turns), jobs=2)

    running, most = 0, 0
    for _, state in works.moved:
        running += 1 if state == "running" else -1
        most = max(most, running)
    assert most == 2


def test_an_operator_cancels(works: Works) -> None:
    """What is under way is interrupted, nothing more begins, and the log says who."""
    id = works.start(node("a"), node("b", "a"))

    async def both() -> None:
        host, model = works.at.host, scripted(script(a=[says("slow", wait=30)]))
        station = Station(None, host.protected, host.secret, str(works.scratch))
        driver = PipelineDriver(works.at, id, lambda talk: Loop(talk, model, station))
        driving = asyncio.ensure_future(driver.drive())
        await asyncio.sleep(0.2)
        works.store.cancel(id, by=OPERATOR, now=works.at.clock())
        assert await asyncio.wait_for(driving, 10) == "cancelled"

    asyncio.run(both())
    found = works.store.get(id)
    assert (found.state, set(found.steps)) == ("cancelled", {"a"})
    assert not works.at.store.conversations.get(found.steps["a"].conversation).open


def test_one_process_drives_at_a_time(works: Works) -> None:
    """Whoever comes second is told; when the first is gone, the second goes on."""
    id = works.start(node("a"))
    dead = ":".join((owner().rsplit(":", 2)[0], "4194303", "1"))
    works.store.claim(id, dead, now=works.at.clock(), gone=lambda owner: False)

    with pytest.raises(StoreConflict, match="pipeline-driven"):
        works.store.claim(id, "me:1:1", now=works.at.clock(), gone=lambda owner: False)
    assert works.drive(id, script(a=[says("A")])).state == "done"


def test_an_agent_starts_none(works: Works) -> None:
    """A pipeline is started by an operator, the system or another pipeline, never by an agent."""
    with pytest.raises(InputError, match="not-operator"):
        works.store.start(
            "s", Pipeline("p", (node("a"),), "review"), by="agent:c", now=works.at.clock()
        )


def test_killed_at_random_moments_it_finishes_and_no_step_runs_twice(
    works: Works, worktree: Path, tmp_path: Path
) -> None:
    """Killed with -9 and started again until it is done, each step began once and acted once."""
    keys = [f"k{i}" for i in range(5)]
    after = ((), ("k0",), ("k0",), ("k1", "k2"), ("k3",))
    id = works.start(*(node(k, *before) for k, before in zip(keys, after, strict=True)))
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    for patience in (*(draw.random() * 0.4 for _ in range(4)), 60):
        child = subprocess.Popen(
            [sys.executable, str(HERE / "piped.py"), str(tmp_path), id, *keys],
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
        child.stdout.close()
        assert child.wait() in (0, -signal.SIGKILL)
        if works.store.get(id).state != "running":
            break
    found, log = works.store.get(id), works.at.store.log

    assert found.state == "done"
    begun = [
        e.body["step"]
        for e in log.read(kinds=("pipeline.stepped",))
        if e.body["state"] == "running"
    ]
    assert sorted(begun) == keys
    acted = [e.conversation for e in log.read(kinds=("decision",)) if e.body["forwarded"]]
    assert acted
    assert len(acted) == len(set(acted))
    written = {p.stem for p in worktree.glob("k*.txt")}
    assert written <= set(keys)
    assert len(written) <= len(acted)
    assert log.verify().ok
    assert log.rebuild().problems == ()
