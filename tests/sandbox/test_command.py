"""`remit sandbox` and `remit exec` as commands: keys, exit codes, bad input."""

import json
from pathlib import Path
from typing import Any

import pytest

from remit.cli.app import app
from remit.cli.failures import run
from tests.needs import need

KEYS = {
    "mode", "worktree", "posture", "network", "mounts", "environment", "namespaces", "protected",
    "effects_held", "advisory", "backend", "holds", "cwd", "argv", "filter",
}  # fmt: skip


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A folder to work in."""
    root = tmp_path / "tree"
    root.mkdir()
    return root


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_it_prints_the_mounts_and_the_exact_command(
    worktree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stable keys, and what is not held is said."""
    need("bwrap", debian="bubblewrap")
    assert run(app, ["sandbox", "plan", "--worktree", str(worktree), "--json", "--", "git"]) == 0
    value = shown(capsys)
    assert set(value) == KEYS
    assert value["backend"] == "bubblewrap"
    assert value["posture"] == "read-only"
    assert value["argv"][0] == "bwrap"
    assert value["argv"][-2:] == ["--", "git"]
    row = next(m for m in value["mounts"] if m["path"] == str(worktree))
    assert set(row) == {"path", "access", "why", "kind", "placeholder"}
    assert row["access"] == "ro"
    assert "worktree.write" in value["effects_held"]
    assert "git.push" in [a["what"] for a in value["advisory"]]


def test_none_is_told_as_advisory(worktree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing holds the mounts then, and the answer says so."""
    argv = ["sandbox", "plan", "--worktree", str(worktree), "--backend", "none", "--json"]
    assert run(app, argv) == 0
    value = shown(capsys)
    assert value["holds"] is False
    assert "sandbox mounts" in [a["what"] for a in value["advisory"]]


def test_a_missing_backend_is_a_failure_of_the_machine(
    worktree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mounts are shown all the same, and how to have them held."""
    argv = ["sandbox", "plan", "--worktree", str(worktree), "--backend", "seatbelt", "--json"]
    assert run(app, argv) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["argv"] is None
    assert "does not work here" in captured.err


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["sandbox", "plna", "--worktree", "."], 2, "did you mean `plan`"),
        (["sandbox", "plan", "--worktree", "/no/such"], 2, "there is no folder"),
        (["sandbox", "plan", "--worktree", ".", "--backend", "x"], 2, "no sandbox is called `x`"),
        (["exec", "--mode", "plna", "--worktree", ".", "--", "true"], 125, "did you mean `plan`"),
        (["exec", "--mode", "plan", "--", "true"], 125, "there is no worktree"),
        (["exec", "--worktree", ".", "--", "true"], 125, "`--mode` or `--space`"),
        (["exec", "--mode", "plan", "--worktree", ".", "--", "no-such"], 127, "is not found"),
        (["exec", "--space", "x", "--", "true"], 125, "no database"),
    ],
)
def test_bad_input_is_one_message_and_the_right_code(
    argv: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """125 to 127 are ours where a command's own code is passed on."""
    if argv[0] == "exec":
        need("bwrap", debian="bubblewrap")
    assert run(app, argv) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_doctor_tells_each_sandbox_and_its_holes(capsys: pytest.CaptureFixture[str]) -> None:
    """What bubblewrap does not close is told where people look."""
    need("bwrap", debian="bubblewrap")
    run(app, ["doctor", "--json"])
    found = {f["part"]: f for f in json.loads(capsys.readouterr().out)}
    told = found["sandbox bubblewrap"]["found"]
    assert "chosen" in told
    assert "a hard link made beforehand" in told
    assert "a FIFO in the tree" in told


def test_a_spaces_overlay_narrows_its_sandbox(
    worktree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What holds is what every host has in force: the mode and the space's overlay."""
    need("bwrap", debian="bubblewrap")
    overlay = tmp_path / "overlay.toml"
    overlay.write_text('[ceiling]\nposture = "read-only"\n')
    assert run(app, ["init"]) == 0
    token = next((tmp_path / ".remit-home").glob("*.operator")).read_text().strip()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMIT_OPERATOR", token)
        assert run(app, ["space", "create", "s", "--worktree", str(worktree)]) == 0
        script = ["exec", "--space", "s", "--", "sh", "-c", "echo x > made 2>/dev/null"]
        assert run(app, script) == 0
        (worktree / "made").unlink()
        assert run(app, ["space", "overlay", "s", str(overlay)]) == 0
        assert run(app, script) != 0
    assert not (worktree / "made").exists()
