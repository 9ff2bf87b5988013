"""The syntax of a command line: what the parser makes and the walk runs through.

A word whose text is known is a plain ``str``. Every other word is a `Word` of pieces. Nodes are
named tuples, because a classification makes many of them and keeps none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "Arith",
    "Assign",
    "Case",
    "Coproc",
    "Document",
    "For",
    "Func",
    "Glob",
    "Group",
    "Lit",
    "Loop",
    "Mark",
    "Node",
    "Param",
    "Pipe",
    "Proc",
    "Redir",
    "Seq",
    "Simple",
    "Sub",
    "SyntaxTrouble",
    "Test",
    "Tilde",
    "Value",
    "Word",
]


class SyntaxTrouble(Exception):
    """The text is not a command line that could be understood; the message says why."""


class Lit(NamedTuple):
    """Literal text; quoted text is neither split nor expanded further."""

    text: str
    quoted: bool


class Glob(NamedTuple):
    """A character that matches file names."""

    text: str


class Mark(NamedTuple):
    """An unquoted ``{``, ``,`` or ``}``, which may be a brace expansion."""

    text: str


class Tilde(NamedTuple):
    """A home folder: the name after ``~``, empty for one's own."""

    user: str


class Param(NamedTuple):
    """``$name`` or ``${name op argument}``; ``words`` is all that is evaluated within it."""

    name: str
    op: str
    argument: Value | None
    quoted: bool
    words: tuple[Value, ...] = ()


class Sub(NamedTuple):
    """A command substitution."""

    body: Seq
    quoted: bool


class Proc(NamedTuple):
    """A process substitution, ``<( )`` or ``>( )``."""

    body: Seq
    out: bool


class Arith(NamedTuple):
    """Arithmetic: its text, and the words in it that are evaluated."""

    text: str
    words: tuple[Value, ...]
    quoted: bool


Piece: TypeAlias = Lit | Glob | Mark | Tilde | Param | Sub | Proc | Arith


class Word(NamedTuple):
    """A word that is more than its text; ``raw`` is how it was written."""

    pieces: tuple[Piece, ...]
    raw: str


Value: TypeAlias = str | Word


class Assign(NamedTuple):
    """``name=value`` or ``name+=value``; ``words`` holds subscripts and array items."""

    name: str
    value: Value
    words: tuple[Value, ...] = ()
    append: bool = False


class Document:
    """The body of a here-document; it stands further on in the text, so it is filled in later."""

    __slots__ = ("body", "tabs", "written")

    def __init__(self, written: str, tabs: bool) -> None:
        self.written = written
        self.tabs = tabs
        self.body: Value = ""


class Redir(NamedTuple):
    """A redirection to a word, or from a here-document."""

    op: str
    fd: str
    target: Value | Document


class Simple(NamedTuple):
    """A simple command; ``at`` is its place in the text."""

    assigns: Sequence[Assign]
    words: Sequence[Value]
    redirs: Sequence[Redir]
    at: tuple[int, int]
    text: str


class Seq(NamedTuple):
    """Commands one after the other, each with the operator that follows it."""

    items: Sequence[tuple[Any, str]]
    #: Names that are assigned somewhere within, and ``cd`` where the folder may change.
    assigned: frozenset[str] = frozenset()


class Pipe(NamedTuple):
    """Commands joined by pipes."""

    items: Sequence[Any]


class Group(NamedTuple):
    """``{ }`` or, with ``subshell``, ``( )``."""

    body: Seq
    subshell: bool
    redirs: Sequence[Redir]


class Loop(NamedTuple):
    """Alternatives (``if``) or, with ``again``, a loop over them (``while``, ``until``)."""

    bodies: Sequence[Seq]
    again: bool
    redirs: Sequence[Redir]


class For(NamedTuple):
    """``for`` and ``select``; no words means the positional parameters."""

    name: str
    words: Sequence[Value] | None
    body: Seq
    redirs: Sequence[Redir]


class Case(NamedTuple):
    """``case``: the subject, and the patterns and body of each branch."""

    subject: Value
    branches: Sequence[tuple[Sequence[Value], Seq]]
    redirs: Sequence[Redir]


class Func(NamedTuple):
    """A function definition."""

    name: str
    body: Any


class Test(NamedTuple):
    """``[[ ]]`` and ``(( ))``: words that are evaluated."""

    words: Sequence[Value]
    redirs: Sequence[Redir]
    arithmetic: bool = False


class Coproc(NamedTuple):
    """A command that runs beside the shell."""

    body: Any


Node: TypeAlias = Simple | Pipe | Group | Loop | For | Case | Func | Test | Coproc
