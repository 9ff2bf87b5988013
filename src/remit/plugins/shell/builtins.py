"""Builtins of the shell that change its state, or what later words mean.

Those that only print are entries of the knowledge tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from remit.plugins.shell.argv import Grammar, read
from remit.plugins.shell.reading import Note
from remit.plugins.shell.values import Loose, Text, options_of, shown

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["BUILTINS"]

_PLAIN = Grammar()
_READ = Grammar(dict.fromkeys(("-a", "-d", "-i", "-n", "-N", "-p", "-t", "-u"), 1))
_PRINTF = Grammar({"-v": 1}, stop=True)
_TRAP = Grammar(stop=True)
_EXEC = Grammar({"-a": 1}, stop=True)


def _folder(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    """``cd`` and ``pushd``: later relative paths start there."""
    found = read([a for a in args if not _turn(a)], _PLAIN)
    if len(found.operands) != len(args) and any(_turn(a) for a in args):
        walk.folders = (None,)
        return
    if not found.operands:
        walk.folders = (walk.ground.home if walk.ground.home != "~" else "~",)
        return
    target = found.operands[0]
    if walk.remote:
        return
    folders: list[str | None] = []
    for text in options_of(target) or ("",):
        for folder in walk.folders:
            if isinstance(target, Loose) and target.kind == "path" and target.prefix:
                folders.append(walk.ground.absolute(f"{target.prefix}?", folder))
                continue
            if text in ("", "-") or (isinstance(target, Loose) and not target.choices):
                folders.append(None)
                continue
            path = walk.ground.absolute(text, folder)
            if path is not None:
                end = walk.ground.resolved(path)
                if folder is not None and (
                    folder == end or folder.startswith(f"{end.rstrip('/')}/")
                ):
                    walk.certain.add(end)
                if not walk.ground.seen(path):
                    note.blind(f"nobody looked where `{text}` leads")
                path = end
            folders.append(path)
    walk.folders = tuple(dict.fromkeys(folders))[:4]


def _turn(arg: Text) -> bool:
    """Say whether a word turns the folder stack: ``pushd +1``, ``cd -``."""
    text = shown(arg)
    return text == "-" or (text[:1] in "+-" and text[1:].isdigit())


def _popd(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    walk.folders = (None,)


def _declare(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    """``export``, ``declare`` and their like: assignments in operands; bare, they print all."""
    found = read([a for a in args if not shown(a).startswith("+")], _PLAIN)
    if not found.operands and "-f" not in found.names and "-F" not in found.names:
        note.add("secret.read", "environment", "prints the variables of the shell")
    for operand in found.operands:
        text = operand if isinstance(operand, str) else operand.prefix
        name, equals, value = text.partition("=")
        if not equals:
            if isinstance(operand, Loose):
                note.blind(f"it cannot be seen what `{operand.raw}` sets")
            continue
        known: Text = value
        if isinstance(operand, Loose):
            known = Loose(
                operand.raw,
                value,
                operand.kind,
                choices=tuple(c.partition("=")[2] for c in operand.choices),
            )
        walk.exported(name.rstrip("+"), known, note)
        walk.vars[name.rstrip("+")] = known if not name.endswith("+") else Loose(f"${name}")
        walk.subscript(name)


def _unset(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    for arg in args:
        walk.subscript(shown(arg))
        walk.vars.pop(shown(arg), None)
        walk.functions.pop(shown(arg), None)
        if isinstance(arg, Loose):
            walk.vars.clear()


def _read(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    """``read`` and ``mapfile``: variables take what standard input holds."""
    found = read(args, _READ)
    names = [*found.operands, *found.values("-a")] or ["REPLY"]
    for name in names:
        walk.subscript(shown(name))
        feed = walk.feed
        if isinstance(feed, Loose) and feed.kind == "path":
            walk.set(shown(name), Loose(f"${shown(name)}", feed.prefix, "path"), note)
        else:
            walk.set(shown(name), Loose(f"${shown(name)}"), note)


def _printf(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    for name in read(args, _PRINTF).values("-v"):
        walk.subscript(shown(name))
        walk.set(shown(name), Loose(f"${shown(name)}"), note)


def _let(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    for arg in args:
        walk.arithmetic(shown(arg))
        walk.subscript(shown(arg))
        name = shown(arg).partition("=")[0].rstrip("+-*/%&|^<> ")
        walk.set(name, Loose(f"${name}", kind="number"), note)


def _test(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    for at, arg in enumerate(args):
        if at and args[at - 1] in ("-v", "-eq", "-ne", "-lt", "-gt", "-le", "-ge"):
            walk.subscript(shown(arg))


def _set(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    """``set``: bare it prints all; with operands it sets the positional parameters."""
    if not args:
        note.add("secret.read", "environment", "prints the variables of the shell")
    if "--" in args:
        walk.positional(args[list(args).index("--") + 1 :])
    elif args and not shown(args[0]).startswith(("-", "+")):
        walk.positional(args)


def _shift(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    walk.positional(())


def _eval(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    words = args[1:] if args and args[0] == "--" else args
    if words:
        walk.joined_code(words, note, apart=False)


def _source(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    name = shown(args[0]) if args else "."
    note.unread(name, f"`{name}` is a script that was not read")


def _exec(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    found = read(args, _EXEC)
    walk.command(found.operands, note)


def _command(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    """``command``: runs its words, or with ``-v`` says what they are."""
    found = read(args, Grammar(stop=True))
    if not found.has(("-v", "-V")):
        _past_functions(walk, found.operands, note)


def _builtin(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    _past_functions(walk, args[1:] if args and args[0] == "--" else args, note)


def _past_functions(walk: Walk, argv: Sequence[Text], note: Note) -> None:
    functions, walk.functions = walk.functions, {}
    walk.command(argv, note)
    walk.functions = functions


def _trap(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    found = read(args, _TRAP)
    if len(found.operands) > 1 and found.operands[0] not in ("-", ""):
        walk.code(found.operands[0], note)


def _alias(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    """``alias``: what it stands for may run later in this shell."""
    for arg in args:
        name, equals, value = shown(arg).partition("=")
        if equals and isinstance(arg, str):
            walk.code(value, note)
        elif isinstance(arg, Loose):
            note.unread(name, f"it cannot be seen what `{name}` stands for")


def _kill(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    if not args or args[0] not in ("-l", "-L", "-0"):
        note.blind("it cannot be seen which process a signal ends")


def _nothing(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    return None


def _hash(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    """``hash -p`` makes a name mean another file."""
    if any(shown(a).startswith("-") and "p" in shown(a) for a in args):
        note.unread("hash", "makes a name run another file")


def _disown(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    note.unread("disown", "leaves a process behind")


def _bind(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    note.unread(" ".join(map(shown, args)), "binds code that runs later")


def _history(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    if args and shown(args[0]) not in ("-p",) and not shown(args[0]).isdigit():
        note.blind("changes the history of the shell")


def _mapfile(walk: Walk, note: Note, args: Sequence[Text]) -> None:
    found = read(args, Grammar(dict.fromkeys(("-d", "-n", "-O", "-s", "-u", "-C", "-c"), 1)))
    for code in found.values("-C"):
        walk.code(code, note)
    for name in found.operands or ["MAPFILE"]:
        walk.set(shown(name), Loose(f"${shown(name)}"), note)


Builtin = Callable[["Walk", Note, Sequence[Text]], None]

#: Builtins by name.
BUILTINS: Mapping[str, Builtin] = MappingProxyType(
    {
        **dict.fromkeys(("cd", "pushd", "chdir"), _folder),
        "popd": _popd,
        **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), _declare),
        "unset": _unset,
        "read": _read,
        **dict.fromkeys(("mapfile", "readarray"), _mapfile),
        "printf": _printf,
        "let": _let,
        **dict.fromkeys(("test", "["), _test),
        "set": _set,
        "shift": _shift,
        "eval": _eval,
        **dict.fromkeys((".", "source"), _source),
        "exec": _exec,
        "command": _command,
        "builtin": _builtin,
        "trap": _trap,
        "alias": _alias,
        "kill": _kill,
        "disown": _disown,
        "hash": _hash,
        **dict.fromkeys(("bind", "complete", "compgen", "enable"), _bind),
        "history": _history,
        **dict.fromkeys(
            (
                ":", "true", "false", "echo", "pwd", "dirs", "exit", "return", "break", "continue",
                "umask", "ulimit", "type", "getopts", "shopt", "jobs", "fg", "bg", "wait",
                "unalias", "times", "logout", "suspend", "caller", "help", "setopt", "unsetopt",
            ),
            _nothing,
        ),
    }
)  # fmt: skip
