from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remit.harness.workspace import OpenSpace, Workspace
from remit.policy.vocabulary import Dial
from tests.harness.loop.driver import Chat
from tests.harness.loop.staged import FEATURE, Runs
from tests.needs import need


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A repository with one commit."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "first"],
    ):
        subprocess.run([need("git"), "-C", str(root), *words], check=True)
    return root


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    home = {"REMIT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "home")}
    (tmp_path / "home").mkdir()
    with Workspace.open(
        create=True, environ=home, host="harness", offers=("remit:present_plan",)
    ) as found:
        yield found


@pytest.fixture
def space(workspace: Workspace, worktree: Path) -> OpenSpace:
    return workspace.create_space("s", by="operator", dial=Dial.AUTO, worktree=str(worktree))


@pytest.fixture
def chat(space: OpenSpace, tmp_path: Path) -> Chat:
    return Chat(space, tmp_path)


@pytest.fixture
def make(tmp_path: Path, worktree: Path, request: pytest.FixtureRequest) -> Callable[..., Runs]:
    """Make a space in a staged mode of a text, with its templates."""

    def made(text: str = FEATURE, **files: str) -> Runs:
        templates = files or {"spec": "# Goal of {{run.id}}\n"}
        runs = Runs(tmp_path / "home", worktree, text, **templates)
        request.addfinalizer(runs.opened.close)
        return runs

    return made
