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
from posixpath import normpath
from typing import NamedTuple

from remit.policy.tools import Facts

__all__ = ["Ground", "Place", "pattern"]

_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
#: Device files that keep nothing.
_WILD = re.compile(r"[*?]+")
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


class Spelling(NamedTuple):
    """Globs as `pattern` reads them, with what a path must have for the pattern to be tried.

    Trying it on every path would cost more than all the rest of placing one.
    """

    whole: re.Pattern[str]
    parts: frozenset[str]
    heads: tuple[str, ...]
    tails: tuple[str, ...]

    @classmethod
    def of(cls, globs: Iterable[str]) -> Spelling:
        """Take the first fixed part of each glob, or a fixed beginning or end of one."""
        parts, heads, tails = set(), [], []
        globs = list(globs)
        for glob in globs:
            between = glob.removeprefix("~/").strip("/").split("/")
            if fixed := next((p for p in between if not _WILD.search(p)), ""):
                parts.add(fixed)
            elif head := _WILD.split(between[0])[0]:
                heads.append(head)
            else:
                tails.append(_WILD.split(between[-1])[-1])
        return cls(pattern(globs), frozenset(parts), tuple(heads), tuple(tails))

    def fits(self, path: str) -> bool:
        """Say whether a normal path matches one of the globs."""
        between = path.split("/")
        tried = not self.parts.isdisjoint(between)
        if not tried and (self.heads or self.tails):
            heads, tails = self.heads, self.tails
            for part in between:
                if part.startswith(heads) or part.endswith(tails):
                    tried = True
                    break
        return tried and self.whole.fullmatch(path) is not None


@cache
def _table() -> tuple[Spelling, Spelling, Spelling]:
    text = files("remit.plugins").joinpath("programs/places.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return (
        Spelling.of(table["secret"]["paths"]),
        Spelling.of(table["secret"]["samples"]),
        Spelling.of(table["protected"]["paths"]),
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
        self.links: dict[str, str] = {}
        if facts.links:
            self.links = {self.normal(k): self.normal(v) for k, v in facts.links.items()}
        self.home = self.normal(facts.home) if facts.home else "~"
        self.roots = self._both(facts.worktree)
        self.scratch = self._both(facts.scratch)
        self.wants: set[str] = set()
        self._kept: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    def _both(self, path: str | None) -> tuple[str, ...]:
        if path is None:
            return ()
        spelled = self.normal(path)
        end = self.links.get(spelled, spelled)
        return (spelled,) if end == spelled else (spelled, end)

    def normal(self, path: str) -> str:
        """Return a path without ``.``, ``..`` and doubled ``/``, as this system compares it."""
        if (
            path[:1] == "/"
            and path[-1] != "/"
            and "/." not in path
            and "//" not in path
            and not self.windows
        ):
            return path
        if self.windows:
            path = path.replace("\\", "/").casefold()
            if path[1:3] == ":/":
                return path[:2] + normpath(path[2:])
        found = normpath(path)
        return found[1:] if found.startswith("//") else found

    def absolute(self, path: str, cwd: str | None) -> str | None:
        """Return an absolute spelling; None for a relative path where the folder is unknown."""
        if path[:1] == "~":
            own = path == "~" or path[1] == "/"
            return self.normal(self.home + path[1:] if own else path)
        if path[:1] == "/" or (self.windows and (_DRIVE.match(path) or path.startswith("\\"))):
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
            head = root if root[-1:] == "/" else f"{root}/"
            if path.startswith(head):
                return path[len(head) :]
        return None

    def place(self, path: str, cwd: str | None) -> Place | None:
        """Say where a path lies; None for a relative path where the folder is unknown."""
        spelled = self.absolute(path, cwd)
        if spelled is None:
            return None
        if spelled[:5] == "/dev/" and _FREE.fullmatch(spelled):
            return Place((spelled,), free=True)
        end = self.resolved(spelled)
        seen = self.seen(spelled)
        if self.scratch and self._within(end, self.scratch):
            return Place((end,), free=True, seen=seen)
        if end == spelled:
            inside = self._within(end, self.roots)
            name = end if inside is None else inside
            guarded, covered, secret = self._rules(end, inside)
            return Place((name,), inside is not None, False, secret, guarded, covered, seen)
        names, rules = [], []
        for path in (end, spelled):
            inside = self._within(path, self.roots)
            names.append(path if inside is None else inside)
            rules.append(self._rules(path, inside))
        (guarded, covered, secret), (also_guarded, also_covered, also_secret) = rules
        return Place(
            tuple(names),
            self._within(end, self.roots) is not None,
            False,
            secret or also_secret,
            guarded or also_guarded,
            covered or also_covered,
            seen,
        )

    def _rules(self, path: str, inside: str | None) -> tuple[str, str, bool]:
        """Say of one end of a path whether it is protected, hidden (itself, if so) and secret."""
        secret, samples, own = _table()
        protected, hidden = self.kept
        kept = (protected and f"{path}/".startswith(protected)) or (
            inside is not None and own.fits(f"/{inside}")
        )
        return (
            path if kept else "",
            path if hidden and f"{path}/".startswith(hidden) else "",
            secret.fits(path) and not samples.fits(path),
        )

    @property
    def kept(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The protected and the hidden paths, both ends of links, each with ``/`` behind it."""
        if self._kept is None:
            self._kept = self._below(self.facts.protected), self._below(self.facts.hidden)
        return self._kept

    def _below(self, paths: tuple[str, ...]) -> tuple[str, ...]:
        ends = [end for path in paths for end in self._both(path)]
        return tuple(dict.fromkeys([f"{end.rstrip('/')}/" for end in ends])) if ends else ()

    def shields(self, path: str, cwd: str | None) -> str:
        """Return a protected path that lies below this one; empty where none does."""
        protected, hidden = self.kept
        spelled = self.absolute(path, cwd) if protected or hidden else None
        if spelled is None:
            return ""
        below = tuple(b.rstrip("/") + "/" for b in (spelled, self.resolved(spelled)))
        for kept in (*protected, *hidden):
            if any(kept.startswith(b) and kept != b for b in below):
                return kept[:-1]
        return ""
