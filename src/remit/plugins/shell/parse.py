"""From text to `remit.plugins.shell.syntax`: the grammar of commands.

Written by hand after POSIX XCU 2 and the bash manual, since the parsers at hand lose commands or
refuse common ones (docs/decisions/0010-shell-parser.md). Whatever it does not understand raises
`SyntaxTrouble`, which the walk answers as opaque. Depth and work are bounded, so that a hostile
text costs no more than a long one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from remit.plugins.shell.compound import CLOSERS, Compound
from remit.plugins.shell.cursor import HIDDEN, WORK
from remit.plugins.shell.syntax import (
    Assign,
    Document,
    Node,
    Pipe,
    Redir,
    Seq,
    Simple,
    SyntaxTrouble,
    Value,
    Word,
)

__all__ = ["Parser", "parse", "plain"]

_ASSIGN = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_ASSIGN_ITEM = re.compile(r"([A-Za-z_]\w*)\[", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_REDIR = re.compile(
    r"(?:(\d+)|\{([A-Za-z_]\w*)\})?(&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||>(?!\()|<(?!\())"
)
_OPERATOR = re.compile(r"[ \t]*(&&|\|\||\|&|;;&|;;|;&|[|&;\n()])")
#: Words whose text is plain to see, quoted or not, each behind a blank; a run of them is taken at
#: once. What else a word can hold, and what can follow one, is left to `Lexer.word`.
_TEXT = r"(?:[\w./:,@%^+=-]++|'[^']*+'|\"[^\"\\$`]*+\")++(?=[\s;|&)]|\Z)"
_RUN = re.compile(rf"{_TEXT}(?:[ \t]++{_TEXT})*+")
_FIRST = re.compile(rf"(?![A-Za-z_]\w*\+?=){_TEXT}(?:[ \t]++{_TEXT})*+", re.ASCII)
_ONE = re.compile(r"(?:[\w./:,@%^+=-]++|'[^']*+'|\"[^\"]*+\")++")
_QUOTES = re.compile(r"'([^']*)'|\"([^\"]*)\"")
#: A reserved word that begins a command.
_RESERVED = re.compile(
    r"(?:\{|if|while|until|for|select|case|\[\[|function|coproc|time|!)(?=[\s;|&()<>]|\Z)"
)
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")

_FOLDER = frozenset({"cd", "pushd", "popd"})
_WORDS = CLOSERS | {"if", "for", "select", "while", "until", "case", "in", "function"}
_WORDS |= {"time", "coproc"}
_BETWEEN = frozenset({"&&", "||", "&", ";", "\n"})
_SEMI = frozenset({";", "&"})


def parse(text: str) -> Seq:
    """Parse a whole command line; raises `SyntaxTrouble`."""
    parser = Parser(text)
    found = parser.sequence(frozenset())
    if parser.i < len(text):
        raise SyntaxTrouble(f"`{text[parser.i : parser.i + 10]}` was not expected there")
    return found


def plain(text: str) -> list[str] | None:
    """Return the words of a line that is one run of them and nothing else; None for any other."""
    if _FIRST.fullmatch(text) and text.isascii() and not HIDDEN.search(text):
        words = _unquoted(text)
        return None if words[0] in _WORDS else words
    return None


def _unquoted(text: str) -> list[str]:
    """Take a run of plain words apart."""
    if "'" in text or '"' in text:
        return [_QUOTES.sub(r"\1\2", w) if "'" in w or '"' in w else w for w in _ONE.findall(text)]
    return text.split()


class Parser(Compound):
    """A cursor over one text."""

    #: Runs of plain words are taken at once, which changes nothing but the time it takes.
    quick = True
    #: The operator at the cursor, behind a pipeline.
    op = ""

    def sequence(self, until: frozenset[str]) -> Seq:
        """Parse commands up to the end, a closing ``)`` or a word of ``until``."""
        outer, self.assigned = self.assigned, set()
        self.deeper()
        items: list[tuple[Node, str]] = []
        while True:
            self.blank(newlines=True)
            c = self.text[self.i : self.i + 1]
            if c == "" or c == ")" or (c == ";" and self.text[self.i + 1 : self.i + 2] in _SEMI):
                break
            if until and self.bare_word() in until:
                break
            if c == ";" or c == "&" or c == "|":
                raise SyntaxTrouble(f"a command was expected before `{c}`")
            node = self.pipeline()
            op = self.op
            if op in _BETWEEN:
                self.i += len(op)
                if op == "\n":
                    self.documents()
                items.append((node, op))
                if op in ("&&", "||"):
                    self.blank(newlines=True)
                    if self.peek() in ("", ")") or self.at_word(CLOSERS):
                        raise SyntaxTrouble(f"a command was expected after `{op}`")
                continue
            items.append((node, ""))
            if op == "" and self.i < len(self.text) and not self.at_word(until):
                raise SyntaxTrouble(f"`{self.text[self.i : self.i + 10]}` was not expected there")
        self.depth -= 1
        assigned, self.assigned = self.assigned, outer
        if assigned:
            outer |= assigned
            return Seq(items, frozenset(assigned))
        return Seq(items)

    def operator(self) -> str:
        """Skip blanks and return the operator at the cursor, or the empty text."""
        if self.i >= len(self.text):
            return ""
        found = _OPERATOR.match(self.text, self.i)
        if found is None:
            self.blank()
            found = _OPERATOR.match(self.text, self.i)
            if found is None:
                return ""
        self.i = found.start(1)
        return found[1]

    def pipeline(self) -> Node:
        """Parse ``[time] [!] command [| command]...``."""
        first = self.command()
        op = self.op = self.operator()
        if op != "|" and op != "|&":
            return first
        items = [first]
        while op == "|" or op == "|&":
            self.i += len(op)
            self.blank(newlines=True)
            items.append(self.command())
            op = self.op = self.operator()
        return Pipe(items)

    def command(self) -> Node:
        """Parse one command: compound, definition or simple."""
        c = self.text[self.i : self.i + 1]
        if c == "(":
            return self.parenthesis()
        if c in "{[iwucfst!" and (found := _RESERVED.match(self.text, self.i)):
            return self.reserved(found[0])
        return self.simple()

    def simple(self) -> Node:
        """Parse a simple command, or the definition of a function."""
        text, start = self.text, self.i
        assigns: list[Assign] = []
        words: list[Value] = []
        redirs: list[Redir] = []
        end, size = start, len(text)
        quick = self.quick and self.plain
        while self.i < size:
            c = text[self.i]
            if c in "\n;|)":
                break
            if (
                quick
                and (found := (_RUN if words else _FIRST).match(text, self.i))
                and self.run(found[0], words)
            ):
                end = self.i = found.end()
                if self.i < size and text[self.i] in " \t":
                    self.blank()
                continue
            if c in "<>&0123456789{":
                redir = self.redirection()
                if redir is not None:
                    redirs.append(redir)
                    end = self.i
                    self.blank()
                    continue
            if c == "&":
                break
            if c == "(":
                empty = _FUNCTION.match(text, self.i)
                if empty and len(words) == 1 and isinstance(words[0], str) and not assigns:
                    self.i = empty.end()
                    return self.definition(words[0])
                raise SyntaxTrouble("`(` was not expected there")
            if not words:
                assign = self.assignment()
                if assign is not None:
                    assigns.append(assign)
                    end = self.i
                    self.blank()
                    continue
            quoted = c in "'\"\\"
            word = self.word()
            if not words and isinstance(word, str) and word in CLOSERS and not quoted:
                raise SyntaxTrouble(f"`{word}` was not expected there")
            words.append(word)
            self.note(word)
            end = self.i
            self.blank()
        if self.i == start:
            raise SyntaxTrouble(f"`{text[start : start + 10]}` was not expected there")
        return Simple(assigns, words, redirs, (start, end), text[start:end])

    def run(self, text: str, words: list[Value]) -> bool:
        """Add a run of plain words to a command; False if its first word needs a closer look."""
        found = _unquoted(text)
        if not words and found[0] in CLOSERS:
            return False
        self.work[0] += len(found)
        if self.work[0] > WORK:
            raise SyntaxTrouble(f"it has more than {WORK} words")
        words += found
        if "=" in text or not _FOLDER.isdisjoint(found):
            for word in found:
                self.note(word)
        return True

    def note(self, word: Value) -> None:
        """Note what a word may assign: ``export A=1`` does, and so may ``cd``."""
        if isinstance(word, str):
            if word in _FOLDER:
                self.assigned.add("cd")
            head = word
        else:
            head = getattr(word.pieces[0], "text", "")
        if "=" in head and (name := _ASSIGN.match(head)):
            self.assigned.add(name[1])

    def assignment(self) -> Assign | None:
        """Parse ``name=value``, ``name[i]=value`` or ``name=(...)``; None if none is here."""
        text, start = self.text, self.i
        found = _ASSIGN.match(text, start)
        words: list[Value] = []
        if found is None:
            item = _ASSIGN_ITEM.match(text, start)
            if item is None:
                return None
            index = self.arithmetic(item.end(), "]")
            if index is None or not text.startswith(("=", "+="), self.i):
                self.i = start
                return None
            words.append(Word((index,), index.text))
            self.i = text.index("=", self.i) + 1
            name, append = item[1], True
        else:
            self.i = found.end()
            name, append = found[1], bool(found[2])
        self.assigned.add(name)
        c = self.peek()
        if c == "(":
            self.i += 1
            while True:
                self.newlines()
                if self.peek() == ")":
                    self.i += 1
                    return Assign(name, "", tuple(words), True)
                if self.peek() == "":
                    raise SyntaxTrouble("an array is not closed")
                words.append(self.word())
        if c in ("", " ", "\t", "\n", ";", "&", "|", ")", "<", ">"):
            return Assign(name, "", tuple(words), append)
        return Assign(name, self.word(assigned=True), tuple(words), append)

    def redirections(self) -> Sequence[Redir]:
        """Parse the redirections that follow a compound command."""
        found: list[Redir] = []
        while True:
            self.blank()
            redir = self.redirection()
            if redir is None:
                return found
            found.append(redir)

    def redirection(self) -> Redir | None:
        """Parse one redirection; None if none is here."""
        found = _REDIR.match(self.text, self.i)
        if found is None:
            return None
        self.i = found.end()
        op, fd = found[3], found[1] or found[2] or ""
        self.blank()
        if op in ("<<", "<<-"):
            start = self.i
            self.word()
            document = Document(self.text[start : self.i], op == "<<-")
            self.pending.append(document)
            return Redir("<<", fd, document)
        return Redir(op, fd, self.word())
