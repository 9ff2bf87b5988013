"""Words, quotes, expansions and here-documents: the lower half of the parser."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Self

from remit.plugins.shell.syntax import (
    Arith,
    Document,
    Glob,
    Lit,
    Mark,
    Param,
    Piece,
    Proc,
    Seq,
    Sub,
    SyntaxTrouble,
    Tilde,
    Value,
    Word,
)

__all__ = ["DEPTH", "WORK", "Lexer", "unescape"]

#: How deep a command may nest, and how many words it may have, before it is not read.
DEPTH = 48
WORK = 20_000

# The whole of most words: nothing in it is special, and a blank or an operator follows.
_SIMPLE = re.compile(r"(?:[\w./:,@%^+=-]+|\{\})(?=[\s;|&)]|$)")
_RUN = re.compile(r"[\w./:@%^+=\]!#-]+")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_BLANK_LINES = re.compile(r"(?:[ \t\n]|\\\n)+")
_BARE = re.compile(r"[^\s;|&()<>'\"\\`$]+")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]|[@*#?$!_-]", re.ASCII)
_BRACED = re.compile(r"[A-Za-z_]\w*|[0-9]+|[@*#?$!_-]", re.ASCII)
_QUOTED_RUN = re.compile(r"[^\"\\$`]+")
_ARITHMETIC_RUN = re.compile(r"[^$`\\'\"()\[\]]+")
_DOCUMENT_RUN = re.compile(r"[^\\$`]+")
_TILDE = re.compile(r"[\w.+-]*(?=[/:\s;|&)]|$)")
_END = frozenset(" \t\n;|&()<>")
# Characters that no reader sees or that are no blank although they look like one.
_HIDDEN = re.compile(
    "[\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\x00-\x08\x0b-\x1f\x7f\U000e0000-\U000e0fff]"
)
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


class Lexer:
    """The cursor, and everything that is within a word."""

    def __init__(self, text: str, depth: int = 0, work: list[int] | None = None) -> None:
        self.text = text
        self.i = 0
        self.depth = depth
        #: Words read so far, shared with the lexers of inner texts.
        self.work = [0] if work is None else work
        self.assigned: set[str] = set()
        self.pending: list[Document] = []
        self.plain = text.isascii() and not _HIDDEN.search(text)
        # What may be arithmetic or commands is tried both ways; each place is read once.
        self._read: dict[tuple[int, bool], tuple[list[Piece], int]] = {}
        self._arithmetic: dict[int, tuple[Arith, int] | None] = {}

    def inner(self, text: str) -> Self:
        """Return a lexer for a text within this one, under the same bounds."""
        return type(self)(text, self.depth, self.work)

    if TYPE_CHECKING:

        def sequence(self, until: frozenset[str]) -> Seq:
            """Parse commands; the parser's."""

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
            if c == "#":
                end = text.find("\n", self.i)
                self.i = len(text) if end < 0 else end
            elif newlines and c == "\n" and self.pending:
                self.i += 1
                self.documents()
            elif c == " " or c == "\t" or c == "\\" or (newlines and c == "\n"):
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

    def word(self, assigned: bool = False) -> Value:
        """Parse one word: a ``str`` if its text is known."""
        self.work[0] += 1
        if self.work[0] > WORK:
            raise SyntaxTrouble(f"it has more than {WORK} words")
        found = _SIMPLE.match(self.text, self.i)
        if found is not None and (self.plain or not _HIDDEN.search(found[0])):
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
                if not self.plain and _HIDDEN.search(run):
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
                if _HIDDEN.match(c):
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
