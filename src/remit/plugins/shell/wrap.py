"""Wrappers: programs that run what they are given, each with its own options.

A wrapper changes how something runs, not what: the words inside are judged like any command. A
wrapper that is not in the table is a program that is not known.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from remit.plugins.shell.argv import Argv, read
from remit.plugins.shell.builtins import BUILTINS
from remit.plugins.shell.judge import judge
from remit.plugins.shell.parse import parse
from remit.plugins.shell.reading import Note
from remit.plugins.shell.rows import Row
from remit.plugins.shell.syntax import SyntaxTrouble
from remit.plugins.shell.values import Loose, Text, joined, may_be_option, shown
from remit.policy.selectors import UNSEEN

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["unwrap"]

#: Where `parallel` puts an argument, and arguments that its shell takes as they are.
_PLACE = re.compile(r"\{(?:\d*|[#%/.]|//|/\.)\}")
_TAME = re.compile(r"[\w./:=@%+,-]+")
_ASSIGN = re.compile(r"[A-Za-z_]\w*=", re.ASCII)


def unwrap(walk: Walk, note: Note, row: Row, args: Sequence[Text]) -> None:
    """Judge what a wrapper runs."""
    if args and len(args) == 1 and args[0] in ("--help", "--version"):
        return
    if row.subs:
        _subcommand(walk, note, row, args)
        return
    argv = read(args, row.grammar)
    if argv.has(row.quiet):
        return
    for name in row.effects:
        _own(note, row, name, argv)
    for value in argv.values(*row.writes):
        walk.touch(note, value, "write")
    for value in argv.values(*row.reads):
        walk.touch(note, value, "read")
    for value in argv.values(*row.code):
        walk.code(value, note)
    before = walk.folders
    for value in argv.values(*row.folder):
        BUILTINS["cd"](walk, note, [value])
    _STYLE[row.style](walk, note, row, argv)
    walk.folders = before


def _own(note: Note, row: Row, effect: str, argv: Argv) -> None:
    """Note an effect of the wrapper itself."""
    if effect == "opaque":
        note.blind(f"`{row.name}` hides what it runs")
        return
    target = row.target or row.name
    if row.target == "operand":
        target = shown(argv.operands[0]) if argv.operands else UNSEEN
        if effect == "network.egress":
            target = target.rpartition("@")[2].partition(":")[0]
    note.add(effect, target, f"`{row.name}` has {effect}")


def _subcommand(walk: Walk, note: Note, row: Row, args: Sequence[Text]) -> None:
    """A program of which only some subcommands wrap; the tables know the others."""
    entry = walk.known.get(row.name)
    known = entry is not None and entry.grammar.stop
    argv = read(args, entry.grammar if entry is not None and known else row.grammar)
    head = argv.operands[0] if argv.operands else ""
    sub = row.subs.get(head) if isinstance(head, str) else None
    if sub is None:
        if entry is None:
            note.unread(row.name, f"`{row.name} {shown(head)}` is not known")
        else:
            judge(walk, note, entry, args)
        return
    unwrap(walk, note, sub, argv.operands[1:])


def _again(argv: Argv) -> list[Text]:
    """Put options back into words."""
    out: list[Text] = []
    for name, value in argv.options:
        out.append(name)
        if value is not None:
            out.append(value)
    return out


def _words(walk: Walk, note: Note, row: Row, argv: Argv) -> None:
    rest = list(argv.operands)
    if argv.loose:
        note.blind(f"`{argv.loose[0].raw}` may be an option of `{row.name}`")
    if row.assignments:
        while rest and (found := _ASSIGN.match(shown(rest[0]))):
            word = rest.pop(0)
            value: Text = shown(word)[found.end() :]
            if isinstance(word, Loose):
                value = Loose(word.raw, word.prefix[found.end() :])
            walk.exported(found[0][:-1], value, note)
    place = shown(rest[0]) if rest and row.inside else row.name
    rest = rest[row.skip :]
    if row.inside and "--" in rest:
        rest = rest[rest.index("--") + 1 :]
    if not rest:
        for effect in () if argv.has(row.code) else row.bare:
            _own(note, row, effect, argv)
        return
    if len(rest) > 1 and rest[0] in row.code:
        walk.code(rest[1], note)
        return
    remote = walk.remote
    if row.inside:
        walk.remote = place
    walk.command(rest, note)
    walk.remote = remote


def _text(walk: Walk, note: Note, row: Row, argv: Argv) -> None:
    """Words joined to code, as ``watch`` and ``ssh`` do; quotes in them are read once more."""
    if row.direct and argv.has(row.direct):
        _words(walk, note, row, argv)
        return
    rest = list(argv.operands)
    if argv.loose:
        note.blind(f"`{argv.loose[0].raw}` may be an option of `{row.name}`")
    place = shown(rest[0]) if rest and row.inside else row.name
    rest = rest[row.skip :]
    if not rest:
        for effect in row.bare:
            _own(note, row, effect, argv)
        return
    remote, folders = walk.remote, walk.folders
    if row.inside:
        walk.remote = place
    walk.joined_code(rest, note)
    walk.remote, walk.folders = remote, folders


def _lines(walk: Walk, note: Note, row: Row, argv: Argv) -> None:
    """``parallel``: its words are code, run for every argument, which is added or put in place."""
    rest = list(argv.operands)
    if argv.loose:
        note.blind(f"`{argv.loose[0].raw}` may be an option of `{row.name}`")
    marks = [i for i, w in enumerate(rest) if w in (":::", "::::", ":::+", "::::+")]
    given: list[Text] = []
    if marks:
        rest, after = rest[: marks[0]], rest[marks[0] :]
        known = all(w not in ("::::", "::::+") for w in after)
        given = [w for w in after if w not in (":::", ":::+")] if known else []
    if not rest:
        for effect in row.bare:
            _own(note, row, effect, argv)
        return
    code = joined(rest)
    for one in given[:8] or [Loose("$_")]:
        text = shown(one) if isinstance(one, str) else "$_"
        filled = shown(code) if isinstance(code, str) else code.shape
        found = _PLACE.sub(lambda _, t=text: t, filled)  # type: ignore[misc]
        if found == filled:
            found = f"{filled} {text}"
            with suppress(SyntaxTrouble):
                walk.apart(parse(filled))
        if isinstance(one, str) and isinstance(code, str) and _TAME.fullmatch(one):
            walk.code(found, note)
        else:
            walk.code(Loose(shown(code), shape=found), note)


def _shell(walk: Walk, note: Note, row: Row, argv: Argv) -> None:
    """``sh -c code``, ``sh script`` or a shell that reads standard input."""
    if argv.loose:
        note.unread(row.name, f"`{argv.loose[0].raw}` may be an option of `{row.name}`")
        return
    if argv.has(("--rcfile", "--init-file")):
        note.unread(row.name, "starts with a file that was not read")
    rest = argv.operands
    letters = "".join(n[1:] for n, _ in argv.options if len(n) == 2)
    if "c" in letters:
        if not rest:
            return
        before = dict(walk.vars)
        walk.positional(rest[2:])
        walk.code(rest[0], note)
        walk.vars = before
        return
    if "n" in letters and rest:
        walk.touch(note, rest[0], "read")
        return
    if rest and "s" not in letters:
        note.unread(shown(rest[0]), f"`{shown(rest[0])}` is a script that was not read")
        return
    feed = walk.feed
    if isinstance(feed, str):
        walk.feed = None
        walk.code(feed, note)
        walk.feed = feed
    else:
        note.unread(row.name, f"`{row.name}` runs what it reads from standard input")


def _each(walk: Walk, note: Note, row: Row, argv: Argv) -> None:
    """``xargs``: words from standard input are added to the command, or put in its place."""
    feed = walk.feed
    rest = list(argv.operands) or ["echo"]
    if argv.loose:
        note.blind(f"`{argv.loose[0].raw}` may be an option of `{row.name}`")
    replace = next((shown(v) for v in argv.values("-I", "-J")), "")
    if not replace and argv.has(("-i", "--replace")):
        replace = next((shown(v) for v in argv.values("-i", "--replace")), "{}") or "{}"
    if argv.has(("-a", "--arg-file")):
        feed = None
    more: list[Text]
    if isinstance(feed, str):
        try:
            more = [*shlex.split(feed)[:64]]
        except ValueError:
            more = [Loose("stdin", many=True)]
    elif isinstance(feed, Loose):
        more = [feed._replace(many=True)]
    else:
        more = [Loose("stdin", many=True)]
    walk.feed = None
    if not replace:
        walk.command([*rest, *more], note)
    else:
        for one in more[:8] or [""]:
            walk.command([_put(w, replace, one) for w in rest], note)
    walk.feed = feed


def _put(word: Text, mark: str, value: Text) -> Text:
    """Put a value in the place of a mark."""
    if not isinstance(word, str) or mark not in word:
        return word
    if isinstance(value, str):
        return word.replace(mark, value)
    head = word.partition(mark)[0]
    if word == mark:
        return value._replace(raw=mark, many=False)
    shape = word.replace(mark, "$_")
    kind = value.kind if not may_be_option(head) else "unknown"
    return Loose(word, head + ("" if head else value.prefix), kind, shape=shape)


def _code(walk: Walk, note: Note, row: Row, argv: Argv) -> None:
    """A shell of its own: what it runs is read only where an option says it."""
    if not argv.has(row.code):
        note.unread(row.name, f"`{row.name}` starts a shell")
    if row.writes:
        for operand in argv.operands:
            walk.touch(note, operand, "write")


def _powershell(walk: Walk, note: Note, row: Row, argv: Argv) -> None:
    """Another shell: the names in its code are known, its language is not read in full."""
    from remit.plugins.shell.powershell import powershell

    note.unread(row.name, f"`{row.name}` is another shell")
    words = [row.name, *(shown(w) for w in (*_again(argv), *argv.operands))]
    powershell(walk, " ".join(f"'{w}'" if " " in w else w for w in words))


def _unread(walk: Walk, note: Note, row: Row, argv: Argv) -> None:
    """What runs is decided by files or by the network; a command that is named is judged too."""
    rest = argv.operands[row.skip :]
    note.unread(
        shown(rest[0]) if rest else row.name,
        f"`{row.name}` runs code that was not read",
    )
    if rest and isinstance(rest[0], str):
        walk.command(rest, note)


_STYLE = {
    "words": _words,
    "text": _text,
    "shell": _shell,
    "each": _each,
    "lines": _lines,
    "code": _code,
    "powershell": _powershell,
    "unread": _unread,
}
