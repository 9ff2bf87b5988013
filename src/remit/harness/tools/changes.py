"""Changing files: all of what a call names, or nothing.

New bytes are written beside their place, flushed, and renamed into it. What was there is kept under
another name until all is done, so that a failure half way puts back the very files.
A file that is not as it was read is left alone.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
from collections.abc import Iterable
from contextlib import ExitStack, suppress

from attrs import define, field, frozen

from remit.harness.tools.desk import Refused
from remit.harness.tools.files import MOST, Snapshot, stamp
from remit.harness.tools.tree import Spot, Tree

__all__ = ["Change", "apply"]

#: Calls of one step may run at once; between looking and renaming one of them alone acts.
_TURN = threading.Lock()
#: How a folder says that it holds no hard links, or none of ours.
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


@frozen
class Change:
    """One file: what it was, None for none, and what it is to be, None for none."""

    spot: Spot
    before: Snapshot | None
    after: bytes | None
    #: Of a new file; one that is there keeps its own.
    mode: int | None = None


@define
class _Step:
    change: Change
    folder: int
    new: str | None = None
    kept: str | None = None
    done: bool = False

    @property
    def name(self) -> str:
        return self.change.spot.names[-1]


@define
class _Work:
    steps: list[_Step] = field(factory=list)
    made: list[Spot] = field(factory=list)


def apply(tree: Tree, changes: Iterable[Change]) -> None:
    """Make all changes, or none; raises `Refused` where a file is not as it was read."""
    work = _Work()
    with ExitStack() as stack, _TURN:
        done = False
        try:
            for change in changes:
                if change.after is not None and len(change.after) > MOST:
                    raise Refused(
                        f"`{change.spot.name}` would have more than {MOST} bytes", "too-large"
                    )
                made = work.made if change.before is None else None
                folder = stack.enter_context(tree.folder(change.spot, made=made))
                work.steps.append(_Step(change, folder))
                _stage(work.steps[-1])
            tree.desk.halt()
            for step in work.steps:
                _perform(step, whole=len(work.steps) == 1)
            done = True
        finally:
            if not done:
                for step in reversed(work.steps):
                    _undo(step)
            _tidy(tree, work, done)


def _stage(step: _Step) -> None:
    """Write the new bytes beside their place."""
    change = step.change
    if change.after is None:
        return
    step.new = f".remit-{secrets.token_hex(8)}.tmp"
    mode = change.before.mode if change.before else change.mode
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(step.new, flags, 0o666, dir_fd=step.folder)
    with os.fdopen(fd, "wb") as file:
        file.write(change.after)
        file.flush()
        if mode is not None:
            os.fchmod(fd, mode)
        os.fsync(fd)


def _perform(step: _Step, *, whole: bool) -> None:
    """Put one change in its place, if that is as it was read."""
    change, name, folder = step.change, step.name, step.folder
    if not _as_read(step):
        said = "is there already" if change.before is None else "was changed since it was read"
        raise Refused(f"`{change.spot.name}` {said}", "changed")
    if change.before is not None and not whole:
        _keep(step)
    if step.new is None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
    elif change.before is not None:
        os.replace(step.new, name, src_dir_fd=folder, dst_dir_fd=folder)
        step.new = None
    else:
        # A link, unlike a rename, replaces nothing that came to be there meanwhile.
        try:
            os.link(step.new, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.rename(step.new, name, src_dir_fd=folder, dst_dir_fd=folder)
            step.new = None
    step.done = True


def _keep(step: _Step) -> None:
    """Keep what is there under another name, until all is done."""
    kept = f".remit-{secrets.token_hex(8)}.old"
    at = {"src_dir_fd": step.folder, "dst_dir_fd": step.folder}
    try:
        os.link(step.name, kept, **at, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.rename(step.name, kept, **at)
    step.kept = kept


def _as_read(step: _Step) -> bool:
    before = step.change.before
    try:
        found = os.stat(step.name, dir_fd=step.folder, follow_symlinks=False)
    except FileNotFoundError:
        return before is None
    return before is not None and stat.S_ISREG(found.st_mode) and stamp(found) == before.stamp


def _undo(step: _Step) -> None:
    with suppress(OSError):
        if step.kept is not None:
            os.replace(step.kept, step.name, src_dir_fd=step.folder, dst_dir_fd=step.folder)
            step.kept = None
        elif step.done and step.change.before is None:
            os.unlink(step.name, dir_fd=step.folder)


def _tidy(tree: Tree, work: _Work, done: bool) -> None:
    for step in work.steps:
        for name in (step.new, step.kept):
            if name is not None:
                with suppress(OSError):
                    os.unlink(name, dir_fd=step.folder)
        with suppress(OSError):
            os.fsync(step.folder)
    if not done:
        for spot in reversed(work.made):
            with suppress(OSError, Refused), tree.folder(spot) as folder:
                os.rmdir(spot.names[-1], dir_fd=folder)
