"""Quotes, ``$``, backquotes and here-documents: what is expanded within a word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from remit.plugins.shell.cursor import DEPTH, WORK, Cursor
from remit.plugins.shell.syntax import (
    Arith,
    Document,
    Lit,
    Param,
    Piece,
    Proc,
    Seq,
    Sub,
    SyntaxTrouble,
    Value,
    Word,
)

__all__ = ["Expansions", "unescape"]

_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]|[@*#?$!_-]", re.ASCII)
_BRACED = re.compile(r"[A-Za-z_]\w*|[0-9]+|[@*#?$!_-]", re.ASCII)
_QUOTED_RUN = re.compile(r"[^\"\\$`]+")
_ARITHMETIC_RUN = re.compile(r"[^$`\\'\"()\[\]]+")
_DOCUMENT_RUN = re.compile(r"[^\\$`]+")
_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.S,
)
_ESCAPES = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))


def unescape(text: str) -> str:
    """Undo the escapes of ``$'...'``."""

    def one(found: re.Match[str]) -> str:
        if digits := found[1] or found[2] or found[3]:
            code = int(digits, 16)
            return chr(code) if code < 0x110000 else ""
        if found[4]:
            return chr(int(found[4], 8) & 255)
        if found[5]:
            return chr(ord(found[5]) & 31)
        c = found[6]
        return _ESCAPES.get(c, c if c in "\\'\"?" else "\\" + c)

    # A NUL ends the string, as it does in the shell.
    return _ANSI.sub(one, text).partition("\0")[0]


class Expansions(Cursor):
    """The grammar of what is expanded."""

    if TYPE_CHECKING:

        def sequence(self, until: frozenset[str]) -> Seq:
            """Parse commands; the parser's."""

        def pieces(self, end: frozenset[str], assigned: bool) -> Value:
            """Parse the pieces of a word; the lexer's."""

        def word(self, assigned: bool = False) -> Value:
            """Parse a word; the lexer's."""

    def quoted(self, out: list[Piece]) -> None:
        """Parse the inside of double quotes, the cursor after the first."""
        text = self.text
        out.append(Lit("", True))
        while True:
            found = _QUOTED_RUN.match(text, self.i)
            if found is not None:
                out.append(Lit(found[0], True))
                self.i = found.end()
            c = text[self.i : self.i + 1]
            if c == '"':
                self.i += 1
                return
            if c == "":
                raise SyntaxTrouble('a `"` is not closed')
            self.within(c, out, '$`"\\\n')

    def within(self, c: str, out: list[Piece], escapable: str) -> None:
        """Parse an escape, an expansion or a substitution within quotes or a here-document."""
        if c == "\\":
            after = self.text[self.i + 1 : self.i + 2]
            if after and after in escapable:
                out.append(Lit("" if after == "\n" else after, True))
            else:
                out.append(Lit("\\" + after, True))
            self.i += 2
        elif c == "$":
            self.dollar(out, True)
        else:
            out.append(self.backtick(True))

    def backtick(self, quoted: bool) -> Sub:
        """Parse a substitution in backquotes: its text is unescaped, then parsed."""
        text, i = self.text, self.i + 1
        inner: list[str] = []
        while True:
            c = text[i : i + 1]
            if c == "":
                raise SyntaxTrouble("a backquote is not closed")
            if c == "`":
                break
            if c == "\\" and text[i + 1 : i + 2] in (
                "`",
                "\\",
                "$",
                '"' if quoted else "`",
            ):
                inner.append(text[i + 1])
                i += 2
                continue
            inner.append(c)
            i += 1
        self.i = i + 1
        return Sub(self.apart("".join(inner)), quoted)

    def apart(self, text: str) -> Seq:
        """Parse a text that is not a part of this one, under the same bounds."""
        self.deeper()
        other = self.inner(text)
        found = other.sequence(frozenset())
        if other.i < len(text):
            raise SyntaxTrouble(f"`{text[other.i : other.i + 10]}` was not expected there")
        self.depth -= 1
        self.assigned |= found.assigned
        return found

    def process(self, out: bool) -> Proc:
        """Parse a process substitution."""
        self.i += 2
        body = self.nested(")")
        return Proc(body, out)

    def nested(self, close: str) -> Seq:
        """Parse commands up to ``close``; their here-documents are their own."""
        pending, self.pending = self.pending, []
        body = self.sequence(frozenset({close}) if close == "}" else frozenset())
        self.expect(close)
        if self.pending:
            raise SyntaxTrouble("a here-document is not closed within its substitution")
        self.pending = pending
        return body

    def dollar(self, out: list[Piece], quoted: bool) -> None:
        """Parse what begins with ``$``, or recall it."""
        start = self.i
        known = self._read.get((start, quoted))
        if known is None:
            pieces: list[Piece] = []
            self.expansion(pieces, quoted)
            known = self._read[start, quoted] = (pieces, self.i)
        out.extend(known[0])
        self.i = known[1]

    def expansion(self, out: list[Piece], quoted: bool) -> None:
        """Parse what begins with ``$``."""
        text, i = self.text, self.i
        c = text[i + 1 : i + 2]
        if c == "(":
            if text.startswith("(", i + 2):
                found = self.arithmetic(i + 3, "))")
                if found is not None:
                    out.append(found._replace(quoted=quoted))
                    return
            self.i = i + 2
            out.append(Sub(self.nested(")"), quoted))
        elif c == "{":
            self.braced(out, quoted)
        elif c == "[":
            found = self.arithmetic(i + 2, "]")
            if found is None:
                raise SyntaxTrouble("arithmetic is not closed")
            out.append(found._replace(quoted=quoted))
        elif c == "'" and not quoted:
            end = i + 2
            while text[end : end + 1] != "'":
                if end >= len(text):
                    raise SyntaxTrouble("a `$'` is not closed")
                end += 2 if text[end] == "\\" else 1
            out.append(Lit(unescape(text[i + 2 : end]), True))
            self.i = end + 1
        elif c == '"' and not quoted:
            self.i = i + 2
            self.quoted(out)
        elif name := _NAME.match(text, i + 1):
            out.append(Param(name[0], "", None, quoted))
            self.i = name.end()
        else:
            out.append(Lit("$", quoted))
            self.i = i + 1

    def braced(self, out: list[Piece], quoted: bool) -> None:
        """Parse ``${...}``."""
        text = self.text
        self.deeper()
        self.i += 2
        if self.peek() in (" ", "\t", "\n", "|"):
            # A substitution that runs in this very shell (bash 5.3).
            self.i += 1
            out.append(Sub(self.nested("}"), quoted))
            self.depth -= 1
            return
        prefix = ""
        if self.peek() in ("#", "!") and not text.startswith("}", self.i + 1):
            prefix = self.peek()
            self.i += 1
        name = _BRACED.match(text, self.i)
        if name is None:
            raise SyntaxTrouble("`${` wants a name")
        self.i = name.end()
        words: list[Value] = []
        op = ""
        if self.peek() == "[":
            index = self.arithmetic(self.i + 1, "]")
            if index is None:
                raise SyntaxTrouble("a subscript is not closed")
            words.append(Word((index,), index.text))
            op = "["
        start = self.i
        inner: list[Piece] = []
        while True:
            c = self.peek()
            if c == "":
                raise SyntaxTrouble("a `${` is not closed")
            if c == "}":
                self.i += 1
                break
            if quoted:
                if c == '"':
                    self.i += 1
                    self.quoted(inner)
                elif c in "\\$`":
                    self.within(c, inner, '$`"\\\n}')
                else:
                    inner.append(Lit(c, True))
                    self.i += 1
            else:
                value = self.pieces(frozenset("}"), False)
                inner.extend(value.pieces if isinstance(value, Word) else (Lit(value, True),))
        rest = text[start : self.i - 1]
        argument: Value | None = None
        if inner:
            for known in (":-", ":=", ":+", ":?", "-", "=", "+", "?"):
                if rest.startswith(known) and not prefix and not op:
                    op = known
                    argument = _without(inner, len(known), rest)
                    break
            else:
                op = op or (rest[:1] + rest[1:2] if rest[:1] == "@" else rest[:1])
            words.append(Word(tuple(inner), rest))
        out.append(Param(name[0], prefix or op, argument, quoted, tuple(words)))
        self.depth -= 1

    def arithmetic(self, start: int, close: str) -> Arith | None:
        """Parse arithmetic up to ``close``; None, the cursor unmoved, if it does not end so."""
        before = self.i
        if start not in self._arithmetic:
            depth = self.depth
            try:
                found = self.expression(start, close)
            except SyntaxTrouble:
                if depth >= DEPTH or self.work[0] > WORK:
                    raise
                found = None
            self.depth = depth
            self._arithmetic[start] = None if found is None else (found, self.i)
        known = self._arithmetic[start]
        self.i = before if known is None else known[1]
        return None if known is None else known[0]

    def expression(self, start: int, close: str) -> Arith | None:
        """Parse an arithmetic expression and its end."""
        text = self.text
        self.deeper()
        self.i = start
        depth = 0
        words: list[Piece] = []
        opener, closer = ("[", "]") if close == "]" else ("(", ")")
        while True:
            found = _ARITHMETIC_RUN.match(text, self.i)
            if found is not None:
                self.i = found.end()
            c = self.peek()
            if c == "":
                return None
            if c == "$":
                self.dollar(words, True)
                continue
            if c == "`":
                words.append(self.backtick(True))
                continue
            self.i += 1
            if c == opener:
                depth += 1
                # Each is scanned once per level that might be arithmetic, so it is counted as work.
                self.work[0] += 1
                if self.work[0] > WORK:
                    raise SyntaxTrouble(f"it has more than {WORK} words")
            elif c == closer:
                if depth == 0:
                    if not text.startswith(close, self.i - 1):
                        return None
                    break
                depth -= 1
            elif c == "\\":
                self.i += 1
            elif c == '"':
                self.quoted(words)
            elif c == "'":
                end = text.find("'", self.i)
                self.i = end + 1 if end >= 0 else self.i
        inner = text[start : self.i - 1]
        self.i += len(close) - 1
        return Arith(inner, (Word(tuple(words), inner),) if words else (), False)

    def documents(self) -> None:
        """Read the bodies of the here-documents that were begun on the line before."""
        waiting, self.pending = self.pending, []
        for document in waiting:
            document.body = self.body(document)

    def body(self, document: Document) -> Value:
        """Read one here-document's body, the cursor at its first line."""
        text, written = self.text, document.written
        literal = any(c in written for c in "\\'\"")
        mark = re.sub(r"\\(.)|\$?['\"]", r"\1", written) if literal else written
        start = self.i
        while True:
            end = text.find("\n", self.i)
            line = text[self.i :] if end < 0 else text[self.i : end]
            if (line.lstrip("\t") if document.tabs else line) == mark:
                stop = self.i
                self.i = len(text) if end < 0 else end + 1
                break
            if end < 0:
                stop = self.i = len(text)
                break
            self.i = end + 1
        content = text[start:stop]
        if literal or not ("$" in content or "`" in content):
            return content
        self.deeper()
        other = self.inner(content)
        out: list[Piece] = []
        while other.i < len(content):
            found = _DOCUMENT_RUN.match(content, other.i)
            if found is not None:
                out.append(Lit(found[0], True))
                other.i = found.end()
            else:
                other.within(content[other.i], out, "$`\\\n")
        self.depth -= 1
        return Word(tuple(out), content)


def _without(inner: list[Piece], count: int, raw: str) -> Value:
    """Drop the first characters of a word: the operator before an expansion's argument."""
    rest = list(inner)
    while count and rest:
        first = rest[0]
        text = getattr(first, "text", "")
        if len(text) > count:
            rest[0] = first._replace(text=text[count:])  # type: ignore[call-arg]
            break
        count -= len(text)
        rest.pop(0)
    return Word(tuple(rest), raw)
