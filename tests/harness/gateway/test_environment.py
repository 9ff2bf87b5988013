"""What an upstream is started with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from remit.harness.gateway.environment import upstream_environment
from tests.needs import need


def test_ours_stays() -> None:
    """Everything of the operator's is passed but what is remit's, and git is told to be still."""
    given = {"PATH": "/bin", "TOKEN": "t", "REMIT_OPERATOR": "x", "REMIT_DB": "y"}
    assert upstream_environment(given) == {
        "PATH": "/bin",
        "TOKEN": "t",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": "false",
        "GIT_CONFIG_KEY_1": "safe.bareRepository",
        "GIT_CONFIG_VALUE_1": "explicit",
    }


@pytest.mark.parametrize(("count", "at"), [("2", 2), ("0", 0), ("", 0), ("x", 0)])
def test_appended(count: str, at: int) -> None:
    """Entries that are there already stay; ours come after them."""
    made = upstream_environment({"GIT_CONFIG_COUNT": count})
    assert made[f"GIT_CONFIG_KEY_{at}"] == "core.fsmonitor"
    assert made["GIT_CONFIG_COUNT"] == str(at + 2)


@pytest.mark.parametrize("key", ["diff.external", "diff.o.dd.command", "diff.o.dd.textconv"])
def test_helpers(key: str, tmp_path: Path) -> None:
    """A program that a repository names for differences is not run; the difference is shown."""
    need("git")
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def git(*args: str, env: dict[str, str] = own) -> str:
        command = ("git", *args)
        done = subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)
        return done.stdout.decode()

    git("init", "-q")
    (tmp_path / ".gitattributes").write_text("a.txt diff=o.dd\n")
    (tmp_path / "a.txt").write_text("one\n")
    git("add", ".")
    (tmp_path / "a.txt").write_text("two\n")
    git("config", key, f"touch {tmp_path}/ran; :")
    made = upstream_environment({**own, "GIT_EXTERNAL_DIFF": "false"}, [tmp_path, tmp_path / "no"])
    assert "-one\n+two" in git("diff", env=made)
    assert not (tmp_path / "ran").exists()
    git("diff")
    assert (tmp_path / "ran").exists(), "without that environment the program runs"
