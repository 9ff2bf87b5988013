"""Compound commands: loops, branches, tests, functions, and what stands before a command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.plugins.shell.lexer import Lexer
from remit.plugins.shell.syntax import (
    Case,
    Coproc,
    For,
    Func,
    Group,
    Loop,
    Node,
    Redir,
    Seq,
    Simple,
    SyntaxTrouble,
    Test,
    Value,
    Word,
)

__all__ = ["CLOSERS", "Compound"]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
#: Words that end a part of a compound command and so begin no command.
CLOSERS = frozenset({"then", "do", "done", "fi", "elif", "else", "esac", "}"})


class Compound(Lexer):
    """The grammar of commands that hold commands."""

    if TYPE_CHECKING:

        def operator(self) -> str:
            """Skip blanks and return the operator at the cursor; the parser's."""

        def command(self) -> Node:
            """Parse one command; the parser's."""

        def redirections(self) -> Sequence[Redir]:
            """Parse redirections; the parser's."""

    def reserved(self, word: str) -> Node:
        """Parse the compound command that this word begins."""
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
        if word == "coproc":
            return self.coproc()
        if word in ("time", "!"):
            return self.timed()
        self.i += 8
        self.blank()
        name = self.raw_name()
        found = _FUNCTION.match(self.text, self.i)
        if found:
            self.i = found.end()
        return self.definition(name)

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

    def parenthesis(self) -> Node:
        """Parse ``( )``, or ``(( ))`` if it is arithmetic."""
        if self.text.startswith("((", self.i):
            found = self.arithmetic_command()
            if found is not None:
                return found
        self.i += 1
        body = self.sequence(frozenset())
        self.expect(")")
        return Group(body, True, self.redirections())

    def definition(self, name: str) -> Node:
        """Parse the body of a function."""
        self.newlines()
        return Func(name, self.command())
