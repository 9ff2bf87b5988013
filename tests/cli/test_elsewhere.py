"""Somebody who looked where no workspace is, is told where one is."""

from pathlib import Path

import pytest

from tests.cli.conftest import Remit


def test_another_home(
    remit: Remit, workspace: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A workspace that `REMIT_HOME` leads to is told with the options that name it."""
    db, config = workspace["db"], workspace["config"]

    said = remit("space", "list", "--db", tmp_path / "no.db")
    other = remit("gateway", "--space", "desk", "--db", tmp_path / "no.db", "--", "true")

    assert said.code == 3
    assert f"there is one by `REMIT_HOME`: `--db {db}`" in said.err
    assert "counts here" not in said.err
    assert f"there is one by `REMIT_HOME`: `--db {db} --config {config}`" in other.err
    assert "neither `REMIT_HOME` nor `HOME` counts here" in other.err


def test_that_of_home(remit: Remit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With `REMIT_HOME` set, the workspace that `HOME` leads to is found too."""
    home = tmp_path / "you"
    db = home / ".local/share/remit/remit.db"
    monkeypatch.setenv("HOME", str(home))
    config = home / ".config/remit"
    config.mkdir(parents=True)
    assert remit("init", "--db", db, "--config", config).code == 0

    said = remit("space", "list")

    assert f"there is one by `HOME`: `--db {db} --config {config}`" in said.err


def test_nowhere(remit: Remit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where there is none at all, nothing but how to make one is said."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("pwd.getpwuid", lambda _: type("Nobody", (), {"pw_dir": "/nonexistent"}))

    assert remit("space", "list").err.endswith("hint: `remit init` makes one\n")
