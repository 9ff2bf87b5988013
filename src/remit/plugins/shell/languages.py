"""Small languages that programs are given as an argument, read as far as they can act.

A script of sed or awk is nearly always pure; the few commands of theirs that write or run
something are looked for, and what cannot be read is code that was not read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from remit.plugins.shell.reading import Note
from remit.plugins.shell.values import Text, options_of, shown

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["awk", "sed", "sql"]

_SED_ADDRESS = re.compile(
    r"\s*(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]]*\])*/[IM]*|\\(.)(?:(?!\1)[^\\\n]|\\.)*\1[IM]*)?"
    r"(?:\s*,\s*(?:[+~]?\d+|\$|/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]]*\])*/[IM]*))?\s*!*\s*",
    re.DOTALL,
)
_SED_PLAIN = frozenset("dDgGhHlnNpPxzF=}{")


def sed(walk: Walk, note: Note, value: Text) -> None:
    """Read a script of sed: ``w`` writes files, ``e`` runs commands."""
    for text in options_of(value):
        if not _sed(walk, note, text):
            note.unread("sed", f"the script `{text[:60]}` could not be read")
    if not options_of(value):
        note.unread("sed", f"the script `{shown(value)}` is not known")


def _sed(walk: Walk, note: Note, text: str) -> bool:
    i, n = 0, len(text)
    while i < n:
        if text[i] in " \t\n;":
            i += 1
            continue
        found = _SED_ADDRESS.match(text, i)
        i = found.end() if found else i
        if i >= n:
            return False
        c = text[i]
        i += 1
        if c in _SED_PLAIN:
            if c in "lL":
                i = _digits(text, i)
            continue
        if c == "#":
            i = _line(text, i)
        elif c in "qQ":
            i = _digits(text, i)
        elif c in ":btT":
            label = re.compile(r"[^;\n}]*").match(text, i)
            i = label.end() if label else n
        elif c in "aic":
            added = re.compile(r"(?:[^\\\n]|\\.)*", re.DOTALL).match(text, i)
            i = added.end() if added else n
        elif c in "rR":
            end = _line(text, i)
            walk.touch(note, text[i:end].strip(), "read")
            i = end
        elif c in "wW":
            end = _line(text, i)
            walk.touch(note, text[i:end].strip(), "write")
            i = end
        elif c in "sy":
            after = _delimited(text, i, 2)
            if after is None:
                return False
            i = after
            flags = re.compile(r"[gpiImMe0-9]*").match(text, i)
            if c == "s" and flags:
                i = flags.end()
                if "e" in flags[0]:
                    note.unread("sed", "the flag `e` runs what it makes")
                if text[i : i + 1] == "w":
                    end = _line(text, i)
                    walk.touch(note, text[i + 1 : end].strip(), "write")
                    i = end
        elif c == "e":
            end = _line(text, i)
            command = text[i:end].strip()
            if command:
                walk.code(command, note)
            else:
                note.unread("sed", "`e` runs what is in its buffer")
            i = end
        else:
            return False
    return True


def _digits(text: str, i: int) -> int:
    while i < len(text) and text[i] in " \t0123456789":
        i += 1
    return i


def _line(text: str, i: int) -> int:
    end = text.find("\n", i)
    return len(text) if end < 0 else end


def _delimited(text: str, i: int, parts: int) -> int | None:
    """Step over ``/a/b/`` with any delimiter, the cursor before the first."""
    if i >= len(text) or text[i] in "\\\n":
        return None
    mark = text[i]
    i += 1
    inside = False
    while parts and i < len(text):
        c = text[i]
        if c == "\\":
            i += 1
        elif c == "[" and not inside and parts == 2 and mark != "[":
            close = text.find("]", i + (3 if text[i + 1 : i + 2] == "^" else 2))
            # A bracket may hold the delimiter; one that is never closed is plain text.
            if close > 0 and "\n" not in text[i:close] and mark in text[i:close]:
                i = close
        elif c == mark:
            parts -= 1
        i += 1
    return None if parts else i


_AWK_QUIET = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|#[^\n]*'
    # A regular expression stands where an operand would: after an operator, a bracket or nothing.
    r"|(?:(?<=[~(,;{!&|])|(?<=^)|(?<=[~(,;{!&|] )|(?<=\n))/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n]*\])+/",
    re.DOTALL,
)
_AWK_ACTS = re.compile(r"\bsystem\b|\bgetline\b|\|&?|@\s*load|@\s*include|@\w+\s*\(")
_AWK_PRINT = re.compile(r"\bprintf?\b[^;\n}]*?(?<![=!<>])(>>?)(?!=)\s*([^;\n}]*)")


def awk(walk: Walk, note: Note, value: Text) -> None:
    """Read a program of awk: printing into files writes, pipes and ``system`` run commands."""
    for text in options_of(value):
        _awk(walk, note, text)
    if not options_of(value):
        note.unread("awk", f"the program `{shown(value)}` is not known")


def _awk(walk: Walk, note: Note, text: str) -> None:
    strings: list[str] = []

    def quiet(found: re.Match[str]) -> str:
        if found[0][0] == '"':
            strings.append(found[0][1:-1])
            return f'"{len(strings) - 1}"'
        return " " if found[0][0] == "#" else " 0 "

    bare = _AWK_QUIET.sub(quiet, text).replace("||", " or ").replace("&&", " and ")
    for found in _AWK_ACTS.finditer(bare):
        note.unread("awk", f"the program has `{found[0]}`")
        return
    for found in _AWK_PRINT.finditer(bare):
        if "(" in found[0][: found.start(1) - found.start()] and _open(found[0]):
            continue
        target = found[2].strip()
        if target[:1] == '"' and target.rstrip().endswith('"') and target.count('"') == 2:
            walk.touch(note, strings[int(target.strip().strip('"'))], "write")
        else:
            note.add("worktree.write", "?", "the program prints into a file")
            note.blind(f"it cannot be seen which file `{target}` is")


def _open(text: str) -> bool:
    """Say whether a ``>`` stands within parentheses, where it compares."""
    depth = 0
    for c in text:
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        elif c == ">":
            return depth > 0
    return False


def sql(walk: Walk, note: Note, value: Text) -> None:
    """Read SQL that a database client is given; what it changes is a record of the database."""
    from remit.plugins.sql import statements

    for text in options_of(value):
        for found in statements(text):
            for effect in found.effects:
                note.add(effect, found.target, found.why)
            if found.opaque:
                note.blind(found.why)
    if not options_of(value):
        note.blind(f"the statement `{shown(value)}` is not known")
