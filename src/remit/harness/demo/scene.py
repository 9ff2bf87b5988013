"""The scene: a scratch folder with a repository, a remote, a clone a space, and a workspace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from attrs import frozen

from remit.harness.location import Location, init, locate
from remit.harness.store import OPERATOR, Store
from remit.policy.problems import Problem, RemitError
from remit.policy.vocabulary import SpaceKind

__all__ = ["SERVER", "DemoError", "Disk", "Scene", "build"]

#: The server's name in the demo, and the catalogue that declares its tools.
SERVER, CATALOG = "git", "mcp-git"
_WHO = {
    "GIT_AUTHOR_NAME": "remit demo",
    "GIT_AUTHOR_EMAIL": "demo@remit.invalid",
    "GIT_COMMITTER_NAME": "remit demo",
    "GIT_COMMITTER_EMAIL": "demo@remit.invalid",
}
_HISTORY = (
    ("README.md", "# Ferry\n\nTimetables of a small ferry.\n", "Begin with a name"),
    ("timetable.txt", "07:00 north\n07:40 south\n", "Add the morning boats"),
    ("timetable.txt", "07:00 north\n07:40 south\n17:10 north\n", "Add the evening boat"),
)


class DemoError(RemitError):
    """The demo cannot be played here: a program is missing, or the folder cannot be used."""

    of_machine = True


@frozen
class Disk:
    """What git finds in a worktree: refs, what differs from the last commit, stashes, settings."""

    head: str
    refs: str
    status: str
    stashes: str
    settings: str


@frozen
class Scene:
    """Where everything is; ``env`` is what every program here is started with."""

    folder: Path
    workspace: Location
    env: Mapping[str, str]
    base: str
    spaces: tuple[str, ...]

    def worktree(self, space: str) -> Path:
        """Return the clone that a space works in."""
        return self.folder / space

    @property
    def remote(self) -> Path:
        """The bare repository that the clones were made from."""
        return self.folder / "remote.git"

    def git(self, where: Path, *args: str) -> str:
        """Run git and return what it says."""
        return _run(("git", "-C", str(where), *args), self.env)

    def disk(self, space: str) -> Disk:
        """Return what git finds in the worktree of a space now."""
        where = self.worktree(space)
        return Disk(
            self.git(where, "rev-parse", "HEAD"),
            self.git(where, "for-each-ref", "--format=%(refname) %(objectname)"),
            self.git(where, "status", "--porcelain", "--untracked-files=all"),
            self.git(where, "stash", "list"),
            self.git(where, "config", "--local", "--list"),
        )

    def commits(self, where: Path, since: str, ref: str = "HEAD") -> list[str]:
        """Return the commits after one, newest first, a line each."""
        return self.git(where, "log", "--format=%h %s", f"{since}..{ref}").splitlines()

    def operator(self, *args: str) -> str:
        """Run a command of remit as the operator, in a process of its own; return what it says."""
        path = self.workspace.token_file
        token = {"REMIT_OPERATOR": path.read_text().strip()} if path.exists() else {}
        command = (sys.executable, "-P", "-m", "remit", *args)
        return _run(command, {**self.env, **token})

    def gateway(self, space: str) -> list[str]:
        """Return the command line of a gateway for a space, in front of the real git server."""
        return [
            *("-P", "-m", "remit", "gateway", "--space", space),
            *("--config", str(self.workspace.config), "--db", self.workspace.db),
            *("--server", f"{SERVER}={CATALOG}", "--"),
            *(sys.executable, "-P", "-m", "mcp_server_git"),
            *("--repository", str(self.worktree(space))),
        ]


def build(
    folder: Path, spaces: Mapping[str, tuple[str, SpaceKind]], environ: Mapping[str, str]
) -> Scene:
    """Make the scene in an empty folder; ``spaces`` gives each its mode and kind."""
    home = folder / "workspace"
    env = {
        **{k: v for k, v in environ.items() if not k.startswith(("GIT_", "REMIT_"))},
        **_WHO,
        # Nobody's settings, hooks or helpers: the same story on every machine.
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": str(folder),
        "REMIT_HOME": str(home),
        "NO_COLOR": "1",
    }
    base = _repository(folder, list(spaces), env)
    home.mkdir(mode=0o700)
    settings = f'catalogs = ["{CATALOG}"]\n\n[servers]\n{SERVER} = "{CATALOG}"\n'
    (home / "remit.toml").write_text(settings)
    workspace, now = locate(env), datetime.now(UTC)
    init(workspace, now=now)
    with Store.open(workspace.db) as store:
        for id, (mode, kind) in spaces.items():
            where = str(folder / id)
            store.spaces.create(id, mode, by=OPERATOR, now=now, kind=kind, worktree=where)
    return Scene(folder, workspace, env, base, tuple(spaces))


def _repository(folder: Path, clones: Sequence[str], env: Mapping[str, str]) -> str:
    """Make a bare remote with history and clones of it; return the last commit."""
    first, remote = folder / "first", folder / "remote.git"
    _run(("git", "init", "-q", "-b", "main", str(first)), env)
    for name, text, message in _HISTORY:
        (first / name).write_text(text)
        _run(("git", "-C", str(first), "add", name), env)
        _run(("git", "-C", str(first), "commit", "-q", "-m", message), env)
    _run(("git", "clone", "-q", "--bare", str(first), str(remote)), env)
    shutil.rmtree(first)
    for name in clones:
        _run(("git", "clone", "-q", str(remote), str(folder / name)), env)
    return _run(("git", "-C", str(remote), "rev-parse", "HEAD"), env)


def _run(command: Sequence[str], env: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        name = " ".join(Path(part).name if i == 0 else part for i, part in enumerate(command))
        raise DemoError(Problem("demo-command", f"`{name}` exited with {done.returncode}: {said}"))
    return done.stdout.strip()
