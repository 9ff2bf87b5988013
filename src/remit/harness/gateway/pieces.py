"""A message with long texts in it, as JSON piece by piece.

What writes a message whole holds it twice more; a result can be as long as a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["long", "pieces"]

#: Characters from which on a text is long, and of which a piece is made.
_LONG, _PIECE = 1 << 20, 1 << 16
#: Values of a message that are looked at; one of more parts is written whole.
_LOOK = 10_000


def long(value: Any) -> bool:
    """Say whether there is a long text in a JSON value."""
    waiting = [value]
    for _ in range(_LOOK):
        if not waiting:
            return False
        one = waiting.pop()
        if isinstance(one, str):
            if len(one) >= _LONG:
                return True
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return False


def pieces(value: Any) -> Iterator[bytes]:
    """Yield a JSON value as bytes of UTF-8; no piece is much longer than a piece of a text."""
    if isinstance(value, str) and len(value) >= _LONG:
        yield b'"'
        for at in range(0, len(value), _PIECE):
            yield _dumped(value[at : at + _PIECE])[1:-1]
        yield b'"'
    elif isinstance(value, dict) and long(value):
        before = b"{"
        for key, inner in value.items():
            yield before + _dumped(str(key)) + b":"
            yield from pieces(inner)
            before = b","
        yield b"}"
    elif isinstance(value, list) and long(value):
        before = b"["
        for inner in value:
            yield before
            yield from pieces(inner)
            before = b","
        yield b"]"
    else:
        yield _dumped(value)


def _dumped(value: Any) -> bytes:
    # A half of a surrogate pair has no UTF-8; JSON can spell it.
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
