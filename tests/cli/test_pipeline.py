"""`remit pipeline check` says each step's mode, or every problem."""

from pathlib import Path

import pytest

from tests.cli.conftest import Remit

GOOD = """\
name = "notes"
default = "review"

[[nodes]]
key = "write"
title = "Write"
extras = { mode = "chat" }

[[nodes]]
key = "judge"
title = "Judge"
depends_on = ["write"]
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "p.toml"
    path.write_text(GOOD)
    return path


def test_each_step_has_its_mode_and_says_from_where(remit: Remit, good: Path) -> None:
    """People see the mode of each step and the place that says it."""
    said = remit("pipeline", "check", good)

    assert said.code == 0
    rows = [line.split() for line in said.out.splitlines()[1:]]
    assert rows == [
        ["write", "chat", "pinned,", f"{good}:7:19", "-"],
        ["judge", "review", "default,", f"{good}:2:11", "write"],
    ]


def test_json(remit: Remit, good: Path) -> None:
    """Scripts get the same as one document."""
    said = remit("pipeline", "check", "--json", good)

    assert said.code == 0
    assert said.json["problems"] == []
    assert [(s["key"], s["mode"], s["from"], s["where"]["line"]) for s in said.json["steps"]] == [
        ("write", "chat", "pinned", 7),
        ("judge", "review", "default", 2),
    ]


def test_problems_are_the_answer_no(remit: Remit, good: Path) -> None:
    """A near miss of the key ends with 1 and names the right key (S003-22)."""
    good.write_text(GOOD.replace("{ mode =", "{ Mode ="))

    said = remit("pipeline", "check", good)
    as_json = remit("pipeline", "check", "--json", good)

    assert (said.code, as_json.code) == (1, 1)
    assert "the key is `mode`" in said.out
    assert as_json.json["steps"] == []
    assert [p["code"] for p in as_json.json["problems"]] == ["step-mode-key"]


def test_a_file_that_is_not_there(remit: Remit, tmp_path: Path) -> None:
    """A wrong command ends with 2."""
    assert remit("pipeline", "check", tmp_path / "none.toml").code == 2


def test_a_mode_of_the_users_own(remit: Remit, good: Path, home: Path) -> None:
    """A step may pin a mode of the user's; one that cannot be used is unknown."""
    good.write_text(GOOD.replace('"chat"', '"quiet"'))
    assert remit("pipeline", "check", good).code == 1
    (home / "modes").mkdir(parents=True)
    (home / "modes" / "quiet.toml").write_text('name = "quiet"\nextends = "read-only"\n')

    assert remit("pipeline", "check", good).code == 0


def test_schema(remit: Remit) -> None:
    """Editors check pipelines by the schema of the same shapes."""
    said = remit("schema", "pipeline")

    assert said.json["required"] == ["name", "nodes"]


SCRIPT = """\
[[scripts]]
when = "Put it down."
[[scripts.turns]]
calls = [{ tool = "write", args = { path = "notes.md", content = "notes" } }]
[[scripts.turns]]
say = "The notes are written."

[[scripts]]
when = "Judge"
[[scripts.turns]]
say = "They are fine."
"""


@pytest.fixture
def works(
    remit: Remit, workspace: dict[str, str], good: Path, tmp_path: Path
) -> tuple[Remit, Path, str]:
    """A space with a worktree, a pipeline of two steps, and a model that follows a script."""
    tree, model = tmp_path / "wt", tmp_path / "script.toml"
    tree.mkdir()
    model.write_text(SCRIPT)
    good.write_text(GOOD.replace('title = "Write"', 'title = "Write"\nprompt = "Put it down."'))
    remit("space", "create", "s", "--worktree", tree)
    remit("space", "dial", "s", "auto")
    return remit, good, f"scripted:{model}"


def test_run(works: tuple[Remit, Path, str], tmp_path: Path) -> None:
    """Each step is told as it begins and ends, and the pipeline is shown whole afterwards."""
    remit, file, model = works

    said = remit("pipeline", "run", file, "--space", "s", "--model", model, "--sandbox", "none")

    assert said.code == 0
    assert [line.split() for line in said.out.splitlines()[:-1]] == [
        ["write", "chat", "running"], ["write", "chat", "done"],
        ["judge", "review", "running"], ["judge", "review", "done"],
    ]  # fmt: skip
    assert said.out.endswith("is done: 2 of 2 steps done\n")
    assert (tmp_path / "wt" / "notes.md").read_text() == "notes"
    (listed,) = remit("pipeline", "list", "--json").json
    shown = remit("pipeline", "show", listed["id"])
    assert "The notes are written." in shown.out
    assert remit("pipeline", "show", listed["id"], "--json").json == listed
    over = remit("pipeline", "resume", listed["id"], "--model", model, "--sandbox", "none")
    assert over.code == 2
    assert "is done" in over.err


def test_a_failed_step_is_tried_anew(works: tuple[Remit, Path, str], tmp_path: Path) -> None:
    """A pipeline that failed ends with 1; a retry runs what failed and what waited for it."""
    remit, file, model = works
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT.replace('say = "They are fine."', 'fail = "the model is down"'))
    run = ("--model", model, "--sandbox", "none", "--json")

    failed = remit("pipeline", "run", file, "--space", "s", *run)

    assert failed.code == 1
    record = failed.lines[-1]
    assert (record["state"], [s["state"] for s in record["steps"]]) == (
        "failed",
        ["done", "failed"],
    )
    assert "the model is down" in record["steps"][1]["error"]
    script.write_text(SCRIPT)
    again = remit("pipeline", "retry", record["id"], *run)
    assert again.code == 0
    assert [line["step"] for line in again.lines[:-1]] == ["judge", "judge"]


def test_a_wrong_file_starts_nothing(works: tuple[Remit, Path, str]) -> None:
    """Problems of the file, an unknown space and a missing model are told before all else."""
    remit, file, model = works
    text = file.read_text()
    file.write_text(text.replace('"chat"', '"chatt"'))
    assert (
        "step-mode-unknown" in remit("pipeline", "run", file, "--space", "s", "--model", model).err
    )
    file.write_text(text)
    assert "no model" in remit("pipeline", "run", file, "--space", "s").err
    assert (
        "did you mean `s`" in remit("pipeline", "run", file, "--space", "ss", "--model", model).err
    )
    assert remit("pipeline", "list", "--json").json == []


def test_a_cancelled_pipeline_stays_so(works: tuple[Remit, Path, str]) -> None:
    """Only a retry goes on with it."""
    remit, file, model = works
    remit("pipeline", "run", file, "--space", "s", "--model", model, "--sandbox", "none")
    (listed,) = remit("pipeline", "list", "--json").json

    assert remit("pipeline", "cancel", listed["id"], "--json").json["state"] == "done"
    assert "did you mean" in remit("pipeline", "show", listed["id"][:-1]).err
