"""Which protected paths the arguments of a call name.

Names of arguments say nothing reliable, so every text in them is tried as a path, as it is spelt
and as it resolves. A text that is no path resolves to a place that nobody protects.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

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
    absolute paths, which protect all below them.
    """
    guarded = {p: {os.path.normpath(p), os.path.realpath(p)} for p in protected}
    bases = tuple(bases)
    hit: dict[str, None] = {}
    for count, text in enumerate(_texts(args)):
        if count >= _TEXTS:
            return tuple(hit), False
        for place in _places(text, bases):
            for path, spellings in guarded.items():
                if any(place == s or place.startswith(s.rstrip("/") + "/") for s in spellings):
                    hit[path] = None
    return tuple(hit), True


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


def _places(text: str, bases: tuple[str, ...]) -> set[str]:
    if not text or len(text) > _LENGTH or "\0" in text:
        return set()
    spelt = [text]
    if text.startswith("file:"):
        spelt.append(unquote(urlsplit(text).path))
    places: set[str] = set()
    for path in spelt:
        path = os.path.expanduser(path)
        for base in bases or ("/",):
            whole = os.path.join(base, path)
            places.update((os.path.normpath(whole), os.path.realpath(whole)))
    return places
