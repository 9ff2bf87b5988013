"""Filing a plan in ``<worktree>/.remit/plans``, a folder that an agent's own tools may surround.

Every folder is opened relative to the one before it and never through a link, so that nothing in
the worktree can lead the writing elsewhere. A file is written beside its place, brought to disk,
and linked into it: whole or not there, and never over another.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from remit.policy.escape import quoted
from remit.policy.plan import MAX_TEXT
from remit.policy.problems import Problem, RemitError

__all__ = ["FOLDER", "PlanFileError", "file_plan", "read_plan_file"]

#: The folders from the worktree down.
FOLDER = (".remit", "plans")
#: Keeps git from seeing anything in there, this file included.
_IGNORE = b"*\n"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PlanFileError(RemitError):
    """A plan could not be filed; it is stored all the same."""


def file_plan(worktree: str, name: str, text: str) -> str:
    """Write a plan's text to a file of that name and return its path.

    The same text in its place already is as good as written. Raises `PlanFileError`.
    """
    data = text.encode()
    path = os.path.join(worktree, *FOLDER, name)
    if len(data) > MAX_TEXT:
        raise _error("plan-file-size", f"the plan is longer than {MAX_TEXT // 1024} KiB", path)
    try:
        with _worktree(worktree) as root, _folder(root, FOLDER[0]) as own:
            _place(own, ".gitignore", _IGNORE)
            with _folder(own, FOLDER[1]) as plans:
                _place(plans, name, data)
    except FileExistsError as error:
        there = error.filename or name
        raise _error(
            "plan-file-exists",
            f"{quoted(str(there))} is there already with other text",
            path,
            "move it away",
        ) from error
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _error(
                "plan-file-link",
                "a part of the path is a link or no folder",
                path,
                "remove it: plans are never filed through a link",
            ) from error
        what = (error.strerror or str(error)).lower()
        raise _error("plan-file-failed", what, path) from error
    return path


def read_plan_file(worktree: str, name: str) -> str | None:
    """Return the text of a filed plan as it is now, None if it is gone. Raises `PlanFileError`."""
    path = os.path.join(worktree, *FOLDER, name)
    try:
        with _worktree(os.path.dirname(path)) as plans:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=plans)
        with open(fd, "rb") as file:
            data = file.read(MAX_TEXT + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        what = (error.strerror or str(error)).lower()
        raise _unread(path, what) from error
    if len(data) > MAX_TEXT:
        raise _unread(path, f"it is longer than {MAX_TEXT // 1024} KiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _unread(path, "it is no text") from error


def _unread(path: str, what: str) -> PlanFileError:
    hint = "mend it, or remove it: then the plan counts as it was submitted"
    return PlanFileError(
        Problem("plan-file-unread", f"the plan at `{path}` cannot be read: {what}", hint)
    )


def _error(code: str, what: str, path: str, hint: str = "") -> PlanFileError:
    return PlanFileError(Problem(code, f"the plan was not filed at `{path}`: {what}", hint))


@contextmanager
def _worktree(path: str) -> Iterator[int]:
    """Open a folder from the root down, each part without following a link."""
    fd = os.open("/", _DIRECTORY)
    try:
        for part in filter(None, path.split("/")):
            below = os.open(part, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _folder(parent: int, name: str) -> Iterator[int]:
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        pass
    else:
        os.fsync(parent)
    fd = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def _place(folder: int, name: str, data: bytes) -> None:
    """Put a file into a folder unless the same is there; raise `FileExistsError` for another."""
    if _holds(folder, name, data):
        return
    part = f".{name}.{secrets.token_hex(4)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(part, flags, 0o644, dir_fd=folder)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        try:
            # A link, not a rename: a rename would replace what is there.
            os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            # Another process may have filed the same plan a moment before.
            if not _holds(folder, name, data):
                raise FileExistsError(errno.EEXIST, "exists", name) from None
    finally:
        os.unlink(part, dir_fd=folder)
    os.fsync(folder)


def _holds(folder: int, name: str, data: bytes) -> bool:
    """Say whether a file is there with just this text; raise if something else is."""
    try:
        fd = os.open(
            name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
        )
    except FileNotFoundError:
        return False
    try:
        same = stat.S_ISREG(os.fstat(fd).st_mode) and os.read(fd, len(data) + 1) == data
    finally:
        os.close(fd)
    if not same:
        raise FileExistsError(errno.EEXIST, "exists", name)
    return True
