"""`remit run`: runs of staged modes at the command line, with a scripted model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.needs import need

MODE = """---
budget: { maxTurns: 3 }
stages:
  think: { loop: true, next: work }
  work: { permission: read-only }
---
Words.
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    made.mkdir()
    return made


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    def write(*turns: str) -> str:
        path = tmp_path / "script.toml"
        path.write_text("".join(f"[[turns]]\n{turn}\n" for turn in turns))
        return f"scripted:{path}"

    return write


def calls(tool: str, args: str) -> str:
    return f"[[turns.calls]]\ntool = {tool!r}\nargs = {args}"


@pytest.fixture
def staged(remit: Any, home: Path, workspace: dict[str, str], tree: Path) -> str:
    """A space in a staged mode of the user's; returns its id."""
    (home / "modes" / "build-it").mkdir(parents=True)
    (home / "modes" / "build-it" / "mode.md").write_text(MODE)
    assert remit("space", "create", "s", "--mode", "build-it", "--worktree", tree).code == 0
    return "s"


@pytest.fixture
def run(remit: Any, staged: str) -> str:
    started = remit("run", "start", staged, "Build it.", "--sandbox", "none", "--json")
    assert started.code == 0, started
    id: str = started.json["id"]
    return id


def test_a_run_is_started_listed_and_shown(remit: Any, run: str, tree: Path) -> None:
    """S000-55: mode, stage, turns of the budget, tokens and time; and who has it."""
    (listed,) = remit("run", "list", "--json").json
    shown = remit("run", "show", run, "--json").json
    assert {k: shown[k] for k in listed if k != "elapsed_ms"} == {
        k: v for k, v in listed.items() if k != "elapsed_ms"
    }
    assert (shown["mode"], shown["stage"], shown["state"]) == ("build-it", "think", "running")
    assert (shown["turns"], shown["budget"]) == (0, {"turns": 3, "tokens": None})
    assert (shown["gates"], shown["artifacts"], shown["report"]) == ([], {}, None)
    assert "build-it · think · running · turn 0/3 · 0 tokens" in remit("run", "show", run).out


def test_what_a_person_does(remit: Any, run: str) -> None:
    """S000-56, S000-59, S000-63: each control answers how the run stands then."""
    said = [
        remit("run", "pause", run, "--json").json["state"],
        remit("run", "edit", run, "--input", "Else.", "--turns", "9", "--json").json["budget"],
        remit("run", "resume", run, "--json").json["state"],
        remit("run", "stop", run, "--json").json["state"],
    ]
    assert said == ["paused", {"turns": 9, "tokens": None}, "running", "stopped"]
    assert remit("space", "show", "s", "--json").json["mode"] == "chat"
    again = remit("run", "stop", run)
    assert (again.code, "takes no stop" in again.err) == (2, True)
    assert remit("run", "edit", run).code == 2


def test_a_run_is_removed(remit: Any, run: str) -> None:
    """S000-60: it is over as well, and the space has its mode back."""
    assert remit("run", "remove", run, "--json").json["state"] == "stopped"
    assert remit("space", "show", "s", "--json").json["mode"] == "chat"


def test_what_cannot_be_started(remit: Any, run: str, tree: Path) -> None:
    """One run is open already; a simple mode has none; an id that is not there has near misses."""
    remit("space", "create", "plain")
    wrong = [
        remit("run", "start", "s", "More.", "--sandbox", "none"),
        remit("run", "start", "plain", "More.", "--sandbox", "none"),
        remit("run", "show", f"{run}x"),
    ]
    assert [w.code for w in wrong] == [2, 2, 2]
    assert ["run-open" in wrong[0].err, "run-mode" in wrong[1].err, run in wrong[2].err] == [
        True
    ] * 3


