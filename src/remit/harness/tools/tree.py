"""Paths of a worktree, walked by descriptors, so that what was looked at is what is used.

A name is opened in its folder, never by a whole path, and a link is never followed by the kernel.
Reading follows links by itself as long as they stay within. Writing follows none: what a call was
judged by is then what it writes, however links change in between.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from posixpath import normpath

from attrs import frozen

from remit.harness.tools.desk import Desk, Refused
from remit.plugins.places import Ground, Place
from remit.policy.confine import GIT_HELPERS
from remit.policy.escape import quoted
from remit.policy.tools import Facts

__all__ = ["Spot", "Tree"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: A FIFO must not make a reader wait.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LINKS = 40


@frozen
class Spot:
    """A path that may be touched: the root that holds it, and the names from there on."""

    root: str
    names: tuple[str, ...]

    @property
    def path(self) -> str:
        """The absolute path."""
        return "/".join((self.root, *self.names))

    @property
    def name(self) -> str:
        """The path as it is told: from its root on."""
        return "/".join(self.names) or "."


class Tree:
    """The folders that one call may touch: the worktree, and for reading the scratch folder."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._ground = Ground(
            Facts(
                worktree=desk.worktree,
                protected=desk.protected,
                hidden=desk.secret,
                plain=True,
                links={p: os.path.realpath(p) for p in (*desk.protected, *desk.secret)},
            )
        )
        self._kept = {i: p for p in desk.protected if (i := _identity(p))}
        self._hidden = {i: p for p in desk.secret if (i := _identity(p))}

    def spot(self, path: str, *, writing: bool = False) -> Spot:
        """Return where a path lies by its spelling; raises `Refused` if that is out of bounds."""
        if path in ("", "-") or "\0" in path:
            raise Refused(f"{quoted(path)} is no path", "bad-path")
        if path.startswith("~"):
            raise Refused(
                f"{quoted(path)} begins with `~`; write the whole path, or `./~…` for such a name",
                "bad-path",
            )
        names = path.split("/")
        first = next((i for i, n in enumerate(names) if n not in ("", ".", "..")), len(names))
        if ".." in names[first:]:
            # After a link it would mean another folder than it seems to.
            raise Refused(f"write {quoted(path)} without `..` after a name", "bad-path")
        whole = normpath(os.path.join(self.desk.folder, path))
        roots = [self.desk.worktree]
        if self.desk.scratch and not writing:
            roots.append(self.desk.scratch)
        for root in roots:
            if whole == root or whole.startswith(f"{root}/"):
                spot = Spot(root, tuple(filter(None, whole[len(root) :].split("/"))))
                if writing:
                    self._check(spot)
                return spot
        raise Refused(
            f"{quoted(path, 200)} lies outside the worktree `{self.desk.worktree}`", "outside"
        )

    def place(self, spot: Spot) -> Place:
        """Return what is known of a place by its name."""
        found = self._ground.place(spot.path, None)
        assert found is not None, "the path is absolute"
        return found

    @contextmanager
    def folder(self, spot: Spot, *, made: list[Spot] | None = None) -> Iterator[int]:
        """Open the folder that holds a spot for writing; no link leads there.

        Missing folders are made where ``made`` takes their names.
        """
        if not spot.names:
            raise Refused("the worktree itself is a folder", "is-folder")
        fd = os.open(spot.root, _FOLDER)
        try:
            for depth, name in enumerate(spot.names[:-1], 1):
                here = Spot(spot.root, spot.names[:depth])
                if made is not None:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o777, dir_fd=fd)
                        made.append(here)
                try:
                    fd, before = os.open(name, _FOLDER, dir_fd=fd), fd
                except OSError as error:
                    raise _not_opened(error, fd, here) from error
                os.close(before)
                self._look(fd, here)
            yield fd
        finally:
            os.close(fd)

    def _check(self, spot: Spot) -> None:
        """Refuse what may not be changed, by its name."""
        found = self.place(spot)
        if kept := found.hidden or found.protected or _of_git(spot):
            raise Refused(f"`{spot.name}` is protected: `{kept}` is not to be changed", "protected")

    def _look(self, fd: int, spot: Spot) -> None:
        """Refuse a folder that is protected under whatever name it has now."""
        status = os.fstat(fd)
        kept = {**self._kept, **self._hidden}.get((status.st_dev, status.st_ino))
        if kept:
            raise Refused(f"`{spot.name}` is protected: it is `{kept}`", "protected")

    @contextmanager
    def opened(self, spot: Spot, *, follow: bool = True) -> Iterator[tuple[int, Spot]]:
        """Open a file or folder for reading; yields its descriptor and where it really is."""
        fd, names = self._walk(spot, follow)
        try:
            found = Spot(spot.root, names)
            status = os.fstat(fd)
            place = self.place(found)
            if place.hidden or (status.st_dev, status.st_ino) in self._hidden:
                raise Refused(f"`{spot.name}` is not to be read", "secret")
            if names != spot.names and place.secret and not self.place(spot).secret:
                # It was judged by its name, and may have been another file then.
                raise Refused(f"`{spot.name}` leads to `{found.name}`; name that", "link")
            yield fd, found
        finally:
            os.close(fd)

    def _walk(self, spot: Spot, follow: bool) -> tuple[int, tuple[str, ...]]:
        """Walk to a spot from its root; links are read and walked within the root."""
        stack = [os.open(spot.root, _FOLDER)]
        names: list[str] = []
        todo = list(reversed(spot.names))
        links = 0
        try:
            while todo:
                name = todo.pop()
                if name == "..":
                    if not names:
                        raise _leads_out(spot)
                    os.close(stack.pop())
                    names.pop()
                    continue
                try:
                    stack.append(os.open(name, FILE, dir_fd=stack[-1]))
                    names.append(name)
                    continue
                except OSError as error:
                    if error.errno != errno.ELOOP or not follow:
                        raise _not_opened(
                            error, stack[-1], Spot(spot.root, (*names, name))
                        ) from error
                links += 1
                if links > _LINKS:
                    raise Refused(f"`{spot.name}` goes through too many links", "link")
                target = os.readlink(name, dir_fd=stack[-1])
                if target.startswith("/"):
                    target = normpath(target)
                    if target != spot.root and not target.startswith(f"{spot.root}/"):
                        raise _leads_out(spot)
                    target = target[len(spot.root) :]
                    while len(stack) > 1:
                        os.close(stack.pop())
                    names.clear()
                todo += [n for n in reversed(target.split("/")) if n not in ("", ".")]
            return stack.pop(), tuple(names)
        finally:
            for fd in stack:
                os.close(fd)


