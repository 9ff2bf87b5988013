"""Selectors: how a profile names tools, and how it names targets.

A tool selector is split at its first colon: ``group:research``, ``tier:read``, ``git:*`` (the tools
of a source); without a colon it is a name or a glob of names, whatever the source. A target
pattern is gitignore-like: ``*`` stays within one segment, ``**`` does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import lru_cache

__all__ = [
    "RESERVED_SOURCES",
    "UNSEEN",
    "admits_nothing",
    "admits_targets",
    "glob",
    "split",
    "target_matches",
]

_WILD = re.compile("[*?]")

#: Words before the colon that are no source, and the source of the native tools.
RESERVED_SOURCES = frozenset({"group", "tier", "remit"})

#: The target of an effect whose target cannot be seen; it is outside every limit.
UNSEEN = "?"


def split(selector: str) -> tuple[str, str]:
    """Return (kind or source, rest); the first is empty for a bare name or glob."""
    head, colon, rest = selector.partition(":")
    return (head, rest) if colon else ("", selector)


@lru_cache(maxsize=4096)
def glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob of names: ``*``, ``?`` and ``[...]`` match across any character."""
    return re.compile(translate(pattern))


@lru_cache(maxsize=4096)
def _target_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a target glob: ``**`` crosses ``/``, ``*`` and ``?`` do not."""
    out, i = [], 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out.append("(?:.*/)?")
            i += 3
        elif pattern.startswith("**", i):
            out.append(".*")
            i += 2
        elif pattern[i] == "*":
            out.append("[^/]*")
            i += 1
        elif pattern[i] == "?":
            out.append("[^/]")
            i += 1
        else:
            out.append(re.escape(pattern[i]))
            i += 1
    return re.compile("".join(out), re.DOTALL)


def target_matches(pattern: str, target: str) -> bool:
    """Say whether one target pattern matches one target, ends included."""
    return _target_pattern(pattern).fullmatch(target) is not None


@lru_cache(maxsize=4096)
def admits_nothing(lists: frozenset[frozenset[str]]) -> bool:
    """Say whether it is plain that no target can be within all these lists of patterns.

    It is where a list has only excluding patterns, or such as are excluded by the same pattern or
    by all that begins so, and where all patterns of one list begin otherwise than those of another.
    Other lists that exclude each other are not seen: a call is judged by its targets all the same.
    """
    no = {p[1:] for patterns in lists for p in patterns if p.startswith("!")}
    covered = tuple(n[:-2] for n in no if n.endswith("**") and _start(n) == n[:-2])
    starts = [
        {
            _start(p)
            for p in patterns
            if not p.startswith("!") and p not in no and not _start(p).startswith(covered)
        }
        for patterns in lists
    ]
    return any(
        all(not (a.startswith(b) or b.startswith(a)) for a in one for b in other)
        for one in starts
        for other in starts
    )


def _start(pattern: str) -> str:
    """Return what every target of a pattern begins with."""
    return _WILD.split(pattern, maxsplit=1)[0]


def admits_targets(patterns: Iterable[str], targets: Iterable[str]) -> bool:
    """Say whether every target matches a pattern and none an excluding one (``!...``).

    No target at all is outside every limit: what cannot be seen cannot be admitted.
    """
    listed = sorted(patterns)
    yes = [p for p in listed if not p.startswith("!")]
    no = [p[1:] for p in listed if p.startswith("!")]
    seen = list(targets)
    return bool(seen) and all(
        t != UNSEEN
        and any(target_matches(p, t) for p in yes)
        and not any(target_matches(p, t) for p in no)
        for t in seen
    )
