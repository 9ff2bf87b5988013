"""Decisions that are recorded beside the path of a call: all of them, once, and soon."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from remit.harness import recorder
from remit.harness.session import Run
from remit.harness.store import StoreError
from remit.harness.store.anchor import Anchor
from remit.harness.store.log import Log, Writer
from remit.harness.turns import Step, Turn
from remit.harness.workspace import Workspace
from remit.policy.problems import Problem
from remit.policy.tools import Call
from remit.policy.vocabulary import Dial

FULL = StoreError(Problem("store-full", "there is no room"))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    # Nothing is recorded here until somebody wants it to be.
    monkeypatch.setattr(recorder, "_DELAY", 60)
    home = {"REMIT_HOME": str(tmp_path), "HOME": str(tmp_path)}
    with Workspace.open(create=True, environ=home) as found:
        found.create_space("s", by="operator", dial=Dial.AUTO)
        yield found


@pytest.fixture
def turn(workspace: Workspace) -> Iterator[Turn]:
    with workspace.space("s").conversation("c").turn() as turn:
        yield turn


def asked(step: Step, n: int) -> None:
    assert isinstance(step.decide(Call("git_commit", {"repo_path": "/w", "message": f"m{n}"})), Run)


def told(at: Workspace) -> list[str]:
    return [e.body["args"]["message"] for e in at.store.log.read(kinds=("decision",))]


def begun(turn: Turn) -> Step:
    return turn.step(turn.conversation.workspace.engine.catalogs(["mcp-git"]))


def test_a_step_is_recorded_at_once(workspace: Workspace, turn: Turn) -> None:
    """Many decisions are one transaction, in their order, before the next step begins."""
    step = begun(turn)
    with mock.patch.object(Log, "writing", autospec=True, side_effect=Log.writing) as writing:
        for n in range(20):
            asked(step, n)
        assert (told(workspace), len(workspace.recorder)) == ([], 20)
        turn.step()

    assert told(workspace) == [f"m{n}" for n in range(20)]
    # One for the decisions and one for the step.
    assert writing.call_count == 2


def test_what_cannot_be_recorded_waits(workspace: Workspace, turn: Turn) -> None:
    """A full disk fails the next step and not the call; nothing is lost once there is room."""
    step = begun(turn)
    with mock.patch.object(Writer, "record", side_effect=FULL):
        asked(step, 0)
        for _ in range(2):
            with pytest.raises(StoreError):
                turn.step()
    turn.step()

    assert told(workspace) == ["m0"]


def test_what_follows_the_commit_tells_nothing_twice(workspace: Workspace, turn: Turn) -> None:
    """An anchor that fails after the commit does not have the same decisions written again."""
    step = begun(turn)
    asked(step, 0)
    with mock.patch.object(Anchor, "advance", side_effect=FULL):
        workspace.recorder.flush()
    turn.step()

    assert told(workspace) == ["m0"]
    assert workspace.store.log.verify().ok


def test_there_is_an_end_to_what_waits(
    workspace: Workspace, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who adds to many that wait writes them, and is refused where they cannot be written."""
    monkeypatch.setattr(recorder, "_LIMIT", 3)
    step = begun(turn)
    for n in range(4):
        asked(step, n)
    assert (len(workspace.recorder), len(told(workspace))) == (1, 3)
    asked(step, 4)
    asked(step, 5)
    with mock.patch.object(Writer, "record", side_effect=FULL), pytest.raises(StoreError):
        asked(step, 6)


def test_soon(workspace: Workspace, turn: Turn, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision is recorded though no step and no end of the turn follows it."""
    monkeypatch.setattr(recorder, "_DELAY", 0.01)
    before = workspace.store.data_version()
    asked(begun(turn), 0)
    while workspace.recorder:
        before = workspace.store.wait(before, 1)

    assert told(workspace) == ["m0"]


def test_a_killed_turn_is_told(workspace: Workspace) -> None:
    """What a kill may have taken with it is shown: of that turn nobody counted the decisions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            with Workspace.open(workspace.store.path, engine=workspace.engine) as at:
                turn = at.space("s").conversation("c").turn().__enter__()
                asked(begun(turn), 0)
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with workspace.space("s").conversation("c").turn():
        pass

    found = workspace.store.log.verify()
    assert (found.ok, found.cut, found.missing) == (True, 1, 0)


def test_a_decision_that_is_gone_is_counted(workspace: Workspace, turn: Turn) -> None:
    """A turn counts a call before it is judged; one without its record is told as missing."""
    asked(begun(turn), 0)
    workspace.recorder._waiting.clear()
    turn.close()

    assert workspace.store.log.verify().missing == 1
