"""Mounts: what a sandbox shows, lets write and keeps: the kernel's copy of a posture.

Everything of the machine is seen read-only but for what is mounted otherwise. A mount may be
stricter than the guard, never looser, except for limits that mounts cannot say; those are advisory.
`remit.policy.confine` computes the value from a ceiling; `Mounts.settle` fits it to what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from posixpath import dirname

from attrs import evolve, field, frozen

from remit.policy.places import Kind, Place
from remit.policy.vocabulary import Posture

__all__ = [
    "Access",
    "Advisory",
    "Cause",
    "IfMissing",
    "Mount",
    "Mounts",
    "Network",
    "ancestors",
    "within",
]


class Access(StrEnum):
    """What a command can do at a path."""

    WRITE = "rw"
    READ = "ro"
    HIDDEN = "hidden"
    PRIVATE = "tmpfs"


class Network(StrEnum):
    """What a command can reach."""

    #: Nothing outside the sandbox.
    NONE = "none"
    #: This machine alone.
    LOOPBACK = "loopback"
    FULL = "full"


class Cause(StrEnum):
    """Why a path is mounted; where two want one path, the later of this list wins."""

    ANCHOR = "anchor"
    PRIVATE = "private"
    VISIBLE = "visible"
    SECRET = "secret"
    OTHER = "other-worktree"
    OPENED = "opened"
    WORKTREE = "worktree"
    REPOSITORY = "repository"
    LIMIT = "limit"
    SCRATCH = "scratch"
    EXCLUDED = "excluded"
    PROTECTED = "protected"
    OPERATOR = "operator"


class IfMissing(StrEnum):
    """What becomes of a mount whose path is not there."""

    LEAVE = "leave"
    #: Say that it could be made, and look for it afterwards.
    TELL = "tell"
    #: Put an empty folder in its place for as long as the command runs.
    HOLD = "hold"


_RANK = {cause: i for i, cause in enumerate(Cause)}


@frozen
class Mount:
    """One path and what a command can do there."""

    path: str
    access: Access
    cause: Cause
    kind: Kind = Kind.FOLDER
    if_missing: IfMissing = IfMissing.LEAVE
    #: The host makes an empty folder here for as long as the command runs.
    placeholder: bool = False

    @property
    def folder(self) -> str:
        """The path as a folder; nothing lies in a file."""
        return self.path if self.kind is Kind.FOLDER else f"{self.path}\0"


@frozen
class Advisory:
    """Something that is asked for and not held; it is told wherever the mounts are shown."""

    what: str
    why: str


@frozen
class Mounts:
    """What one sandbox mounts, for any backend.

    ``protected`` and ``holds`` say what is kept: paths, and effect classes of the ceiling's
    refusals. ``namespaces`` is what a backend should unshare where the system has such a thing.
    """

    worktree: str | None
    posture: Posture
    mounts: tuple[Mount, ...]
    network: Network
    scratch: str
    env_kept: tuple[str, ...] = ()
    env_dropped: tuple[str, ...] = ()
    env_set: Mapping[str, str] = field(factory=dict)
    namespaces: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    advisory: tuple[Advisory, ...] = ()
    #: Protected paths that were not there and that no mount keeps from being made.
    watched: tuple[str, ...] = ()

    @property
    def protected(self) -> tuple[str, ...]:
        """The protected paths that are kept from the command, read-only or hidden."""
        kept = (Cause.OPERATOR, Cause.PROTECTED, Cause.EXCLUDED)
        return tuple(m.path for m in self.mounts if m.cause in kept)

    def paths(self, access: Access) -> tuple[str, ...]:
        """The paths that are mounted in one way."""
        return tuple(m.path for m in self.mounts if m.access is access)

    def at(self, path: str) -> Access:
        """Say what a command can do at a path; only settled mounts answer for the machine."""
        over = [m for m in self.mounts if path == m.path or within(path, m.folder)]
        return max(over, key=lambda m: len(m.path)).access if over else Access.READ

    def asked(self) -> tuple[str, ...]:
        """The paths about which `settle` wants to know, and the folders that hold some of them."""
        held = (dirname(m.path) for m in self.mounts if m.if_missing is not IfMissing.LEAVE)
        return tuple(sorted({*held, *(m.path for m in self.mounts)}))

    def settle(self, places: Mapping[str, Place]) -> Mounts:
        """Fit the mounts to what the host found; a path it was not asked about is as stated.

        Drops what is missing, follows links, leaves out what changes nothing, and pins the folders
        above whatever is kept within a writable mount, so that none can be moved away.
        """
        told: list[Advisory] = []
        chosen: dict[str, Mount] = {}
        for mount in self.mounts:
            found = _fit(mount, places, told)
            if found is None:
                continue
            other = chosen.get(found.path)
            if other is None or _RANK[other.cause] < _RANK[found.cause]:
                chosen[found.path] = found
        kept, watched = _prune(chosen)
        told += [Advisory(path, "it does not exist and could be made") for path in watched]
        told += _replaceable(self.mounts, places, kept)
        return evolve(
            self,
            mounts=tuple(kept[p] for p in sorted(kept, key=_parts)),
            advisory=tuple(dict.fromkeys((*self.advisory, *told))),
            watched=watched,
        )


def within(path: str, folder: str) -> bool:
    """Say whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def ancestors(path: str) -> list[str]:
    """Return the folders above a path, the nearest first, the root last."""
    out = []
    while path not in ("/", ""):
        path = dirname(path)
        out.append(path)
    return out


