"""Which files there are in a folder: what git knows and does not ignore, else all but `.git`."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress

from remit.harness.tools.desk import Refused
from remit.harness.tools.tree import Spot, Tree
from remit.policy.escape import escape

__all__ = ["files_under"]

#: Seconds for git to answer, and how many files are looked at.
_PATIENCE, _FILES = 20, 200_000


def files_under(tree: Tree, spot: Spot, *, ignored: bool = False) -> Iterator[str]:
    """Yield the files of a folder, from its root on, in the order of their names as told.

    A file yields itself. Links are not followed. What changes meanwhile may be missing.
    """
    with tree.opened(spot) as (fd, real):
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            yield real.name
            return
    known = None if ignored else _known_to_git(tree, real)
    names = _walk(tree, real) if known is None else _of_git(tree, real, known)
    found = sorted(set(names), key=escape)
    if len(found) > _FILES:
        raise Refused(f"`{spot.name}` holds more than {_FILES} files; name a folder", "too-many")
    yield from found


def _of_git(tree: Tree, folder: Spot, known: list[str]) -> Iterator[str]:
    for name in known:
        spot = Spot(folder.root, tuple(name.rstrip("/").split("/")))
        if name.endswith("/"):
            # A repository within: git tells its folder alone.
            yield from _walk(tree, spot)
        elif _is_file(spot.path):
            yield spot.name


def _is_file(path: str) -> bool:
    """A name that is only told: whoever opens it looks again."""
    with suppress(OSError):
        return stat.S_ISREG(os.lstat(path).st_mode)
    return False


def _walk(tree: Tree, folder: Spot) -> Iterator[str]:
    waiting, count = [folder], 0
    while waiting:
        tree.desk.halt()
        here = waiting.pop()
        with suppress(Refused, OSError), tree.opened(here, follow=False) as (fd, _):
            for name in os.listdir(fd):
                spot = Spot(here.root, (*here.names, name))
                with suppress(OSError):
                    mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode) and name != ".git":
                        waiting.append(spot)
                    elif stat.S_ISREG(mode):
                        count += 1
                        yield spot.name
        if count > _FILES:
            return


def _known_to_git(tree: Tree, folder: Spot) -> list[str] | None:
    """Ask git; None where the folder is in no repository. It runs no program of a repository."""
    if folder.root != tree.desk.worktree or not os.path.lexists(f"{folder.root}/.git"):
        return None
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    words = ["git", "--literal-pathspecs", "-C", folder.root]
    words += ["-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"]
    words += ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", folder.path]
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode:
        return None
    return [n for n in os.fsdecode(done.stdout).split("\0") if n]
