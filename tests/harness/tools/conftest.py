from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit.harness.location import locate, protected
from remit.harness.tools import TOOLS, Desk, Result
from tests.needs import need

Use = Callable[..., Result]


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A repository with a few files, beside a folder that is nobody's business."""
    root = tmp_path / "worktree"
    root.mkdir()
    subprocess.run([need("git"), "init", "-q", str(root)], check=True)
    (root / ".gitignore").write_text("built/\n")
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text("def hello():\n    return 1\n")
    (root / "built").mkdir()
    (root / "built" / "out.txt").write_text("two\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept.txt").write_text("outside\n")
    return root


@pytest.fixture
def desk(worktree: Path, tmp_path: Path) -> Desk:
    """A desk as a host sets it: protected is what the workspace protects, secret its token."""
    (tmp_path / "scratch").mkdir()
    workspace = locate({"HOME": str(tmp_path / "home"), "REMIT_HOME": str(tmp_path / "remit")})
    return Desk(
        str(worktree),
        protected(workspace, str(worktree)),
        (str(workspace.token_file), str(worktree / "hidden.db")),
        scratch=str(tmp_path / "scratch"),
    )


@pytest.fixture
def use(desk: Desk) -> Use:
    """Call a tool by its name."""

    def call(name: str, /, **args: Any) -> Result:
        return TOOLS[name].run(args, desk)

    return call


@pytest.fixture
def state(tmp_path: Path) -> Callable[[], dict[str, bytes]]:
    """Everything below the test's folder: names, modes, links and bytes."""

    def look() -> dict[str, bytes]:
        return {
            str(path.relative_to(tmp_path)): b"%o " % path.lstat().st_mode
            + (
                str(path.readlink()).encode()
                if path.is_symlink()
                else path.read_bytes()
                if path.is_file()
                else b""
            )
            for path in tmp_path.rglob("*")
        }

    return look
