"""Which protected paths the arguments of a call name.

Names of arguments say nothing reliable, so every text in them is tried as a path, as it is spelt
and as it resolves. A text that is no path resolves to a place that nobody protects.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from remit.harness.resolver import Resolver
from remit.policy.projection import Host
from remit.policy.tools import Call, CallEffects, Tool

__all__ = ["seen", "touched"]

#: Bounds of what is looked at; past them a call is not looked through, so it is told as not seen.
_TEXTS, _LENGTH = 2_000, 4_096


def seen(
    call: Call, tool: Tool | None, host: Host, admitted: frozenset[str], bases: Iterable[str]
) -> CallEffects | None:
    """Return what a host sees of any call, classified or not: protected paths in its arguments.

    A tool that only has effects in ``admitted`` may name what is protected, but not what is secret.
    """
    if tool is None or tool.native:
        return None
    reads = tool.declared and tool.effects <= admitted
    paths, whole = touched(
        call.args, bases, host.secret if reads else (*host.secret, *host.protected)
    )
    return None if whole and not paths else CallEffects(protected=paths, opaque=not whole)


def touched(
    args: Any, bases: Iterable[str], protected: Iterable[str]
) -> tuple[tuple[str, ...], bool]:
    """Return the protected paths that ``args`` names, and whether all of it could be looked at.

    ``bases`` are the absolute folders that a relative path may be meant from; ``protected`` holds
    absolute paths, which protect all below them, and files under whatever other name they have.
    """
    protected, bases, resolve = tuple(protected), tuple(bases), Resolver()
    if not protected:
        return (), True
    guarded: dict[str, list[str]] = {}
    for path in protected:
        for spelt in {os.path.normpath(path), resolve(path)}:
            guarded.setdefault(spelt, []).append(path)
    files: dict[tuple[int, int] | None, str] = {f: p for p in protected if (f := _file(p))}
    hit: dict[str, None] = {}
    for count, text in enumerate(_texts(args)):
        if count >= _TEXTS:
            return tuple(hit), False
        for place in sorted(_places(text, bases, resolve)):
            for above in _ways(place):
                hit |= dict.fromkeys(guarded.get(above, ()))
            if files and (same := _file(place)) in files:
                hit[files[same]] = None
    return tuple(hit), True


def _ways(place: str) -> Iterator[str]:
    """Yield a normal absolute path, and each folder above it."""
    while True:
        yield place
        above = os.path.dirname(place)
        if above == place:
            return
        place = above


def _file(path: str) -> tuple[int, int] | None:
    """Return what tells a plain file from any other, whatever it is called; None for no file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, keys included; nesting is walked without recursion."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting.extend((*one.keys(), *one.values()))
        elif isinstance(one, (list, tuple)):
            waiting.extend(one)


def _places(text: str, bases: tuple[str, ...], resolve: Resolver) -> set[str]:
    """Return where a text may lead: as it is, trimmed, unquoted, normalised, as a URL."""
    spelt = {text, text.strip(), text.strip().strip("\"'`").strip()}
    spelt |= {unquote(urlsplit(t).path) for t in spelt if t[:5].lower() == "file:"}
    places: set[str] = set()
    for path in spelt:
        # What is still too long when its empty steps are gone can be no path anywhere.
        path = os.path.normpath(path) if path else ""
        if not path or len(path) > _LENGTH or "\0" in path:
            continue
        path = os.path.expanduser(path)
        for base in bases or ("/",):
            whole = os.path.join(base, path)
            places.update((os.path.normpath(whole), resolve(whole)))
    return places
