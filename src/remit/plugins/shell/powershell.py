"""PowerShell: commands and aliases by name, whatever their case.

Its language is not read in full: a line is split at its separators, quotes are undone, and what
is more than a command with literal words is opaque.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from attrs import frozen

from remit.plugins.shell.reading import Note
from remit.plugins.shell.values import Text

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["powershell"]

_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"`]|`.|\"\")*\"|`.|&&|\|\||>>?|[;|&\n(){}]|\$\(|@\(|#[^\n]*|[^\s;|&(){}'\"`>]+|\s",
    re.DOTALL,
)


@frozen
class Known:
    """What one command does: its effects, and what becomes of its operands."""

    effects: tuple[str, ...] = ()
    act: str = ""
    values: frozenset[str] = frozenset()


@cache
def _table() -> tuple[Mapping[str, Known], Mapping[str, str]]:
    text = files("remit.plugins").joinpath("programs/powershell.toml").read_text("utf-8")
    raw: dict[str, Any] = tomllib.loads(text)
    known = {}
    for row in raw["command"]:
        for name in row["names"].split():
            known[name.lower()] = Known(
                tuple(row.get("effects", "").split()), row.get("act", ""),
                frozenset(row.get("values", "").lower().split()),
            )  # fmt: skip
    aliases = {
        a.lower(): full.lower() for full, names in raw["aliases"].items() for a in names.split()
    }
    return known, aliases


def powershell(walk: Walk, text: str) -> None:
    """Note what a line of PowerShell does."""
    if len(text) > 20_000:
        note = Note(text[:60])
        note.unread("powershell", "it is too long to be read")
        walk.close(note)
        return
    words: list[str] = []
    word: str | None = None
    start = 0

    def end(at: int) -> None:
        nonlocal words, start
        if words:
            note = Note(text[start:at].strip(), (start, at))
            _command(walk, note, words)
            walk.close(note)
        words, start = [], at

    i = 0
    redirect = False
    for found in _TOKEN.finditer(text):
        token = found[0]
        i = found.end()
        if token[0] in " \t\r" or token == "\n":
            if word is not None:
                words.append(word)
                word = None
            if token == "\n":
                end(i)
        elif token[0] == "#" and word is None:
            continue
        elif token in (";", "|", "&&", "||", "{", "}", "(", ")") or token in (
            "$(",
            "@(",
        ):
            if word is not None:
                words.append(word)
                word = None
            end(found.start())
            start = i
        elif token == "&":
            # The call operator: what follows is the name of a command.
            continue
        elif token in (">", ">>"):
            if word is not None and not word.isdigit():
                words.append(word)
            word = None
            redirect = True
        else:
            piece = _unquoted(token)
            word = piece if word is None else word + piece
            if redirect and (i >= len(text) or text[i] in " \t\r\n;|&)}"):
                note = Note(f"> {word}", (found.start(), i))
                if word.lower() != "$null":
                    walk.touch(note, word, "write")
                walk.close(note)
                word, redirect = None, False
    if word is not None:
        words.append(word)
    end(len(text))


def _unquoted(token: str) -> str:
    if token[0] == "'":
        return token[1:-1].replace("''", "'")
    if token[0] == '"' and len(token) > 1:
        return re.sub(r"`(.)", r"\1", token[1:-1].replace('""', '"'))
    return token[1:] if token[0] == "`" else token


def _command(walk: Walk, note: Note, words: Sequence[str]) -> None:
    known, aliases = _table()
    name, args = words[0], list(words[1:])
    if re.fullmatch(r"\$[\w:]+", name):
        if args[:1] == ["="]:
            if args[1:]:
                if name.lower().startswith("$env:path"):
                    note.unread(name, "`PATH` changes which code runs")
                if re.fullmatch(r"[A-Za-z]+-[A-Za-z]+", args[1]):
                    _command(walk, note, args[1:])
                elif any(a.startswith("[") for a in args[1:]):
                    note.unread(name, "calls into the runtime")
            return
        if not args:
            return
        note.unread(name, f"the program `{name}` is not a literal name")
        return
    if "$" in name or name[:1] in "[.":
        note.unread(name, f"`{name}` was not read")
        return
    lowered = name.lower().removesuffix(".exe")
    lowered = aliases.get(lowered, lowered)
    if lowered in ("cmd", "powershell", "pwsh"):
        _shell(walk, note, lowered, args)
        return
    if lowered in (
        "invoke-expression",
        "start-process",
        "invoke-command",
        "add-type",
        "import-module",
    ):
        note.unread(lowered, f"`{name}` runs code that was not read")
        return
    found = known.get(lowered)
    own = name.lower().removesuffix(".exe")
    if found is not None and walk.known.get(own) is not None:
        # Whether the alias or a program of that name runs depends on the system: either may.
        both: list[Text] = list(args)
        walk.command([own, *both], note)
    if found is None:
        if walk.known.get(lowered) is not None:
            texts: list[Text] = list(args)
            walk.command([lowered, *texts], note)
            return
        if lowered.partition("-")[0] in (
            "get",
            "select",
            "where",
            "sort",
            "measure",
            "group",
            "format",
            "compare",
            "test",
            "convertto",
            "convertfrom",
            "write",
            "join",
            "split",
            "resolve",
        ):
            for arg in args:
                if not arg.startswith("-"):
                    walk.touch(note, arg, "read")
            return
        note.unread(name, f"`{name}` is not a known command")
        return
    for effect in found.effects:
        if effect == "opaque":
            note.blind(f"`{name}` changes the system")
        else:
            note.add(effect, name, f"`{name}` has {effect}")
    if not found.act or any(a.lower() == "-whatif" for a in args):
        if any(a.lower() == "-whatif" for a in args):
            note.targets.clear()
        return
    paths = _paths(args, found)
    acts = found.act.split()
    for at, path in enumerate(paths):
        act = acts[min(at, len(acts) - 1)]
        if "$" in path:
            note.add("worktree.write", "?", f"`{name}` changes `{path}`")
            if act == "delete":
                note.add("file.delete", "?")
            note.blind(f"it cannot be seen which path `{path}` is")
        else:
            walk.touch(note, path, act)
    if not paths and acts[0] == "delete":
        note.add("file.delete", "?", f"`{name}` removes what it is piped")


def _paths(args: Sequence[str], found: Known) -> list[str]:
    out, skip = [], False
    for arg in args:
        if skip:
            skip = False
        elif arg.startswith("-"):
            skip = arg.lower().rstrip(":") in found.values
        elif arg.startswith("/") and len(arg) <= 3 and arg[1:].isalpha():
            continue
        else:
            out += [a for a in arg.split(",") if a]
    return out


def _shell(walk: Walk, note: Note, name: str, args: Sequence[str]) -> None:
    """``cmd /c`` and ``powershell -c``: the rest is a line of its own."""
    for at, arg in enumerate(args):
        lowered = arg.lower()
        if name == "cmd" and lowered in ("/c", "/k", "/r"):
            powershell(walk, " ".join(args[at + 1 :]))
            return
        if name != "cmd" and len(lowered) > 1 and "-command".startswith(lowered):
            powershell(walk, " ".join(args[at + 1 :]))
            return
    if any(a.lower() in ("-version", "-help", "/?") for a in args):
        return
    note.unread(name, f"`{name}` starts a shell")
