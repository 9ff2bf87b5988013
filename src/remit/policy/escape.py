"""Escaping: text of a model or a tool, made safe to show to whoever decides."""

from __future__ import annotations

import re

__all__ = ["MARK", "escape", "quoted", "unmarked"]

#: What remit's own lines to a conversation begin with, and nobody else's (design section 7).
MARK = "[remit]"

_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
#: What is drawn as nothing, and so changes nothing of what a line seems to begin with.
_NOTHING = (
    r"\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef"
)
_MARK = re.compile(rf"\[[{_NOTHING}]*+" + rf"[{_NOTHING}]*+".join("remit]"), re.IGNORECASE)
_UNSEEN = re.compile(rf"[\s{_NOTHING}]")
#: Unseen characters before a mark that are looked at; a line with more is taken to begin with it.
_FAR = 1_000

#: Letters and marks that count as printable and are drawn as nothing.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")


def escape(text: str, *, lines: bool = False) -> str:
    """Return text in which every character can be seen, in the order in which it is stored.

    Control, format and bidirectional characters, odd spaces, halves of surrogate pairs and blank
    letters become ``\\x1b``, ``\\u202e`` or ``\\U000e0001``. ``lines`` keeps line feeds and tabs.
    Escaping twice is escaping once.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _seen(c, lines) else _code(ord(c)) for c in text)


def quoted(text: str, limit: int = 60) -> str:
    """Return text as a message quotes it: in backticks, escaped, cut where it is long."""
    text = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return f"`{escape(text)}`"


def unmarked(text: str) -> str:
    """Return text of which no line begins as remit's own do: such a mark gets a backslash."""
    parts, done = [], 0
    for mark in _MARK.finditer(text):
        if _begins(text, mark.start()):
            parts += [text[done : mark.start()], "\\"]
            done = mark.start()
    return "".join((*parts, text[done:])) if parts else text


def _begins(text: str, at: int) -> bool:
    """Say whether nothing that can be seen stands before a place in its line."""
    for before in range(at - 1, max(at - 1 - _FAR, -1), -1):
        if text[before] in _BREAKS:
            return True
        if not _UNSEEN.match(text[before]):
            return False
    return True


def _seen(c: str, lines: bool) -> bool:
    if lines and c in "\n\t":
        return True
    return c.isprintable() and c not in _BLANK and not _selector(ord(c))


def _selector(code: int) -> bool:
    """Is it a variation selector: printable, invisible, and enough of them spell a message."""
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F


def _code(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