def test_a_person_has_the_token(remit: Any, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S000-34: whoever is not the operator controls no run, and may look at it."""
    monkeypatch.delenv("REMIT_OPERATOR")
    denied = [remit("run", what, run).code for what in ("pause", "resume", "stop", "remove")]
    assert denied == [2, 2, 2, 2]
    assert remit("run", "show", run, "--json").json["state"] == "running"


def test_a_remote_space_has_none(remit: Any, staged: str) -> None:
    """S000-65: a staged mode is refused there, a simple one is not."""
    far = remit("space", "create", "far", "--remote", "--mode", "build-it")
    assert (far.code, "run-remote" in far.err) == (2, True)
    assert remit("space", "create", "far", "--remote").code == 0
    assert "run-remote" in remit("space", "set", "far", "build-it").err


def test_another_staged_mode_is_refused_while_one_is_open(remit: Any, run: str) -> None:
    """S000-66, S000-67: it is to be stopped first; a simple mode pauses it."""
    assert "run-open" in remit("space", "set", "s", "goal").err
    assert remit("space", "set", "s", "plan").code == 0
    assert remit("run", "show", run, "--json").json["state"] == "paused"


def test_a_message_starts_a_run(remit: Any, staged: str, script: Callable[..., str]) -> None:
    """S000-11: in a staged mode `remit chat` is a turn of a run, and the next ones follow."""
    model = script(calls("complete_stage", "{ summary = 'Thought.' }"), "say = 'Built.'")
    said = remit("chat", "--space", "s", "--model", model, "--once", "Build it.")
    assert said.code == 0, said
    (record,) = remit("run", "list", "--json").json
    assert (record["state"], record["stage"], record["turns"]) == ("finished", "work", 1)
    assert record["input"] == "Build it."


def test_the_sample_from_end_to_end(
    remit: Any, home: Path, workspace: dict[str, str], tree: Path, script: Callable[..., str]
) -> None:
    """S000-69, S000-40: the shipped sample, offline: a spec, the operator's yes, then code until a
    real test command, which fails first, passes."""
    need("make")
    (tree / "Makefile").write_text("test:\n\t@sh check.sh\n")
    (tree / "check.sh").write_text(
        'test "$(cat greeting)" = hello || { echo no greeting; exit 3; }\n'
    )
    assert remit("modes", "new", "build-it", "--from", "feature").code == 0
    remit("space", "create", "s", "--mode", "build-it", "--worktree", tree)
    remit("space", "dial", "s", "auto")
    spec = "# Goal\\n\\nGreet.\\n\\n# Acceptance criteria\\n\\n- it says hello\\n"
    model = script(
        calls("complete_stage", f'{{ summary = "Spec.", artifacts = {{ spec = "{spec}" }} }}'),
        calls("write", '{ path = "greeting", content = "goodbye" }'),
        calls("complete_stage", '{ summary = "Implemented." }'),
        calls("write", '{ path = "greeting", content = "hello" }'),
        calls("complete_stage", '{ summary = "Mended." }'),
    )
    options = ("--drive", "--sandbox", "none", "--model", model)

    first = remit("run", "start", "s", "a greeting", *options)
    (record,) = remit("run", "list", "--json").json
    assert (first.code, record["state"], record["why"]) == (1, "waiting", "approval"), first
    (asked,) = remit("approvals", "list", "--state", "pending", "--json").json
    assert asked["kind"] == "stage"
    assert remit("approvals", "approve", asked["id"]).code == 0

    second = remit("run", "resume", record["id"], *options)
    assert second.code == 0, second
    assert "The stage is not done." in second.err
    shown = remit("run", "show", record["id"], "--json").json
    assert (shown["state"], shown["turns"], shown["failures"]) == ("finished", 1, 1)
    assert [(g["stage"], g["action"], g["outcome"]) for g in shown["gates"]] == [
        ("design", "require", "passed"),
        ("design", "ask", "passed"),
        ("implement", "run", "passed"),
    ]
    assert (tree / shown["artifacts"]["spec"]).read_text().startswith("# Goal")
    judged = [r["body"] for r in remit("log", "--json").json if r["kind"] == "gate.judged"]
    (failed,) = [b for b in judged if b["outcome"] == "failed"]
    assert "no greeting" in failed["evidence"]
    assert remit("space", "show", "s", "--json").json["mode"] == "chat"
    assert remit("log", "rebuild", "--check").code == 0
