"""Facts of a real machine: links, repositories and patterns as they are when a call is judged."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from remit.harness.facts import gather, start
from remit.plugins.classifiers import classify
from remit.policy.projection import Host
from remit.policy.tools import Call, CallEffects, Tool

SHELL = Tool("s", "shell", classify="shell")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a folder, a file and a link that leads out of it."""
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("x\n")
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to("src")
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def _judge(tree: Path, command: str) -> CallEffects:
    call = Call("shell", {"command": command})
    facts = gather(call, SHELL, start(str(tree), str(tree), Host("test")))
    return classify(call, SHELL, facts)


def _config(tree: Path, key: str, value: str) -> None:
    subprocess.run(["git", "-C", tree, "config", key, value], check=True)


@pytest.mark.parametrize(
    ("command", "effects"),
    [
        ("touch a", {"worktree.write"}),
        ("touch in/a", {"worktree.write"}),
        ("touch out/a", {"file.write_outside"}),
        ("cd out && touch a", {"file.write_outside"}),
        ("cd in && touch ../a", {"worktree.write"}),
        ("rm src/*.py", {"worktree.write", "file.delete"}),
        ("sed -n 1p src/*", set()),
        ("git status", set()),
        ("git log --oneline | head", set()),
        ("cat src/a.py in/a.py", set()),
    ],
)
def test_understood(tree: Path, command: str, effects: set[str]) -> None:
    """With the facts of this machine an ordinary command is understood in full."""
    found = _judge(tree, command)

    assert (set(found.effects), found.opaque) == (effects, False)


def test_helper(tree: Path) -> None:
    """A program that the repository's configuration names runs with a plain `git status`."""
    _config(tree, "core.fsmonitor", "./monitor")

    assert _judge(tree, "git status").effects == {"process.spawn"}
    assert _judge(tree, "cd src && git status").effects == {"process.spawn"}
    assert _judge(tree, "git -C src diff").effects == {"process.spawn"}
    assert not _judge(tree, "git branch --list").effects


def test_included(tree: Path) -> None:
    """Configuration that is included counts as the repository's own."""
    (tree / "more").write_text("[core]\n\tpager = ./pager\n")
    _config(tree, "include.path", str(tree / "more"))

    assert "process.spawn" in _judge(tree, "git log").effects


def test_hook(tree: Path) -> None:
    """A hook counts where it would run: present, executable and no sample."""
    hook = tree / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")

    assert "process.spawn" not in _judge(tree, "git commit -m x").effects

    hook.chmod(0o755)

    assert "process.spawn" in _judge(tree, "git commit -m x").effects


def test_hooks_elsewhere(tree: Path) -> None:
    """Hooks are looked for where the configuration says that they are."""
    (tree / "hooks").mkdir()
    (tree / "hooks" / "pre-push").write_text("#!/bin/sh\n")
    (tree / "hooks" / "pre-push").chmod(0o755)
    _config(tree, "core.hooksPath", "hooks")

    assert "process.spawn" in _judge(tree, "git push").effects
    assert "process.spawn" not in _judge(tree, "git commit -m x").effects


def test_pattern(tree: Path) -> None:
    """A pattern is what it matches: a name that is an option acts as one."""
    assert not _judge(tree, "cd src && sort *").effects

    (tree / "src" / "-oout").write_text("")

    assert _judge(tree, "cd src && sort *").effects == {"worktree.write"}


def test_no_such_folder(tmp_path: Path) -> None:
    """A worktree that does not exist is judged as an empty one."""
    for command in ("git status", "ls *", "cat a", "cd sub && ls"):
        found = _judge(tmp_path / "none", command)
        assert (set(found.effects), found.opaque) == (set(), False), command
