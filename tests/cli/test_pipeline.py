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