def _of_git(spot: Spot) -> str:
    """Return what names programs that git runs, or where git finds that, at any depth.

    Some disks take `.GIT` for the same folder.
    """
    names = [name.casefold() for name in spot.names]
    for at, name in enumerate(names):
        if name == ".git" and (at + 1 == len(names) or names[at + 1] in GIT_HELPERS):
            return "/".join(spot.names[: at + 2])
    return ""


def _leads_out(spot: Spot) -> Refused:
    return Refused(f"`{spot.name}` leads out of the worktree by a link", "outside")


def _not_opened(error: OSError, folder: int, spot: Spot) -> Exception:
    """Say why a name could not be opened in a folder."""
    with suppress(OSError):
        if stat.S_ISLNK(os.stat(spot.names[-1], dir_fd=folder, follow_symlinks=False).st_mode):
            target = os.readlink(spot.names[-1], dir_fd=folder)
            return Refused(
                f"`{spot.name}` is a link to {quoted(target, 200)}; name what it leads to", "link"
            )
    if error.errno == errno.ENOENT:
        return Refused(f"there is no `{spot.name}`", "missing")
    if error.errno == errno.ENOTDIR:
        return Refused(f"`{spot.name}` is no folder", "not-folder")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return Refused(f"`{spot.name}` is no file", "not-file")
    return Refused(
        f"`{spot.name}` cannot be opened: {(error.strerror or '').lower()}", "unreadable"
    )


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells a file or folder from any other, whatever it is called."""
    with suppress(OSError):
        found = os.stat(path)
        return found.st_dev, found.st_ino
    return None