def _parts(path: str) -> list[str]:
    return path.split("/")


def _fit(mount: Mount, places: Mapping[str, Place], told: list[Advisory]) -> Mount | None:
    place = places.get(mount.path, Place(mount.kind, mount.path))
    if place.kind is Kind.MISSING:
        if mount.access is Access.WRITE:
            told.append(Advisory(mount.path, "it does not exist, so nothing can be written there"))
        if mount.if_missing is IfMissing.LEAVE:
            return None
        folder = dirname(mount.path)
        above = places.get(folder, Place(Kind.FOLDER, folder))
        if above.kind is Kind.MISSING:
            return evolve(mount, path=folder, kind=Kind.MISSING)
        if not above.writable:
            return None
        hold = mount.if_missing is IfMissing.HOLD and above == Place(Kind.FOLDER, folder)
        return evolve(mount, kind=Kind.FOLDER if hold else Kind.MISSING, placeholder=hold)
    if mount.access is Access.WRITE and place.real != mount.path:
        told.append(Advisory(mount.path, f"it leads to `{place.real}`, so it is not writable"))
        return None
    if mount.cause is Cause.LIMIT and place.kind is not mount.kind:
        told.append(Advisory(mount.path, f"it is a {place.kind}, so its pattern admits nothing"))
        return None
    return evolve(mount, path=place.real, kind=place.kind)


def _above(path: str, kept: Mapping[str, Mount]) -> Mount | None:
    return next((kept[a] for a in ancestors(path) if a in kept), None)


def _needless(mount: Mount, over: Mount | None) -> bool:
    """Say whether a mount changes nothing where it lies, or shows what is to stay unseen."""
    around = over.access if over else Access.READ
    if mount.cause is Cause.WORKTREE:
        return False
    if over is not None and around in (Access.HIDDEN, Access.PRIVATE):
        shows = mount.cause is Cause.VISIBLE and over.cause is not Cause.SECRET
        return mount.access is not Access.WRITE and not shows
    return mount.access is around or (mount.cause is Cause.VISIBLE and around is Access.WRITE)


def _prune(chosen: Mapping[str, Mount]) -> tuple[dict[str, Mount], tuple[str, ...]]:
    """Return the mounts that change something, and the paths that could be made."""
    kept: dict[str, Mount] = {}
    watched: list[str] = []
    for path in sorted(chosen, key=_parts):
        mount = chosen[path]
        over = _above(path, kept)
        if _needless(mount, over):
            continue
        if mount.kind is Kind.MISSING:
            watched.append(path)
            continue
        if over is not None and over.access is Access.WRITE:
            for between in ancestors(path):
                if between == over.path:
                    break
                kept[between] = Mount(between, Access.WRITE, Cause.ANCHOR)
        kept[path] = mount
    return kept, tuple(watched)


def _replaceable(
    wanted: tuple[Mount, ...], places: Mapping[str, Place], kept: Mapping[str, Mount]
) -> list[Advisory]:
    """A link in a writable folder can be replaced, whatever becomes of what it leads to."""
    out = []
    for mount in wanted:
        place = places.get(mount.path)
        if place is None or place.kind is Kind.MISSING or place.real == mount.path:
            continue
        over = _above(mount.path, kept)
        shut = mount.access in (Access.READ, Access.HIDDEN)
        if shut and over is not None and over.access is Access.WRITE:
            out.append(Advisory(mount.path, "it is a symbolic link, which can be replaced"))
    return out
