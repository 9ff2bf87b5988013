"""From text to `remit.plugins.shell.syntax`: the grammar of commands.

Written by hand after POSIX XCU 2 and the bash manual, since the parsers at hand lose commands or
refuse common ones (docs/decisions/0010-shell-parser.md). Whatever it does not understand raises
`SyntaxTrouble`, which the walk answers as opaque. Depth and work are bounded, so that a hostile
text costs no more than a long one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from remit.plugins.shell.lexer import Lexer
from remit.plugins.shell.syntax import (
    Assign,
    Case,
    Coproc,
    Document,
    For,
    Func,
    Group,
    Loop,
    Node,
    Pipe,
    Redir,
    Seq,
    Simple,
    SyntaxTrouble,
    Test,
    Value,
    Word,
)

__all__ = ["parse"]

_ASSIGN = re.compile(r"([A-Za-z_]\w*)(\+?)=", re.ASCII)
_ASSIGN_ITEM = re.compile(r"([A-Za-z_]\w*)\[", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_REDIR = re.compile(
    r"(?:(\d+)|\{([A-Za-z_]\w*)\})?(&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||>(?!\()|<(?!\())"
)
_OPERATOR = re.compile(r"&&|\|\||\|&|;;&|;;|;&|[|&;\n()]")
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")

_CLOSERS = frozenset({"then", "do", "done", "fi", "elif", "else", "esac", "}"})
_FOLDER = frozenset({"cd", "pushd", "popd"})


def parse(text: str) -> Seq:
    """Parse a whole command line; raises `SyntaxTrouble`."""
    parser = Parser(text)
    found = parser.sequence(frozenset())
    if parser.i < len(text):
        raise SyntaxTrouble(f"`{text[parser.i : parser.i + 10]}` was not expected there")
    return found


class Parser(Lexer):
    """A cursor over one text."""

    def sequence(self, until: frozenset[str]) -> Seq:
        """Parse commands up to the end, a closing ``)`` or a word of ``until``."""
        outer, self.assigned = self.assigned, set()
        self.deeper()
        items: list[tuple[Node, str]] = []
        while True:
            self.blank(newlines=True)
            c = self.peek()
            if c == "" or c == ")" or self.text.startswith((";;", ";&"), self.i):
                break
            if self.at_word(until):
                break
            if c == ";" or c == "&" or c == "|":
                raise SyntaxTrouble(f"a command was expected before `{c}`")
            node = self.pipeline()
            self.blank()
            op = self.operator()
            if op in ("&&", "||", "&", ";", "\n"):
                self.i += len(op)
                if op == "\n":
                    self.documents()
                items.append((node, op))
                if op in ("&&", "||"):
                    self.blank(newlines=True)
                    if self.peek() in ("", ")") or self.at_word(_CLOSERS):
                        raise SyntaxTrouble(f"a command was expected after `{op}`")
                continue
            items.append((node, ""))
            if op == "" and self.i < len(self.text) and not self.at_word(until):
                raise SyntaxTrouble(f"`{self.text[self.i : self.i + 10]}` was not expected there")
        self.depth -= 1
        found = Seq(items, frozenset(self.assigned))
        outer |= self.assigned
        self.assigned = outer
        return found

    def operator(self) -> str:
        """Return the operator at the cursor, or the empty text."""
        found = _OPERATOR.match(self.text, self.i)
        return found[0] if found else ""

    def pipeline(self) -> Node:
        """Parse ``[time] [!] command [| command]...``."""
        items = [self.timed()]
        while True:
            self.blank()
            if self.operator() not in ("|", "|&"):
                break
            self.i += len(self.operator())
            self.blank(newlines=True)
            items.append(self.timed())
        return items[0] if len(items) == 1 else Pipe(items)

    def timed(self) -> Node:
        """Parse a command behind ``!`` and ``time``, which change nothing of what runs."""
        while self.peek() in "!t":
            word = self.bare_word()
            if word == "!":
                self.i += 1
                self.blank()
            elif word == "time":
                self.i += 4
                self.blank()
                while self.text.startswith(("-p", "--"), self.i):
                    self.i += 2
                    self.blank()
                if self.operator() or self.i >= len(self.text):
                    return Simple((), (), (), (self.i, self.i), "time")
            else:
                break
            if self.peek() == "":
                break
        return self.command()

    def command(self) -> Node:
        """Parse one command: compound, definition or simple."""
        text, start = self.text, self.i
        c = self.peek()
        if c == "(":
            if text.startswith("((", start):
                found = self.arithmetic_command()
                if found is not None:
                    return found
            self.i += 1
            body = self.sequence(frozenset())
            self.expect(")")
            return Group(body, True, self.redirections())
        if c in "{[iwucfs":
            word = self.reserved()
            if word is not None:
                return word
        if c == "c" and self.at_word(frozenset({"coproc"})):
            return self.coproc()
        return self.simple()

    def reserved(self) -> Node | None:
        """Parse the compound command that begins here, None if none does."""
        word = self.bare_word()
        if word == "{":
            self.i += 1
            body = self.sequence(frozenset({"}"}))
            self.expect("}")
            return Group(body, False, self.redirections())
        if word == "if":
            return self.conditional()
        if word in ("while", "until"):
            self.i += len(word)
            test = self.sequence(frozenset({"do"}))
            self.expect("do")
            body = self.sequence(frozenset({"done"}))
            self.expect("done")
            return Loop((test, body), True, self.redirections())
        if word in ("for", "select"):
            self.i += len(word)
            return self.each()
        if word == "case":
            self.i += 4
            return self.case()
        if word == "[[":
            self.i += 2
            return self.test()
        if word == "function":
            self.i += 8
            self.blank()
            name = self.raw_name()
            found = _FUNCTION.match(self.text, self.i)
            if found:
                self.i = found.end()
            return self.definition(name)
        return None

    def conditional(self) -> Node:
        """Parse ``if``."""
        self.i += 2
        bodies = [self.sequence(frozenset({"then"}))]
        self.expect("then")
        while True:
            bodies.append(self.sequence(frozenset({"elif", "else", "fi"})))
            if self.take("elif"):
                bodies.append(self.sequence(frozenset({"then"})))
                self.expect("then")
            elif self.take("else"):
                bodies.append(self.sequence(frozenset({"fi"})))
                self.expect("fi")
                break
            else:
                self.expect("fi")
                break
        return Loop(bodies, False, self.redirections())

    def each(self) -> Node:
        """Parse what follows ``for`` or ``select``."""
        self.blank()
        if self.text.startswith("((", self.i):
            head = self.arithmetic_command()
            if head is None:
                raise SyntaxTrouble("the head of a `for` could not be read")
            self.blank(newlines=True)
            self.take(";")
            body = self.loop_body()
            return Loop((Seq([(head, ";")]), body), True, self.redirections())
        name = _NAME.match(self.text, self.i)
        if name is None:
            raise SyntaxTrouble("`for` wants a name")
        self.i = name.end()
        self.assigned.add(name[0])
        self.blank(newlines=True)
        words: list[Value] | None = None
        if self.take("in"):
            words = []
            while True:
                self.blank()
                if self.operator() or self.i >= len(self.text):
                    break
                words.append(self.word())
        self.blank()
        if self.peek() == ";":
            self.i += 1
        return For(name[0], words, self.loop_body(), self.redirections())

    def loop_body(self) -> Seq:
        """Parse ``do ... done`` or ``{ ... }``."""
        self.newlines()
        close = "done"
        if not self.take("do"):
            self.expect("{")
            close = "}"
        body = self.sequence(frozenset({close}))
        self.expect(close)
        return body

    def case(self) -> Node:
        """Parse what follows ``case``."""
        self.blank()
        subject = self.word()
        self.newlines()
        self.expect("in")
        branches: list[tuple[Sequence[Value], Seq]] = []
        while True:
            self.newlines()
            if self.take("esac"):
                break
            if self.peek() == "(":
                self.i += 1
            patterns: list[Value] = []
            while True:
                self.blank()
                patterns.append(self.word())
                self.blank()
                if self.peek() != "|":
                    break
                self.i += 1
            self.expect(")")
            branches.append((patterns, self.sequence(frozenset({"esac"}))))
            self.blank(newlines=True)
            if (op := self.operator()) in (";;", ";&", ";;&"):
                self.i += len(op)
        return Case(subject, branches, self.redirections())

    def test(self) -> Node:
        """Parse what follows ``[[``."""
        words: list[Value] = []
        while True:
            self.blank(newlines=True)
            if self.take("]]"):
                break
            c = self.peek()
            if c == "":
                raise SyntaxTrouble("`[[` is not closed")
            if c in "()<>!" and not self.text.startswith(("<(", ">("), self.i):
                self.i += 1
            elif self.text.startswith(("&&", "||"), self.i):
                self.i += 2
            else:
                words.append(self.pattern_word())
        return Test(words, self.redirections())

    def arithmetic_command(self) -> Test | None:
        """Parse ``(( ))``; None, with the cursor unmoved, if these are two subshells."""
        start = self.i
        found = self.arithmetic(start + 2, "))")
        if found is None:
            self.i = start
            return None
        return Test((Word((found,), found.text),), self.redirections(), True)

    def coproc(self) -> Node:
        """Parse ``coproc [NAME] command``."""
        self.i += 6
        self.blank()
        name = _NAME.match(self.text, self.i)
        if name is not None:
            after = name.end()
            while self.text[after : after + 1] in (" ", "\t"):
                after += 1
            if self.text[after : after + 1] in ("{", "("):
                self.i = after
        return Coproc(self.command())

    def definition(self, name: str) -> Node:
        """Parse the body of a function."""
        self.newlines()
        return Func(name, self.command())

    def simple(self) -> Node:
        """Parse a simple command, or the definition of a function."""
        text, start = self.text, self.i
        assigns: list[Assign] = []
        words: list[Value] = []
        redirs: list[Redir] = []
        end = start
        while self.i < len(text):
            c = text[self.i]
            if c in "<>&0123456789{":
                redir = self.redirection()
                if redir is not None:
                    redirs.append(redir)
                    end = self.i
                    self.blank()
                    continue
            if c in "\n;|&)":
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
            quoted = self.peek() in "'\"\\"
            found = self.word()
            if not words and isinstance(found, str) and found in _CLOSERS and not quoted:
                raise SyntaxTrouble(f"`{found}` was not expected there")
            words.append(found)
            self.note(found)
            end = self.i
            self.blank()
        if self.i == start:
            raise SyntaxTrouble(f"`{text[start : start + 10]}` was not expected there")
        return Simple(assigns, words, redirs, (start, end), text[start:end])

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
