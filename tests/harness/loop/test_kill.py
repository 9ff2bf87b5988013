"""A loop is killed wherever it writes or runs; what follows knows of no crash and repeats none."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from remit.harness.engine import Engine
from remit.harness.loop import history as history_module
from remit.harness.loop.belt import Belt
from remit.harness.loop.loop import Ended
from remit.harness.owners import gone, owner
from remit.harness.store import ApprovalState
from remit.harness.store.log import Log
from remit.harness.workspace import Workspace
from remit.policy.vocabulary import Dial
from tests.harness.loop.driver import Chat, call, says

WRITE = call("write", path="b.txt", content="x")


class Writing:
    """What a history knows of the system, with steps around its writing."""

    def __init__(self, steps: Steps) -> None:
        self.write = steps.around("a message", os.write)

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)


class Steps:
    """Counts what a loop does for good, and kills the process at one of them."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.names: list[str] = []
        self.kill_at = kill_at

    def step(self, name: str) -> None:
        if self.kill_at == len(self.names):
            os.kill(os.getpid(), signal.SIGKILL)
        self.names.append(name)

    def around(self, name: str, there: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function with a step before it and one after it."""

        def called(*args: Any, **kwargs: Any) -> Any:
            self.step(f"before {name}")
            found = there(*args, **kwargs)
            self.step(f"after {name}")
            return found

        return called

    def watch(self) -> None:
        """Watch this process: transactions, what is kept of what was said, and tools."""
        writing = Log.writing

        @contextmanager
        def written(log: Log, now: Any) -> Iterator[Any]:
            self.step("before a transaction")
            with writing(log, now) as writer:
                yield writer
            self.step("after a transaction")

        for home, name, watched in (
            (Log, "writing", written),
            (Belt, "run", self.around("a tool", Belt.run)),
            (history_module, "os", Writing(self)),
        ):
            setattr(home, name, watched)


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Say how often a tool ran, in whatever process."""
    counted = tmp_path / "ran"
    counted.touch()
    there = Belt.run

    def run(belt: Belt, key: str, args: Mapping[str, Any], desk: Any) -> Any:
        with counted.open("a") as file:
            file.write("x")
        return there(belt, key, args, desk)

    monkeypatch.setattr(Belt, "run", run)
    return lambda: counted.stat().st_size


@contextmanager
def opened(root: Path, engine: Engine) -> Iterator[Chat]:
    """The conversation as a process finds it that starts."""
    home = {"REMIT_HOME": str(root / "home"), "HOME": str(root / "home")}
    with Workspace.open(environ=home, host="harness", engine=engine) as at:
        yield Chat(at.space("s"), root)


@pytest.fixture
def root(tmp_path: Path, engine: Engine) -> Path:
    """A workspace with a space that asks for everything."""
    made = tmp_path / "root"
    (made / "home").mkdir(parents=True)
    (made / "work").mkdir()
    home = {"REMIT_HOME": str(made / "home"), "HOME": str(made / "home")}
    with Workspace.open(create=True, environ=home, host="harness", engine=engine) as at:
        at.create_space("s", by="operator", dial=Dial.ASK, worktree=str(made / "work"))
    return made


def go_on(chat: Chat) -> Ended:
    """Open the conversation again; its model makes the same call once more."""
    answered = len([m for m in chat.loop().history.messages if m.kind == "response"])
    return chat.run(*[says(".")] * answered, says(WRITE), says("Done."), prompt="go on")


def test_whatever_is_killed_is_closed_and_nothing_runs_twice(
    root: Path,
    engine: Engine,
    tmp_path: Path,
    ran: Callable[[], int],
    forked: Callable[[Callable[[], None]], int],
) -> None:
    """Promise 8: killed during a turn, while it waits, and between approval and execution.

    The turn is closed as interrupted, an open approval stands, and no approval serves twice.
    """
    saved = tmp_path / "saved"
    seen: set[tuple[object, ...]] = set()
    shutil.copytree(root, saved)
    for at in range(1000):
        shutil.rmtree(root)
        shutil.copytree(saved, root)
        os.truncate(tmp_path / "ran", 0)

        def act(at: int = at) -> None:
            with opened(root, engine) as chat:
                chat.operator["call"] = chat.decide()
                loop = chat.loop(says(WRITE), says("Done."))
                Steps(at).watch()
                asyncio.run(loop.turn("go"))

        ended = forked(act)
        assert ended in (0, -signal.SIGKILL), f"step {at} ended with {ended}"
        before = ran()
        with opened(root, engine) as chat:
            log = chat.at.store.log
            closed = [e.body["outcome"] for e in log.read(kinds=("turn.closed",))]
            begun = len(log.read(kinds=("turn.opened",)))
            assert len(closed) == begun, at
            assert set(closed) <= {"interrupted", "ended"}, at
            (approval,) = chat.at.store.approvals.list(now=chat.at.clock()) or (None,)
            seen.add((approval and str(approval.state), before, *closed))
            chat.operator["call"] = chat.decide()
            if approval and approval.state is ApprovalState.PENDING:
                chat.decide()(approval.id)
            assert ran() == before, "opening what was killed runs nothing"
            assert go_on(chat).ok, at
            approvals = chat.at.store.approvals.list(now=chat.at.clock())
            assert {a.state for a in approvals} == {ApprovalState.USED}, at
            # What was open is used; only what was used by the killed one is asked for again.
            assert len(approvals) == (2 if approval and approval.used_at else 1), at
            assert ran() == before + 1, at
            assert before <= len(approvals) - 1, at
            assert log.verify().ok, at
            assert log.rebuild().equal, at
        if ended == 0:
            break
    assert seen == {
        (None, 0),
        (None, 0, "interrupted"),
        ("pending", 0, "interrupted"),
        ("approved", 0, "interrupted"),
        ("used", 0, "interrupted"),
        ("used", 1, "interrupted"),
        ("used", 1, "ended"),
    }


def test_a_process_that_nobody_reaped_is_gone(fork: Callable[[], int], tmp_path: Path) -> None:
    """Its turns are closed at once, also where its parent never asks how it ended."""
    told = tmp_path / "told"
    child = fork()
    if child == 0:
        told.write_text(owner())
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert gone(told.read_text())
    assert not gone(owner())
    os.waitpid(child, 0)
