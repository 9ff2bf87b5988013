"""Words: the pieces that they are made of."""

from __future__ import annotations

import re

from remit.plugins.shell.cursor import HIDDEN, WORK
from remit.plugins.shell.expansions import Expansions
from remit.plugins.shell.syntax import (
    Glob,
    Lit,
    Mark,
    Piece,
    SyntaxTrouble,
    Tilde,
    Value,
    Word,
)

__all__ = ["Lexer"]

# The whole of most words: nothing in it is special, and a blank or an operator follows.
_SIMPLE = re.compile(r"(?:[\w./:,@%^+=-]+|\{\})(?=[\s;|&)]|$)")
_RUN = re.compile(r"[\w./:@%^+=\]!#-]+")
_TILDE = re.compile(r"[\w.+-]*(?=[/:\s;|&)]|$)")
_END = frozenset(" \t\n;|&()<>")


class Lexer(Expansions):
    """The grammar of words."""

    def word(self, assigned: bool = False) -> Value:
        """Parse one word: a ``str`` if its text is known."""
        self.work[0] += 1
        if self.work[0] > WORK:
            raise SyntaxTrouble(f"it has more than {WORK} words")
        found = _SIMPLE.match(self.text, self.i)
        if found is not None and (self.plain or not HIDDEN.search(found[0])):
            self.i = found.end()
            return found[0]
        return self.pieces(_END, assigned)

    def pattern_word(self) -> Value:
        """Parse a word of ``[[ ]]``, where parentheses and bars belong to a pattern."""
        start, depth = self.i, 0
        out: list[Piece] = []
        text = self.text
        while self.i < len(text):
            c = text[self.i]
            if c in " \t\n" and not depth:
                break
            if c == "(":
                depth += 1
            elif c == ")":
                if not depth:
                    break
                depth -= 1
            elif text.startswith(("&&", "||"), self.i) and not depth:
                break
            if c in "()|<>&; \t\n":
                out.append(Glob(c))
                self.i += 1
                continue
            value = self.pieces(_END, False)
            out.extend(value.pieces if isinstance(value, Word) else (Lit(value, True),))
        if self.i == start:
            raise SyntaxTrouble("a word was expected in `[[`")
        return self.settle(out, start)

    def pieces(self, end: frozenset[str], assigned: bool) -> Value:
        """Parse the pieces of a word up to one of ``end``."""
        text, start, n = self.text, self.i, len(self.text)
        out: list[Piece] = []
        while self.i < n:
            c = text[self.i]
            if c in end:
                if c in "<>" and text.startswith("(", self.i + 1) and end is _END:
                    out.append(self.process(c == ">"))
                    continue
                break
            found = _RUN.match(text, self.i)
            if found is not None:
                run = found[0]
                if not self.plain and HIDDEN.search(run):
                    raise SyntaxTrouble("it has a character that cannot be seen outside quotes")
                self.i = found.end()
                if run[-1] in "@+!" and text.startswith("(", self.i) and end is _END:
                    if len(run) > 1:
                        out.append(Lit(run[:-1], False))
                    out.extend(self.extended(run[-1]))
                    continue
                out.append(Lit(run, False))
                if assigned and run[-1] in ":=" and text.startswith("~", self.i):
                    self.tilde(out)
            elif c == "\\":
                if self.i + 1 >= n:
                    out.append(Lit("\\", True))
                    self.i += 1
                    continue
                if text[self.i + 1] != "\n":
                    out.append(Lit(text[self.i + 1], True))
                self.i += 2
            elif c == "'":
                close = text.find("'", self.i + 1)
                if close < 0:
                    raise SyntaxTrouble("a `'` is not closed")
                out.append(Lit(text[self.i + 1 : close], True))
                self.i = close + 1
            elif c == '"':
                self.i += 1
                self.quoted(out)
            elif c == "$":
                self.dollar(out, False)
            elif c == "`":
                out.append(self.backtick(False))
            elif c in "*?[":
                self.i += 1
                if c != "[" and text.startswith("(", self.i) and end is _END:
                    out.extend(self.extended(c))
                else:
                    out.append(Glob(c))
            elif c in "{},":
                out.append(Mark(c))
                self.i += 1
            elif c == "~" and self.i == start:
                self.tilde(out)
            elif c in _END:
                # Reached only where such a character has no meaning of its own.
                out.append(Lit(c, True))
                self.i += 1
            else:
                if HIDDEN.match(c):
                    raise SyntaxTrouble("it has a character that cannot be seen outside quotes")
                out.append(Lit(c, False))
                self.i += 1
        if self.i == start:
            raise SyntaxTrouble(f"a word was expected, got `{text[start : start + 10]}`")
        return self.settle(out, start)

    def settle(self, out: list[Piece], start: int) -> Value:
        """Join pieces to a ``str`` where nothing in them is expanded."""
        for piece in out:
            kind = type(piece)
            if kind is not Lit and kind is not Mark:
                return Word(tuple(out), self.text[start : self.i])
            if kind is Mark and piece.text == "{":  # type: ignore[union-attr]
                return Word(tuple(out), self.text[start : self.i])
        return "".join([p.text for p in out])  # type: ignore[union-attr]

    def tilde(self, out: list[Piece]) -> None:
        """Parse ``~`` or ``~user`` at the cursor."""
        found = _TILDE.match(self.text, self.i + 1)
        if found is None:
            out.append(Lit("~", False))
            self.i += 1
        else:
            out.append(Tilde(found[0]))
            self.i = found.end()

    def extended(self, kind: str) -> list[Piece]:
        """Parse an extended glob after its first character; substitutions in it still run."""
        self.deeper()
        out: list[Piece] = [Glob(kind), Glob("(")]
        self.i += 1
        while True:
            c = self.peek()
            if c == "":
                raise SyntaxTrouble("a pattern is not closed")
            if c == ")":
                self.i += 1
                break
            if c in "|&;<> \t\n(":
                out.append(Glob(c))
                self.i += 1
                continue
            value = self.pieces(frozenset("|)&;<> \t\n("), False)
            out.extend(value.pieces if isinstance(value, Word) else (Lit(value, True),))
        self.depth -= 1
        return [*out, Glob(")")]
