"""Escaping: text of a model or a tool, made safe to show to whoever decides."""

from __future__ import annotations

__all__ = ["escape", "quoted"]

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
