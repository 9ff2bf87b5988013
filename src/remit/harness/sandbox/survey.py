"""Surveying: what of this machine a sandbox stands on, looked at just before it starts."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import remit
from remit.harness.location import Location, protected
from remit.policy.mounts import Mounts
from remit.policy.places import Ground, Kind, Place

__all__ = ["ground", "installation_of", "places", "repository_of", "survey"]

_SHEBANG = 256


def survey(
    worktree: str | os.PathLike[str] | None,
    command: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    *,
    scratch: str | None = None,
    control: Iterable[str] = (),
    protected: Iterable[str] = (),
    others: Iterable[str] = (),
    writable: Iterable[str] = (),
    keep: Iterable[str] = (),
    home: str | os.PathLike[str] | None = None,
) -> Ground:
    """Look at the host for one space and one command.

    ``control`` names the operator's token and database, ``protected`` what is read-only whatever
    the posture, ``others`` the worktrees of other spaces, ``writable`` folders that the operator
    opened, ``keep`` names of the environment to let through. ``home`` is the user's, else what the
    environment says.
    """
    environment = os.environ if environment is None else environment
    root = os.path.realpath(worktree) if worktree is not None else None
    git, repository = repository_of(root) if root else (None, ())
    resolver = os.path.realpath("/etc/resolv.conf")
    return Ground(
        worktree=root,
        home=os.path.realpath(home or environment.get("HOME") or Path.home()),
        scratch=os.path.realpath(scratch) if scratch else None,
        control=tuple(map(_absolute, control)),
        protected=tuple(map(_absolute, protected)),
        installation=(str(Path(remit.__file__).resolve().parent),),
        visible=(
            *installation_of(command, environment.get("PATH", "")),
            *installation_of((sys.executable,), ""),
            resolver,
        ),
        others=tuple(p for p in map(os.path.realpath, others) if p != root),
        git=git,
        repository=repository,
        writable=tuple(map(os.path.realpath, writable)),
        names=environment.keys(),
        keep=keep,
    )


def ground(
    workspace: Location,
    worktree: str | os.PathLike[str] | None,
    command: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    **more: Any,
) -> Ground:
    """Survey for a workspace: its operator's files are hidden, what it protects is read-only.

    ``more`` is what `survey` takes besides. The command is the operator's, never a model's: where
    it is installed is shown.
    """
    root = os.path.realpath(worktree) if worktree is not None else None
    files = [str(workspace.token_file)]
    if "://" not in workspace.db:
        files += [workspace.db + suffix for suffix in ("", "-wal", "-shm", "-journal", ".anchor")]
    return survey(
        worktree,
        command,
        environment,
        control=files,
        protected=protected(workspace, root),
        home=workspace.home,
        **more,
    )


def _absolute(path: str) -> str:
    """Resolve the folder of a path; the file itself may be a link, and is hidden as one."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def places(mounts: Mounts) -> dict[str, Place]:
    """Find out what lies at each path that the mounts ask about."""
    return {path: _place(path) for path in mounts.asked()}


def _place(path: str) -> Place:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        # Most of the places that are known are missing, and resolving one costs ten times as much.
        return Place(Kind.MISSING, path)
    kind = Kind.FOLDER if stat.S_ISDIR(mode) else Kind.FILE
    return Place(kind, os.path.realpath(path), os.access(path, os.W_OK))


def installation_of(command: tuple[str, ...], search: str) -> tuple[str, ...]:
    """Return the folders that a command is installed in, its interpreters' among them."""
    if not command:
        return ()
    found = shutil.which(command[0], path=search or None)
    out: dict[str, None] = {}
    _installed(found or command[0], out, 4)
    for argument in command[1:]:
        # `node server.js`, `python tool.py`: the program is the argument.
        if os.path.isabs(argument) and os.path.isfile(argument):
            _installed(argument, out, 2)
    return tuple(out)


def _installed(path: str, out: dict[str, None], depth: int) -> None:
    seen = path
    for _ in range(8):
        _add_prefix(seen, out)
        if not os.path.islink(seen):
            break
        seen = os.path.normpath(os.path.join(os.path.dirname(seen), os.readlink(seen)))
    if depth and (interpreter := _interpreter(seen)):
        _installed(interpreter, out, depth - 1)


def _add_prefix(path: str, out: dict[str, None]) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    name = os.path.basename(folder)
    prefix = os.path.dirname(folder) if name in ("bin", "sbin", "Scripts", ".bin") else folder
    if prefix in ("/", "/tmp", "/var/tmp", "/run", os.path.expanduser("~")):
        # A whole shared folder is no installation: show the program alone.
        out[os.path.realpath(path)] = None
        return
    out[os.path.realpath(prefix)] = None
    try:
        config = Path(prefix, "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in config.splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and os.path.isabs(value.strip()):
            out[os.path.realpath(os.path.dirname(value.strip()))] = None


def _interpreter(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            line = file.read(_SHEBANG).split(b"\n")[0]
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    words = os.fsdecode(line[2:]).split()
    if words and os.path.basename(words[0]) == "env":
        named = next((w for w in words[1:] if not w.startswith("-") and "=" not in w), "")
        return shutil.which(named)
    return words[0] if words else None


def repository_of(worktree: str) -> tuple[str | None, tuple[str, ...]]:
    """Return where a worktree's repository data lies, and such folders outside the worktree.

    A `.git` file can name any folder; only a repository that names this worktree in return is
    taken for its own, because what is returned may be written.
    """
    own = os.path.join(worktree, ".git")
    if os.path.islink(own) or not os.path.isfile(own):
        return own, ()
    data = _line(own)
    if not data.startswith("gitdir:"):
        return own, ()
    linked = os.path.realpath(os.path.join(worktree, data.removeprefix("gitdir:").strip()))
    common = os.path.realpath(os.path.join(linked, _line(os.path.join(linked, "commondir")) or "."))
    back = _line(os.path.join(linked, "gitdir"))
    if (
        os.path.dirname(linked) != os.path.join(common, "worktrees")
        or not back
        or os.path.realpath(os.path.join(linked, back)) != own
    ):
        return own, ()
    return own, (common, linked)


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(4096).split("\n")[0].strip()
    except OSError:
        return ""
