"""`remit chat` killed by signal 9, decided on from other processes, and gone on with."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CALL = """
[[turns]]
say = "I call."
[[turns.calls]]
tool = "{tool}"
args = {args}
"""
SAY = """
[[turns]]
say = "It is over."
"""
SHELL = CALL.format(
    tool="shell", args='{ command = "echo x >> ran; sleep 2; echo late >> ran", timeout = 60 }'
)
WRITE = CALL.format(tool="write", args='{ path = "ran", content = "x\\n" }')


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    made.mkdir()
    return made


def until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not there():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


@pytest.fixture
def killed(remit: Any, workspace: object, tree: Path, tmp_path: Path) -> Callable[..., str]:
    """Start a chat, kill it when something is there, and return its model's name."""

    def run(dial: str, script: str, when: Callable[[str], bool]) -> str:
        remit("space", "create", "s", "--worktree", tree)
        remit("space", "dial", "s", dial)
        file, told = tmp_path / "script.toml", tmp_path / "told"
        file.write_text(script)
        model = f"scripted:{file}"
        command = [sys.executable, "-m", "remit", "chat", "--space", "s", "--model", model]
        with (
            told.open("w") as out,
            subprocess.Popen(
                [*command, "--once", "go", "--json"], stdout=out, start_new_session=True
            ) as child,
        ):
            try:
                until(lambda: when(told.read_text()))
            finally:
                os.kill(child.pid, signal.SIGKILL)
        return model

    return run


def test_killed_while_a_command_runs(remit: Any, killed: Callable[..., str], tree: Path) -> None:
    """The command goes with it; the turn is closed as interrupted, and the next one goes on."""
    ran = tree / "ran"
    model = killed("auto", SHELL + SAY, lambda _: ran.exists())
    said = remit("chat", "--space", "s", "--model", model, "--resume", "--once", "and?", "--json")
    assert said.code == 0, said
    assert "It is over." in said.out
    closed = [e for e in remit("log", "--json").json if e["kind"] == "turn.closed"]
    assert [e["body"]["outcome"] for e in closed] == ["interrupted", "ended"]
    time.sleep(2)
    assert ran.read_text() == "x\n"


def test_killed_while_it_waits_for_the_operator(
    remit: Any, killed: Callable[..., str], tree: Path
) -> None:
    """The approval stands, is decided without it, and lets the same call run once."""
    model = killed("ask", WRITE + WRITE + SAY, lambda told: '"waiting"' in told)
    (asked,) = remit("approvals", "list", "--json").json
    assert asked["state"] == "pending"
    assert remit("approvals", "approve", asked["id"]).code == 0
    assert not (tree / "ran").exists()
    said = remit("chat", "--space", "s", "--model", model, "--resume", "--once", "and?", "--json")
    assert said.code == 0, said
    assert (tree / "ran").read_text() == "x\n"
    assert [a["state"] for a in remit("approvals", "list", "--json").json] == ["used"]
    assert json.loads(said.out.splitlines()[-1])["ok"]
