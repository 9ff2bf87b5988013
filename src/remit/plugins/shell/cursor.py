"""The cursor of the parser: its bounds, and how it steps over blanks and reserved words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self

from remit.plugins.shell.syntax import Arith, Document, Piece, SyntaxTrouble

__all__ = ["DEPTH", "HIDDEN", "WORK", "Cursor"]

#: How deep a command may nest, and how many words it may have, before it is not read.
DEPTH = 48
WORK = 20_000

_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_BLANK_LINES = re.compile(r"(?:[ \t\n]|\\\n)+")
_BARE = re.compile(r"[^\s;|&()<>'\"\\`$]+")
_SKIPPED = frozenset(" \t\n#\\")
#: Characters that no reader sees or that are no blank although they look like one.
HIDDEN = re.compile(
    "[\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\x00-\x08\x0b-\x1f\x7f\U000e0000-\U000e0fff]"
)


class Cursor:
    """A place in a text, the bounds that hold for it, and what steps over blanks and words."""

    def __init__(self, text: str, depth: int = 0, work: list[int] | None = None) -> None:
        self.text = text
        self.i = 0
        self.depth = depth
        #: Words read so far, shared with the lexers of inner texts.
        self.work = [0] if work is None else work
        self.assigned: set[str] = set()
        self.pending: list[Document] = []
        self.plain = text.isascii() and not HIDDEN.search(text)
        # What may be arithmetic or commands is tried both ways; each place is read once.
        self._read: dict[tuple[int, bool], tuple[list[Piece], int]] = {}
        self._arithmetic: dict[int, tuple[Arith, int] | None] = {}

    def inner(self, text: str) -> Self:
        """Return a lexer for a text within this one, under the same bounds."""
        return type(self)(text, self.depth, self.work)

    if TYPE_CHECKING:

        def documents(self) -> None:
            """Read the bodies of here-documents; see `remit.plugins.shell.expansions`."""

    def deeper(self) -> None:
        """Count one more level of nesting."""
        self.depth += 1
        if self.depth > DEPTH:
            raise SyntaxTrouble(f"it nests deeper than {DEPTH} levels")

    def peek(self) -> str:
        """Return the character at the cursor, empty at the end."""
        return self.text[self.i : self.i + 1]

    def blank(self, newlines: bool = False) -> None:
        """Skip blanks and comments; with ``newlines``, empty lines too."""
        text = self.text
        while True:
            c = text[self.i : self.i + 1]
            if c not in _SKIPPED:
                return
            if c == "#":
                end = text.find("\n", self.i)
                self.i = len(text) if end < 0 else end
            elif newlines and c == "\n" and self.pending:
                self.i += 1
                self.documents()
            elif c != "\n" or newlines:
                pattern = _BLANK if self.pending or not newlines else _BLANK_LINES
                found = pattern.match(text, self.i)
                if found is None:
                    return
                self.i = found.end()
            else:
                return

    def newlines(self) -> None:
        """Skip blanks, comments and empty lines."""
        self.blank(newlines=True)

    def bare_word(self) -> str:
        """Return the unquoted word at the cursor without moving."""
        found = _BARE.match(self.text, self.i)
        if found is None:
            return ""
        after = self.text[found.end() : found.end() + 1]
        return found[0] if after not in ("'", '"', "\\", "`", "$") or after == "" else ""

    def raw_name(self) -> str:
        """Take the unquoted word at the cursor."""
        word = self.bare_word()
        if not word:
            raise SyntaxTrouble("a name was expected")
        self.i += len(word)
        return word

    def at_word(self, words: frozenset[str]) -> bool:
        """Say whether one of these reserved words is at the cursor."""
        return bool(words) and self.bare_word() in words

    def take(self, word: str) -> bool:
        """Step over a reserved word or operator, if it is at the cursor."""
        self.blank(newlines=True)
        if word in (")", ";"):
            here = self.text.startswith(word, self.i)
        else:
            here = self.bare_word() == word
        if here:
            self.i += len(word)
        return here

    def expect(self, word: str) -> None:
        """Step over a reserved word or operator; raises `SyntaxTrouble` if it is not there."""
        if not self.take(word):
            got = self.text[self.i : self.i + 10] or "the end"
            raise SyntaxTrouble(f"`{word}` was expected, got `{got}`")
