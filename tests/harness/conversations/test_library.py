"""The library as a platform uses it: opened by name, shared by threads, and awaited."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

import remit
from remit.harness.natives import Answer
from remit.harness.store import Answer as Became
from remit.policy.problems import InputError, RemitError
from remit.policy.tools import Call
from remit.policy.vocabulary import Dial

COMMIT = Call("git_commit", {"repo_path": "/w", "message": "m"})
AT = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"REMIT_HOME": str(tmp_path), "HOME": str(tmp_path)}


def test_a_workspace_is_opened_by_path_url_or_configuration(tmp_path: Path) -> None:
    """A path and a configuration folder name the same database; nothing is made unless asked."""
    home, there = {"HOME": str(tmp_path)}, tmp_path / "here.db"
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "remit.toml").write_text(f'db = "{there}"\n')
    with pytest.raises(RemitError):
        remit.Workspace.open(there, environ=home)
    with remit.Workspace.open(there, create=True, environ=home) as made:
        made.create_space("s", by="operator")
    with remit.Workspace.open(config=str(tmp_path / "config"), environ=home) as found:
        assert [s.id for s in found.spaces()] == ["s"]


def test_a_foreign_space_has_the_top_mode_only_if_it_is_said_to_be_foreign(
    home: dict[str, str],
) -> None:
    """S003-23: an unknown id is an error with near misses; a known one keeps its mode."""
    with remit.Workspace.open(create=True, environ=home) as workspace:
        workspace.create_space("docs", "plan", by="operator")
        assert workspace.resolve(None).name == "chat"
        assert workspace.resolve("docs", foreign="chat").name == "plan"
        assert workspace.resolve("other", foreign="chat").name == "chat"
        with pytest.raises(InputError) as unknown:
            workspace.resolve("dcos")
        assert "docs" in unknown.value.problems[0].hint


def test_threads_share_a_workspace(home: dict[str, str]) -> None:
    """S002-1: each thread has its turns; after a switch no thread's call passes any more."""
    with remit.Workspace.open(create=True, environ=home) as workspace:
        git = workspace.engine.catalogs(["mcp-git"])
        space = workspace.create_space("s", by="operator", dial=Dial.AUTO)
        switched = threading.Event()

        def work(n: int) -> list[tuple[bool, bool]]:
            seen = []
            for _ in range(4):
                with workspace.space("s").conversation(f"c{n}").turn() as turn:
                    step, late = turn.step(git), switched.is_set()
                    seen.append((late, isinstance(step.decide(COMMIT), remit.Run)))
            return seen

        with ThreadPoolExecutor(4) as pool:
            first = [pool.submit(work, n) for n in range(4)]
            space.set("plan", by="operator")
            switched.set()
            after = [pool.submit(work, n) for n in range(4, 6)]
            seen = [pair for done in (*first, *after) for pair in done.result()]
        assert not any(late and ran for late, ran in seen)
        assert len(workspace.store.log.read(kinds=("decision",))) == len(seen) == 24
        workspace.store.log.verify()


def test_the_awaited_library_says_the_same(home: dict[str, str]) -> None:
    """The twin has no logic of its own: a switch in a step bites in it, and the next is in it."""

    async def talk() -> None:
        async with remit.AsyncWorkspace(create=True, environ=home) as workspace:
            git = workspace.sync.engine.catalogs(["mcp-git"])
            space = await workspace.create_space("s", by="operator", dial=Dial.AUTO)
            thread = await space.conversation("c")
            async with thread.turn() as turn:
                step = await turn.step(git)
                assert (step.mode, step.preamble, step.notices) == ("chat", "", ())
                assert isinstance(await step.decide(COMMIT), remit.Run)
                assert (await space.set("plan", by="operator")).answer is Became.QUEUED
                assert isinstance(await step.decide(COMMIT), Answer)
                assert (await turn.step()).mode == await thread.mode() == "plan"

    asyncio.run(talk())


@pytest.mark.parametrize("ticks", range(8))
def test_a_cancelled_turn_is_not_left_open(home: dict[str, str], ticks: int) -> None:
    """S002-9: wherever a task is cancelled, no turn stays open and what was judged is counted."""

    async def talk() -> None:
        async with remit.AsyncWorkspace(create=True, environ=home) as workspace:
            git = workspace.sync.engine.catalogs(["mcp-git"])
            space = await workspace.create_space("s", by="operator", dial=Dial.AUTO)
            thread = await space.conversation("c")

            async def answer() -> None:
                async with thread.turn() as turn:
                    step = await turn.step(git)
                    while True:
                        await step.decide(COMMIT)

            task = asyncio.create_task(answer())
            for _ in range(ticks):
                await asyncio.sleep(0.002)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not thread.sync.record.open
            log = workspace.sync.store.log
            closed = log.read(kinds=("turn.closed",))
            judged = len(log.read(kinds=("decision",)))
            assert sum(e.body["decisions"] for e in closed) == judged
            assert {e.body["outcome"] for e in closed} <= {"interrupted"}

    asyncio.run(talk())
