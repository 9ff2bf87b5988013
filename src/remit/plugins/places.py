"""Where a path lies: inside the worktree or outside, scratch, protected, secret.

Paths are text; what they resolve to comes in through `Facts`. A rule about a place holds for the
place however it is spelled, so both ends of a link count.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from posixpath import isabs, normpath
from typing import NamedTuple

from remit.policy.tools import Facts

__all__ = ["Ground", "Place", "pattern"]

_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
#: Device files that keep nothing.
_FREE = re.compile(r"/dev/(?:null|zero|full|stdin|stdout|stderr|tty|random|urandom|fd/\d+)")


def pattern(globs: Iterable[str]) -> re.Pattern[str]:
    """Compile gitignore-like globs to one pattern for whole paths, ``/`` between parts.

    A glob without ``/`` matches the last part; one that begins with ``~/`` a path in a home folder;
    any other matches the end of a path. Each matches what is below it too.
    """
    out = []
    for glob in globs:
        body = re.escape(glob.removeprefix("~/"))
        body = body.replace(r"\*\*", ".*").replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
        if glob.startswith("/"):
            out.append(body)
        elif glob.startswith("~/"):
            out.append(rf"(?:~|.*/(?:home|Users)/[^/]+|/root|<home>)/{body}")
        else:
            out.append(rf"(?:.*/)?{body}")
    return re.compile(rf"(?:{'|'.join(out)})(?:/.*)?", re.DOTALL)


@cache
def _table() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    text = files("remit.plugins").joinpath("programs/places.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return (
        pattern(table["secret"]["paths"]),
        pattern(table["secret"]["samples"]),
        pattern(table["protected"]["paths"]),
    )


class Place(NamedTuple):
    """Where a path lies. ``names`` are its targets, the end of a link and the link itself."""

    names: tuple[str, ...]
    inside: bool = False
    #: Nothing that is written there counts: a null device, the space's own scratch folder.
    free: bool = False
    secret: bool = False
    protected: str = ""
    hidden: str = ""
    #: Somebody looked whether it is a link.
    seen: bool = True


class Ground:
    """The places that one call can tell apart, made of the facts."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.windows = bool(facts.worktree and _DRIVE.match(facts.worktree))
        self.links = {self.normal(k): self.normal(v) for k, v in facts.links.items()}
        self.home = self.normal(facts.home) if facts.home else "~"
        self.roots = self._both(facts.worktree)
        self.scratch = self._both(facts.scratch)
        self.wants: set[str] = set()

    def _both(self, path: str | None) -> tuple[str, ...]:
        if path is None:
            return ()
        spelled = self.normal(path)
        return tuple(dict.fromkeys((spelled, self.links.get(spelled, spelled))))

    def normal(self, path: str) -> str:
        """Return a path without ``.``, ``..`` and doubled ``/``, as this system compares it."""
        if self.windows:
            path = path.replace("\\", "/").casefold()
            if path[1:3] == ":/":
                return path[:2] + normpath(path[2:])
        found = normpath(path)
        return found[1:] if found.startswith("//") else found

    def absolute(self, path: str, cwd: str | None) -> str | None:
        """Return an absolute spelling; None for a relative path where the folder is unknown."""
        if path == "~" or path.startswith("~/"):
            return self.normal(self.home + path[1:])
        if path.startswith("~"):
            return self.normal(path)
        if isabs(path) or (self.windows and (_DRIVE.match(path) or path.startswith("\\"))):
            return self.normal(path)
        if cwd is None:
            return None
        if self.links and ".." in path:
            return self._walk(cwd, path)
        return self.normal(f"{cwd}/{path}")

    def _walk(self, cwd: str, path: str) -> str:
        """Resolve ``..`` after links, as the system does."""
        here = cwd
        for part in path.split("/"):
            here = self.normal(f"{here}/{part}") if part == ".." else f"{here}/{part}"
            here = self.resolved(self.normal(here)) if part != ".." else here
        return self.normal(here)

    def resolved(self, path: str) -> str:
        """Return what a normal absolute path resolves to, by the links that are known."""
        links = self.links
        if not links:
            return path
        for _ in range(40):
            if path in links:
                found = links[path]
            else:
                found, head = path, path
                while (cut := head.rfind("/")) > 0:
                    head = head[:cut]
                    if head in links and links[head] != head:
                        found = links[head] + path[cut:]
                        break
            if found == path:
                return path
            path = self.normal(found)
        return path

    def seen(self, path: str) -> bool:
        """Say whether somebody looked at a path, and want it looked at otherwise."""
        if self.facts.plain or path in self.links:
            return True
        self.wants.add(path)
        return False

    def _within(self, path: str, roots: tuple[str, ...]) -> str | None:
        for root in roots:
            if path == root:
                return "."
            if path.startswith(root.rstrip("/") + "/"):
                return path[len(root.rstrip("/")) + 1 :]
        return None

    def place(self, path: str, cwd: str | None) -> Place | None:
        """Say where a path lies; None for a relative path where the folder is unknown."""
        spelled = self.absolute(path, cwd)
        if spelled is None:
            return None
        if _FREE.fullmatch(spelled):
            return Place((spelled,), free=True)
        end = self.resolved(spelled)
        seen = self.seen(spelled)
        if self.scratch and self._within(end, self.scratch):
            return Place((end,), free=True, seen=seen)
        ends = tuple(dict.fromkeys((end, spelled)))
        relative = [self._within(e, self.roots) for e in ends]
        secret, samples, kept = _table()
        guarded = next(
            (
                e
                for e, r in zip(ends, relative, strict=True)
                if any(e == p or e.startswith(p + "/") for p in self._listed("protected"))
                or (r is not None and kept.fullmatch("/" + r))
            ),
            "",
        )
        hidden = next(
            (
                e
                for e in ends
                if any(e == p or e.startswith(p + "/") for p in self._listed("hidden"))
            ),
            "",
        )
        return Place(
            tuple(r if r is not None else e for e, r in zip(ends, relative, strict=True)),
            inside=relative[0] is not None,
            secret=any(secret.fullmatch(e) and not samples.fullmatch(e) for e in ends),
            protected=guarded,
            hidden=hidden,
            seen=seen,
        )

    def _listed(self, which: str) -> tuple[str, ...]:
        paths: tuple[str, ...] = getattr(self.facts, which)
        return tuple(dict.fromkeys(p for path in paths for p in self._both(path)))

    def shields(self, path: str, cwd: str | None) -> str:
        """Return a protected path that lies below this one; empty where none does."""
        spelled = self.absolute(path, cwd)
        if spelled is None:
            return ""
        below = (spelled, self.resolved(spelled))
        for kept in (*self._listed("protected"), *self._listed("hidden")):
            if any(kept.startswith(b.rstrip("/") + "/") for b in below):
                return kept
        return ""
