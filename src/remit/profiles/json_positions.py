"""Positions in JSON: where each key and value of a text that was read as JSON stands."""

from __future__ import annotations

import json
import re

from remit.profiles.positions import KeyPath, Located, Spot

__all__ = ["locate_json"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]++')


def locate_json(text: str) -> Located:
    """Find every key and value of a JSON text, and the first key that an object holds twice."""
    spots: dict[KeyPath, Spot] = {}
    again: tuple[KeyPath, int] | None = None
    # Each open object or list: its path, and the key or the place of what comes next in it.
    nest: list[tuple[KeyPath, str | int]] = []
    key_at = -1
    for token in _TOKEN.finditer(text):
        word, at = token[0], token.start()
        if word in "}]":
            nest.pop()
        elif word == ",":
            holder, last = nest[-1]
            nest[-1] = (holder, last + 1 if isinstance(last, int) else "")
            key_at = -1
        elif word == ":":
            continue
        elif nest and isinstance(nest[-1][1], str) and key_at < 0:
            holder = nest[-1][0]
            key = json.loads(word)
            nest[-1] = (holder, key)
            key_at = at
            if (*holder, key) in spots and again is None:
                again = ((*holder, key), at)
        else:
            path = (*nest[-1][0], nest[-1][1]) if nest else ()
            spots.setdefault(path, Spot(at if key_at < 0 else key_at, at))
            key_at = -1 if word in "{[" else key_at
            if word == "{":
                nest.append((path, ""))
            elif word == "[":
                nest.append((path, 0))
    return Located(text, spots, again, None, True)
