"""Placeholders: empty folders in the place of protected paths that are missing.

A mount needs something to be mounted on, and a sandbox must not be able to make what an agent host
or git would then obey. The folders stand as long as any sandbox needs them: each holds a shared
lock on them, and the last one takes them away, if nothing was put there meanwhile.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from remit.policy.mounts import Mounts

__all__ = ["appeared", "held"]


@contextmanager
def held(mounts: Mounts) -> Iterator[None]:
    """Make the placeholders of settled mounts for the time of the context."""
    with ExitStack() as stack:
        for mount in mounts.mounts:
            if mount.placeholder:
                stack.enter_context(_placeholder(mount.path))
        yield


@contextmanager
def _placeholder(path: str) -> Iterator[None]:
    fd = _locked(path)
    try:
        yield
    finally:
        # Only whoever holds it alone may take it away; it is not taken from under another.
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rmdir(path)
        os.close(fd)


def _locked(path: str) -> int:
    while True:
        with suppress(FileExistsError):
            os.mkdir(path, 0o755)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.flock(fd, fcntl.LOCK_SH)
        with suppress(OSError):
            if os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False)):
                return fd
        # Another sandbox took it away between the two.
        os.close(fd)


def appeared(mounts: Mounts) -> tuple[str, ...]:
    """Return the protected paths that no mount could keep from being made, and that are there."""
    return tuple(p for p in mounts.watched if os.path.lexists(p))
