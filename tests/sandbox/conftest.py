"""Boxes for tests: a worktree and a home of their own, and a ceiling by its refusals."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit.harness.sandbox.box import Box, box, choose
from remit.harness.sandbox.survey import survey
from remit.policy.ceiling import Ceiling
from tests.needs import need

MakeBox = Callable[..., Box]


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A folder with a repository and a file."""
    root = tmp_path / "worktree"
    root.mkdir()
    subprocess.run([need("git"), "init", "-q", str(root)], check=True)
    (root / "file").write_text("content\n")
    return root


@pytest.fixture
def make_box(worktree: Path, tmp_path: Path) -> MakeBox:
    """Make a box over the worktree: `make_box("worktree.write", backend=…)` refuses these."""
    home = tmp_path / "home"
    home.mkdir()

    def make(
        *refuse: str, backend: str = "bubblewrap", env: dict[str, str] | None = None, **more: Any
    ) -> Box:
        if backend == "bubblewrap":
            need("bwrap", debian="bubblewrap")
        found = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", **(env or {})}
        ground = survey(worktree, ("sh",), found, **more)
        return box(Ceiling(refuse=refuse), ground, choose(backend))

    return make
