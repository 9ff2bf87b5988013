"""Confining: from a ceiling and the ground it stands on to mounts."""

from __future__ import annotations

import re
from fnmatch import translate
from posixpath import basename, dirname, join, normpath

from remit.policy.ceiling import TOP, Ceiling, Lists, narrow
from remit.policy.mounts import Access, Advisory, Cause, IfMissing, Mount, Mounts, Network, within
from remit.policy.places import (
    HOME_SECRETS,
    KEPT_NAMES,
    PRIVATE,
    SYSTEM_SECRETS,
    Ground,
    Kind,
)
from remit.policy.vocabulary import Posture, in_order

__all__ = ["confine"]

_WRITE = "worktree.write"
_EGRESS = "network.egress"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "[::1]", "127.*", "127.**"})

_KEPT = re.compile("|".join(map(translate, KEPT_NAMES)))

#: A folder with all that lies in it, or one file, from the worktree.
_Part = tuple[str, Kind]
_WHOLE: frozenset[_Part] = frozenset({(".", Kind.FOLDER)})

#: In repository data: what names programs that git runs, and what says where that data lies. git
#: stops working when a folder stands in for a file, so some of them can only be told.
GIT_HELPERS = {
    "hooks": IfMissing.HOLD,
    "config": IfMissing.LEAVE,
    "modules": IfMissing.LEAVE,
    "worktrees": IfMissing.LEAVE,
    "gitdir": IfMissing.LEAVE,
    "commondir": IfMissing.TELL,
    "config.worktree": IfMissing.TELL,
}

_NOTHING = Ceiling(refuse={_WRITE, _EGRESS, "file.write_outside"})

#: Effects that only an open network leaves a way to.
_BY_NETWORK = frozenset(
    {
        "git.push", "pr.create", "pr.publish", "vendor.write", "package.install",
        "package.publish", "workspace.mutate", "record.write", "enclosure.control",
    }
)  # fmt: skip
#: Effects that no mount keeps from a command, and why.
_NEVER = {
    "process.spawn": "programs can be started, but within these mounts, and none outlives them",
    "secret.read": "only known places of secrets are hidden",
}


def confine(ceiling: Ceiling, ground: Ground) -> Mounts:
    """Return the mounts of a ceiling on a ground, not yet settled; pure and deterministic.

    The operator's token is hidden under every ceiling, known secrets under all but the top one; the
    network is off where egress is refused.
    """
    if not all(ceiling.allow):
        # Nothing is admitted, as where a mode cannot be used: then nothing is to be done either.
        ceiling = narrow(ceiling, _NOTHING)
    told: list[Advisory] = []
    network = _network(ceiling, told)
    mounts = [Mount(p, Access.PRIVATE, Cause.PRIVATE) for p in PRIVATE]
    mounts += [Mount(p, Access.READ, Cause.VISIBLE) for p in ground.visible]
    mounts += [Mount(p, Access.READ, Cause.OTHER) for p in ground.others]
    if ceiling != TOP:
        mounts += [Mount(join(ground.home, p), Access.HIDDEN, Cause.SECRET) for p in HOME_SECRETS]
        mounts += [Mount(p, Access.HIDDEN, Cause.SECRET) for p in SYSTEM_SECRETS]
    mounts += _operator(ground, told)
    mounts += _worktree(ceiling, ground, told)
    if "file.write_outside" not in ceiling.refuse | ceiling.limit.keys():
        mounts += [Mount(p, Access.WRITE, Cause.OPENED) for p in ground.writable]
    for path in (*ground.protected, *ground.installation):
        mounts.append(Mount(path, Access.READ, Cause.PROTECTED, if_missing=_if_missing(path)))
    if ground.scratch:
        mounts.append(Mount(ground.scratch, Access.WRITE, Cause.SCRATCH))
    holds = _effects(ceiling, network, mounts, told)
    kept, dropped = _environment(ground)
    scratch = ground.scratch or PRIVATE[0]
    values = {"HOME": ground.home, "TMPDIR": scratch}
    if not any(m.cause is Cause.WORKTREE and m.access is Access.WRITE for m in mounts):
        values["GIT_OPTIONAL_LOCKS"] = "0"
    return Mounts(
        worktree=ground.worktree,
        posture=ceiling.posture,
        mounts=tuple(dict.fromkeys(mounts)),
        network=network,
        scratch=scratch,
        env_kept=kept,
        env_dropped=dropped,
        env_set=values,
        namespaces=("user", "pid", "ipc", "uts", "cgroup")
        + (("net",) if network is not Network.FULL else ()),
        holds=holds,
        advisory=tuple(dict.fromkeys(told)),
    )


def _if_missing(path: str) -> IfMissing:
    in_git = basename(dirname(path)) == ".git"
    return GIT_HELPERS.get(basename(path), IfMissing.HOLD) if in_git else IfMissing.HOLD


def _network(ceiling: Ceiling, told: list[Advisory]) -> Network:
    if _EGRESS in ceiling.refuse:
        return Network.NONE
    limits = ceiling.limit.get(_EGRESS)
    if not limits:
        return Network.FULL
    if any(all(p in _LOCAL for p in one if not p.startswith("!")) for one in limits):
        return Network.LOOPBACK
    told.append(Advisory(_EGRESS, "mounts cannot tell one host from another"))
    return Network.FULL


