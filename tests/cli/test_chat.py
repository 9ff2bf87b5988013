"""`remit chat`: the built-in harness in the terminal, with a scripted model."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.needs import need

WRITE = """
[[turns]]
say = "I write it."
[[turns.calls]]
tool = "write"
args = { path = "a.txt", content = "hello\\n" }
[[turns]]
say = "Done."
"""

IDLE = """
[[turns]]
say = "There it is."
[[turns]]
say = "As I said."
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    made.mkdir()
    return made


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        path = tmp_path / "script.toml"
        path.write_text(text)
        return f"scripted:{path}"

    return write


def test_once_answers_and_ends(
    remit: Any, workspace: object, tree: Path, script: Callable[[str], str]
) -> None:
    """One message is answered with the tools that the mode has, and the files are there."""
    remit("space", "create", "s", "--worktree", tree)
    remit("space", "dial", "s", "accept-edits")
    said = remit("chat", "--space", "s", "--model", script(WRITE), "--once", "go")
    assert said.code == 0, said
    assert "Done." in said.out
    assert (tree / "a.txt").read_text() == "hello\n"


def test_once_tells_each_event_as_json(
    remit: Any, workspace: object, tree: Path, script: Callable[[str], str]
) -> None:
    """One object a line; a call that the mode refuses is told, and nothing is written."""
    remit("space", "create", "s", "--mode", "plan", "--worktree", tree)
    said = remit("chat", "--space", "s", "--model", script(WRITE), "--once", "go", "--json")
    events = said.lines
    assert {"turn", "step", "call", "result", "ended"} <= {e["event"] for e in events}
    assert any("refused `write`" in e.get("text", "") for e in events)
    assert list(tree.iterdir()) == []


def test_once_is_not_done_where_the_contract_is_unmet(
    remit: Any, workspace: object, tree: Path, script: Callable[[str], str]
) -> None:
    """A run of plan without a plan ends with 1, after one nudge."""
    remit("space", "create", "s", "--mode", "plan", "--worktree", tree)
    said = remit("chat", "--space", "s", "--model", script(IDLE), "--once", "go")
    assert said.code == 1
    assert "unmet" in said.err


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["--model", "openai:gpt-5"], 2, "OPENAI_API_KEY"),
        (["--model", "foo:bar"], 2, "no model is called `foo:bar`"),
        (["--model", "scripted:/nowhere.toml"], 2, "nowhere.toml"),
        ([], 2, "no model was named"),
    ],
    ids=["no key", "unknown provider", "no script", "none"],
)
def test_what_keeps_a_model_from_answering(
    remit: Any,
    workspace: object,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    code: int,
    told: str,
) -> None:
    """One message with what to do; nothing is begun."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    remit("space", "create", "s")
    said = remit("chat", "--space", "s", *args, "--once", "go")
    assert (said.code, told in said.err) == (code, True), said.err


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """A terminal of its own; call it with keys to type, it returns the screen."""
    need("tmux")
    socket = str(tmp_path / "tmux")

    def tmux(*args: str) -> str:
        return subprocess.run(
            ["tmux", "-S", socket, *args], check=True, capture_output=True, text=True
        ).stdout

    def act(*keys: str, until: str) -> str:
        if keys:
            tmux("send-keys", "-t", "t", *keys)
        for _ in range(300):
            screen = tmux("capture-pane", "-p", "-t", "t")
            if until in screen:
                return screen
            time.sleep(0.1)
        raise AssertionError(f"`{until}` is not on the screen:\n{screen}")

    def begin(command: list[str], env: dict[str, str], until: str) -> str:
        given = [f"{k}={v}" for k, v in env.items()]
        tmux("new-session", "-d", "-s", "t", "-x", "100", "-y", "30", "env", *given, *command)
        return act(until=until)

    act.begin = begin  # type: ignore[attr-defined]
    yield act
    subprocess.run(["tmux", "-S", socket, "kill-server"], check=False, capture_output=True)


def test_at_a_terminal(
    remit: Any,
    workspace: object,
    tree: Path,
    script: Callable[[str], str],
    terminal: Any,
) -> None:
    """The line of status tells mode and dial, `/mode` switches, and a turn streams its text."""
    remit("space", "create", "s", "--worktree", tree)
    remit("space", "dial", "s", "accept-edits")
    names = ("PATH", "REMIT_HOME", "REMIT_OPERATOR", "HOME")
    env = {"TERM": "xterm", "LANG": "C.UTF-8", **{k: os.environ[k] for k in names}}
    command = [sys.executable, "-m", "remit", "chat", "--space", "s", "--model", script(WRITE)]
    first = terminal.begin(command, env, "/help")
    assert "chat" in first
    screen = terminal("go", "Enter", until="Done.")
    assert "write" in screen
    assert "pydantic" not in screen
    assert (tree / "a.txt").exists()
    terminal("/mode plan", "Enter", until="plan: committed")
    terminal("/tools", "Enter", until="submit_plan")


STAGED = """---
stages:
  think: { exit: [{ ask: user }], next: work }
  work: { loop: true }
---
Words.
"""

COMPLETES = """
[[turns]]
[[turns.calls]]
tool = "complete_stage"
args = { summary = "Thought." }
[[turns]]
say = "I work."
[[turns]]
[[turns.calls]]
tool = "complete_stage"
args = { summary = "Worked." }
"""


def test_a_run_at_a_terminal(
    remit: Any,
    home: Path,
    workspace: object,
    tree: Path,
    script: Callable[[str], str],
    terminal: Any,
) -> None:
    """S000-55: the line of status tells how the run stands, and `/approve` lets it go on."""
    (home / "modes" / "build-it").mkdir(parents=True)
    (home / "modes" / "build-it" / "mode.md").write_text(STAGED)
    remit("space", "create", "s", "--mode", "build-it", "--worktree", tree)
    names = ("PATH", "REMIT_HOME", "REMIT_OPERATOR", "HOME")
    env = {"TERM": "xterm", "LANG": "C.UTF-8", **{k: os.environ[k] for k in names}}
    command = [sys.executable, "-m", "remit", "chat", "--space", "s", "--model", script(COMPLETES)]
    terminal.begin(command, env, "/help")
    screen = terminal("go", "Enter", until="waiting for you")
    assert "build-it · think · waiting approval · turn 0/20 · " in screen
    screen = terminal("/approve", "Enter", until="work, finished, turn 2/20")
    assert "I work." in screen
    (record,) = remit("run", "list", "--json").json
    assert (record["state"], record["turns"]) == ("finished", 2)
