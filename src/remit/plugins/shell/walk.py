"""The walk: runs a command line in the mind and notes what every command in it would do.

It follows what changes the meaning of later words: folders, variables, functions. Branches are all
taken, loops are taken with the variables that they set forgotten, so what is found is what could
happen. Nothing here reads a file or starts a process.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from remit.plugins.places import Ground
from remit.plugins.shell.builtins import BUILTINS
from remit.plugins.shell.cursor import DEPTH
from remit.plugins.shell.environment import environment
from remit.plugins.shell.expand import evaluate, expand, literal
from remit.plugins.shell.flow import branches, case, coproc, each, group, merged
from remit.plugins.shell.judge import judge
from remit.plugins.shell.knowledge import Knowledge, knowledge
from remit.plugins.shell.parse import parse, plain
from remit.plugins.shell.prints import listed, printed
from remit.plugins.shell.reading import Note, Part
from remit.plugins.shell.redirect import redirect
from remit.plugins.shell.rows import rows
from remit.plugins.shell.syntax import (
    Assign,
    Case,
    Coproc,
    For,
    Func,
    Group,
    Loop,
    Node,
    Param,
    Pipe,
    Seq,
    Simple,
    Sub,
    SyntaxTrouble,
    Test,
    Value,
    Word,
)
from remit.plugins.shell.touch import touch
from remit.plugins.shell.values import Loose, Text, joined, options_of, shown
from remit.plugins.shell.wrap import unwrap
from remit.policy.tools import Facts

__all__ = ["TooMuch", "Walk"]

#: How many commands are followed before the rest is not read.
COMMANDS = 4_000

_SYSTEM = frozenset(
    [
        "/bin",
        "/usr/bin",
        "/usr/local/bin",
        "/sbin",
        "/usr/sbin",
        "/usr/local/sbin",
        "/opt/homebrew/bin",
    ]
)
_PIECES = re.compile(r"[;|&(){}`]+")
_NOT_THERE = frozenset({"exit", "return", "false"})


class TooMuch(SyntaxTrouble):
    """More would run than is followed."""


class Walk:
    """The state of a shell, and what was found so far."""

    def __init__(self, facts: Facts, known: Knowledge | None = None) -> None:
        self.facts = facts
        self._ground: Ground | None = None
        self.known = knowledge() if known is None else known
        self.parts: list[Part] = []
        self.vars: dict[str, Text] = {}
        self.functions: dict[str, Any] = {}
        self.folders: tuple[str | None, ...] = (facts.cwd or facts.worktree,)
        #: Folders that are certainly there, so that going there cannot fail.
        self.certain: set[str | None] = {facts.cwd, facts.worktree}
        #: What standard input holds: known text, names of files, or None for what was there before.
        self.feed: Text | None = None
        #: The machine that commands run on, empty for this one.
        self.remote = ""
        self.depth = 0
        self.count = 0
        self.repos: set[str] = set()
        self.globs: set[str] = set()

    @property
    def ground(self) -> Ground:
        """The places that paths are looked up in; many commands name none."""
        if self._ground is None:
            self._ground = Ground(self.facts)
            self.certain.update(self._ground.roots)
        return self._ground

    def look_through(self, text: str) -> None:
        """Run whatever looks like a command in a text that could not be parsed."""
        left = 200
        for line in text.split("\n")[:left]:
            pieces = [line]
            try:
                parse(line)
            except SyntaxTrouble:
                pieces = _PIECES.split(line)[:left]
            left -= len(pieces)
            for piece in pieces:
                with suppress(SyntaxTrouble):
                    self.sequence(parse(piece))

    @property
    def wanted(self) -> set[str]:
        """The paths that somebody would have to look at."""
        return set() if self._ground is None else self._ground.wants

    def whole(self, text: str) -> None:
        """Run a whole command line; of one that cannot be parsed, whatever looks like a command.

        A shell runs the lines before a wrong one, and what it makes of the rest is not known.
        """
        words = plain(text)
        if words is not None:
            # One command of plain words: the commonest line of all needs no parser.
            note = Note(text, (0, len(text)))
            self.command(words, note)
            self.close(note)
            return
        try:
            body = parse(text)
        except SyntaxTrouble as trouble:
            note = Note(text[:200])
            note.unread("sh", f"it could not be read: {trouble}")
            self.close(note)
            self.look_through(text)
            return
        self.sequence(body)

    # What expansion asks.

    def home(self, user: str) -> str:
        """Return a home folder; the folder stack (``~+``, ``~-``) is not followed."""
        if user == "+":
            return self.folders[0] or "~"
        return f"~{user}" if user else "~"

    def glob(self, pattern: str) -> Sequence[str] | None:
        """Return the names that a pattern matches; None, and wanted, if nobody looked."""
        folder = self.folders[0] if len(self.folders) == 1 else None
        path = self.ground.absolute(pattern, folder)
        if path is not None and not self.remote:
            if path in self.facts.globs:
                cut = len(path) - len(pattern) if path.endswith(pattern) else 0
                return [name[cut:] for name in self.facts.globs[path]]
            if self.facts.plain:
                return ()
            self.globs.add(path)
        return None

    def special(self, name: str) -> Text | None:
        """Return the folder or the home folder, where a variable stands for one."""
        if name == "HOME":
            return "~"
        if name == "PWD" and len(self.folders) == 1 and not self.remote:
            return self.folders[0]
        return None

    def arithmetic(self, text: str) -> None:
        """Look at arithmetic: it evaluates the text that its variables hold."""
        for name, value in self.vars.items():
            if name in text and any("$(" in c or "`" in c for c in options_of(value)):
                self.close(self.blinded(text, f"`{name}` is evaluated as arithmetic"))

    def substitute(self, body: Seq) -> Text:
        """Run a command substitution and return what it prints, as far as that is known."""
        return self.apart(body)

    def run_apart(self, body: Seq, fed: bool) -> Text:
        """Run a process substitution; its name is that of a descriptor."""
        feed, self.feed = self.feed, Loose("<(...)") if fed else None
        self.apart(body)
        self.feed = feed
        return "/dev/fd/63"

    def apart(self, body: Seq) -> Text:
        """Run commands in a shell of their own."""
        before = (self.vars, self.functions, self.folders)
        self.vars, self.functions = dict(self.vars), dict(self.functions)
        said = self.printed(body)
        self.sequence(body)
        self.vars, self.functions, self.folders = before
        return said

    def printed(self, body: Seq) -> Text:
        """Say what a substitution prints, for the few whose output is plain to see."""
        unknown = Loose("$(...)")
        if len(body.items) != 1 or not isinstance(body.items[0][0], Simple):
            return unknown
        node = body.items[0][0]
        if not node.words or not all(isinstance(w, str) for w in node.words):
            return unknown
        return printed(self, [shown(w) for w in node.words if isinstance(w, str)], node)

    # Nodes.

    def sequence(self, seq: Seq) -> None:
        """Run commands one after the other, following the folder through ``&&`` and ``||``."""
        self.deeper()
        items = seq.items
        start = self.folders
        kept: tuple[str | None, ...] | None = None
        for at, (node, op) in enumerate(items):
            if op == "&":
                before = (self.folders, dict(self.vars))
                self.run(node)
                self.folders, self.vars = before
                if not self.waited(items[at + 1 :]):
                    note = Note(getattr(node, "text", "&"))
                    note.unread("&", "leaves a process behind")
                    self.close(note)
            else:
                self.run(node)
            if kept is not None:
                self.folders = kept if _leaves(node) else merged(kept, self.folders)
                start = kept if _leaves(node) else start
                kept = None
            if op == "||" and self.folders != start:
                kept, self.folders = self.folders, start
            elif op != "&&" and op != "||":
                if op and not set(self.folders) <= self.certain:
                    self.folders = merged(self.folders, start)
                start = self.folders
        self.depth -= 1

    def waited(self, later: Sequence[tuple[Any, str]]) -> bool:
        """Say whether the shell waits for what it started."""
        return any(
            isinstance(node, Simple) and list(node.words[:1]) == ["wait"] for node, _ in later
        )

    def deeper(self) -> None:
        """Count one more level of commands within commands."""
        self.depth += 1
        if self.depth > DEPTH:
            raise TooMuch(f"it nests deeper than {DEPTH} levels")

    def run(self, node: Node) -> None:
        """Run one node."""
        _RUN[type(node)](self, node)

    def pipe(self, node: Pipe) -> None:
        """Run the commands of a pipe, each in a shell of its own."""
        outer = self.feed
        for at, item in enumerate(node.items):
            before = (self.vars, self.functions, self.folders)
            self.vars, self.functions = dict(self.vars), dict(self.functions)
            if at:
                self.feed = self.output(node.items[at - 1])
            self.run(item)
            self.vars, self.functions, self.folders = before
        self.feed = outer

    def output(self, node: Node) -> Text:
        """Say what a command writes to the pipe behind it."""
        if isinstance(node, Simple) and node.words:
            words = [w for w in node.words if isinstance(w, str)]
            if len(words) == len(node.words) and not (
                isinstance(found := printed(self, words, node), Loose) and found.kind == "unknown"
            ):
                return found
            if words and isinstance(node.words[0], str):
                return listed(self, node.words)
        return Loose("|", many=True)

    def define(self, node: Func) -> None:
        """Define a function; it does nothing until it is called."""
        self.functions[node.name] = node.body

    def test(self, node: Test) -> None:
        """Evaluate ``[[ ]]`` or ``(( ))``."""
        redirect(self, node.redirs)
        for word in node.words:
            evaluate(word, self)
            if not node.arithmetic:
                self.subscript(word)

    def subscript(self, word: Value) -> None:
        """Look for a subscript that a test or an assignment by name would evaluate."""
        text = word if isinstance(word, str) else word.raw
        if "[" in text and ("$(" in text or "`" in text) and text.find("[") < text.find("$("):
            self.close(self.blinded(text, "a subscript is evaluated"))

    # Simple commands.

    def simple(self, node: Simple) -> None:
        """Run a simple command."""
        self.count += 1
        if self.count > COMMANDS:
            raise TooMuch(f"more than {COMMANDS} commands would run")
        note = Note(node.text, node.at)
        feed = self.feed
        if node.redirs:
            redirect(self, node.redirs, note)
        words = node.words
        for assign in node.assigns:
            self.assign(assign, note, keep=not words)
        if words:
            argv: list[Text] = []
            for word in words:
                if type(word) is str:
                    argv.append(word)
                else:
                    argv += expand(word, self)
            first = words[0]
            if not isinstance(first, str) and _computed(first):
                note.unread(first.raw, f"the program `{first.raw}` is not a literal name")
            self.command(argv, note)
        self.feed = feed
        self.close(note)

    def close(self, note: Note) -> None:
        """Keep a finished part."""
        self.parts.append(note.part)

    def blinded(self, text: str, why: str) -> Note:
        """Return a note of something that could not be seen."""
        note = Note(text)
        note.blind(why)
        return note

    def assign(self, assign: Assign, note: Note, keep: bool) -> None:
        """Evaluate an assignment; with ``keep`` it holds for what follows."""
        for word in assign.words:
            evaluate(word, self)
        value = literal(assign.value, self)
        if assign.append:
            value = Loose(f"${assign.name}")
        self.exported(assign.name, value, note)
        if keep:
            self.vars[assign.name] = value

    def set(self, name: str, value: Text, note: Note | None = None) -> None:
        """Set a variable otherwise than by an assignment: by `read`, `for` and their like."""
        own = note or Note(name)
        self.exported(name, value, own)
        self.vars[name] = value
        if note is None and own.opaque:
            self.close(own)

    def exported(self, name: str, value: Text, note: Note) -> None:
        """Note what a variable does to the programs that see it."""
        environment(self, name, value, note)

    def touch(self, note: Note, value: Text, act: str) -> None:
        """Note what is done to a path, here or on another machine."""
        if not self.remote:
            touch(note, self.ground, self.folders, value, act)
        elif act in ("write", "delete", "move") and shown(value) not in (
            "-",
            "/dev/null",
        ):
            note.add(
                "file.write_outside",
                f"{self.remote}:{shown(value)}",
                f"changes `{shown(value)}`",
            )
            if act == "delete":
                note.add("file.delete", f"{self.remote}:{shown(value)}")

    def command(self, argv: Sequence[Text], note: Note) -> None:
        """Run a program, a builtin, a function or what a wrapper wraps, given its words."""
        if not argv:
            return
        program, args = argv[0], argv[1:]
        if type(program) is not str:
            assert isinstance(program, Loose)
            for text in program.choices:
                self.command([text, *args], note)
            if not program.choices:
                note.unread(program.raw, f"the program `{program.raw}` is not a literal name")
            return
        self.deeper()
        self._named(program, args, note)
        self.depth -= 1

    def _named(self, program: str, args: Sequence[Text], note: Note) -> None:
        name = program
        if "/" in program:
            folder, _, name = program.rpartition("/")
            if folder not in _SYSTEM:
                note.unread(program, f"`{program}` is a file that was not read")
                return
        elif program in self.functions:
            self.call(program, args)
            return
        builtin = BUILTINS.get(name)
        if builtin is not None and "/" not in program:
            builtin(self, note, args)
            return
        row = rows().get(name)
        if row is not None:
            unwrap(self, note, row, args)
            return
        entry = self.known.entries.get(name)
        if entry is None:
            note.unread(program, f"`{program}` is not a known program")
            return
        judge(self, note, entry, args)

    def call(self, name: str, args: Sequence[Text]) -> None:
        """Call a function with its arguments."""
        before = {k: v for k, v in self.vars.items() if k.isdigit() or k in ("@", "*")}
        self.positional(args)
        self.run(self.functions[name])
        for key in [k for k in self.vars if k.isdigit() or k in ("@", "*")]:
            del self.vars[key]
        self.vars.update(before)

    def positional(self, args: Sequence[Text]) -> None:
        """Set ``$1`` and so on."""
        for key in [k for k in self.vars if k.isdigit() or k in ("@", "*")]:
            del self.vars[key]
        for at, arg in enumerate(args[:9], 1):
            self.vars[str(at)] = arg
        if len(args) == 1 and not (isinstance(args[0], Loose) and args[0].many):
            self.vars["@"] = self.vars["*"] = args[0]

    def code(self, text: Text, note: Note, apart: bool = True) -> None:
        """Run a text as shell code; text that is not known is code that was not read."""
        if isinstance(text, Loose) and not text.choices:
            note.unread("sh", f"the code `{shown(text)}` is not known")
            if text.shape.strip("$_ "):
                # What is known of it is looked through all the same.
                with suppress(SyntaxTrouble):
                    self.apart(parse(text.shape))
            return
        for one in options_of(text):
            self.deeper()
            try:
                body = parse(one)
            except TooMuch:
                raise
            except SyntaxTrouble as trouble:
                note.unread("sh", f"`{one[:60]}` could not be read: {trouble}")
                self.look_through(one)
                self.depth -= 1
                continue
            if apart:
                self.apart(body)
            else:
                self.sequence(body)
            self.depth -= 1

    def joined_code(self, words: Sequence[Text], note: Note, apart: bool = True) -> None:
        """Run words joined with blanks as shell code."""
        self.code(joined(words), note, apart)


def _computed(word: Word) -> bool:
    """Say whether a word depends on a variable or on output."""
    return any(isinstance(p, Param | Sub) for p in word.pieces)


def _leaves(node: Node) -> bool:
    """Say whether a command certainly ends the shell: ``cd x || exit``."""
    if isinstance(node, Group):
        return bool(node.body.items) and _leaves(node.body.items[-1][0])
    return isinstance(node, Simple) and bool(node.words) and node.words[0] in _NOT_THERE


_RUN: dict[type, Any] = {
    Simple: Walk.simple,
    Pipe: Walk.pipe,
    Group: group,
    Loop: branches,
    For: each,
    Case: case,
    Func: Walk.define,
    Test: Walk.test,
    Coproc: coproc,
}