def _operator(ground: Ground, told: list[Advisory]) -> list[Mount]:
    """Hide the folder of the token and the database, because a file in it can be replaced.

    Where that folder is needed for other things, the files alone are hidden.
    """
    out = []
    for path in ground.control:
        folder = dirname(path)
        needed = within(ground.home, folder) or folder in (ground.worktree, *ground.visible)
        if needed and folder not in PRIVATE:
            out.append(Mount(path, Access.HIDDEN, Cause.OPERATOR, kind=Kind.FILE))
            told.append(
                Advisory(path, f"it lies in `{folder}` itself: a file put in its place is seen")
            )
        else:
            out.append(Mount(folder, Access.HIDDEN, Cause.OPERATOR))
    return out


def _worktree(ceiling: Ceiling, ground: Ground, told: list[Advisory]) -> list[Mount]:
    root = ground.worktree
    if root is None:
        return []
    git = ground.git or join(root, ".git")
    if ceiling.posture is Posture.READ_ONLY:
        return [Mount(root, Access.READ, Cause.WORKTREE)]
    writable, excluded = _limits(ceiling.limit.get(_WRITE, frozenset()), told)
    whole = writable == _WHOLE
    mounts = [
        Mount(root, Access.WRITE if whole else Access.READ, Cause.WORKTREE),
        *(
            Mount(normpath(join(root, path)), Access.WRITE, Cause.LIMIT, kind=kind)
            for path, kind in sorted(writable - _WHOLE)
        ),
        *(
            Mount(normpath(join(root, p)), Access.READ, Cause.EXCLUDED, if_missing=IfMissing.HOLD)
            for p in sorted(excluded)
        ),
    ]
    if "git.commit" in ceiling.refuse or not whole:
        mounts.append(Mount(git, Access.READ, Cause.PROTECTED, if_missing=IfMissing.HOLD))
        return mounts
    # A folder that is mounted cannot be moved away, and with it what is kept inside.
    mounts += [Mount(p, Access.WRITE, Cause.REPOSITORY) for p in ground.repository]
    if git != join(root, ".git"):
        mounts.append(Mount(join(root, ".git"), Access.READ, Cause.PROTECTED))
    mounts += [
        Mount(join(data, name), Access.READ, Cause.PROTECTED, if_missing=if_missing)
        for data in (git, *ground.repository)
        for name, if_missing in GIT_HELPERS.items()
    ]
    return mounts


def _limits(limits: Lists, told: list[Advisory]) -> tuple[frozenset[_Part], set[str]]:
    """Return what every list lets write, as folders and single files, and what any excludes."""
    writable, excluded = _WHOLE, set[str]()
    for one in limits:
        admitted = set()
        for pattern in sorted(one):
            path, kind, exact = _part(pattern.removeprefix("!"))
            if not exact:
                told.append(Advisory(f"{_WRITE} {pattern}", "mounts cannot say such a pattern"))
            if path is None:
                continue
            if not pattern.startswith("!"):
                admitted.add((path, kind))
            elif exact:
                excluded.add(path)
        writable = frozenset(
            part for a in writable for b in admitted if (part := _both(a, b)) is not None
        )
    return writable, excluded


def _part(pattern: str) -> tuple[str | None, Kind, bool]:
    """Return the folder or file that a pattern names, and whether it names just that.

    Where it does not, the folder that all its matches lie in. The path is None where the pattern
    leads out of the worktree.
    """
    parts = pattern.split("/")
    if pattern.startswith("/") or ".." in parts:
        return None, Kind.FILE, True
    wild = next((i for i, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
    path = normpath("/".join(parts[:wild]) or ".")
    if wild == len(parts):
        return path, Kind.FILE, True
    return path, Kind.FOLDER, parts[wild:] == ["**"]


def _both(a: _Part, b: _Part) -> _Part | None:
    """Return what lies in both of two parts."""
    if a == b:
        return a
    for (inner, kind), (outer, around) in ((a, b), (b, a)):
        if around is Kind.FOLDER and (outer == "." or within(inner, outer)):
            # A folder's pattern admits what lies in it, not a file in its own place.
            return (inner, kind) if inner != outer or kind is Kind.FOLDER else None
    return None


def _effects(
    ceiling: Ceiling, network: Network, mounts: list[Mount], told: list[Advisory]
) -> tuple[str, ...]:
    """Tell which refusals these mounts hold by themselves; all others are advisory."""
    written = any(
        m.access is Access.WRITE and m.cause in (Cause.WORKTREE, Cause.LIMIT, Cause.OPENED)
        for m in mounts
    )
    holds = set()
    for effect in in_order(ceiling.refuse):
        if effect in (_WRITE, _EGRESS, "file.write_outside", "git.commit"):
            why = ""
        elif effect == "file.delete":
            why = "what can be written can be removed" if written else ""
        elif effect in _BY_NETWORK:
            why = "the network is open" if network is Network.FULL else ""
        else:
            why = _NEVER.get(effect, "it is no matter of files or network")
        if why:
            told.append(Advisory(effect, why))
        else:
            holds.add(effect)
    for effect in in_order(ceiling.limit):
        if effect not in ceiling.refuse | {_WRITE, _EGRESS}:
            told.append(Advisory(effect, "mounts cannot say its limit"))
    return in_order(holds)


def _environment(ground: Ground) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the names of the host's environment; the operator's own are never let through."""

    kept = {
        name
        for name in ground.names
        if (name in ground.keep or _KEPT.fullmatch(name)) and not name.startswith("REMIT_")
    }
    return tuple(sorted(kept)), tuple(sorted(ground.names - kept))
