"""What paths resolve to, in one look at the disk: a folder on the way of many is looked at once.

Some thirty paths are held against each call, most of them in the same few folders.
"""

from __future__ import annotations

import os
from stat import S_ISLNK

__all__ = ["Resolver"]

#: Steps of a path from which on the system's own way is taken.
_LONG = 100


class Resolver:
    """`os.path.realpath` with a memory; made for one look at a call and thrown away."""

    def __init__(self) -> None:
        self._found = {"/": "/"}

    def __call__(self, path: str) -> str:
        """Return what a path resolves to; raises `ValueError` for what is no path."""
        if path.count("/") > _LONG or not path.startswith("/"):
            return os.path.realpath(path)
        if (found := self._found.get(path)) is None:
            folder, _, name = path.rpartition("/")
            found = self._found[path] = self._step(self(folder or "/"), name)
        return found

    def _step(self, folder: str, name: str) -> str:
        if name in ("", "."):
            return folder
        if name == "..":
            return os.path.dirname(folder)
        path = f"{folder.rstrip('/')}/{name}"
        try:
            link = S_ISLNK(os.lstat(path).st_mode)
        except OSError:
            return path
        return os.path.realpath(path) if link else path
