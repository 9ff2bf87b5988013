"""Clients of clouds, of other machines and of database files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from remit.plugins.shell.argv import read
from remit.plugins.shell.given import given
from remit.plugins.shell.reading import Note
from remit.plugins.shell.tables import Entry
from remit.plugins.shell.values import Loose, Text, options_of, shown
from remit.policy.selectors import UNSEEN

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["cloud", "copy", "sqlite"]


@cache
def _verbs() -> Mapping[str, tuple[str, ...]]:
    text = files("remit.plugins").joinpath("programs/names.toml").read_text("utf-8")
    return {k: tuple(v.split()) for k, v in tomllib.loads(text)["cloud"].items()}


def cloud(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """A command is a path of words; the verb in it says whether it reads."""
    argv = read(args, entry.grammar)
    words = [shown(o) for o in argv.operands]
    if not words:
        return
    note.add("network.egress", entry.host, f"`{entry.name}` contacts its provider")
    verbs = _verbs()
    if any(w in verbs["secrets"] for w in words[1:3]) or ("secrets" in words and "access" in words):
        note.add("secret.read", " ".join(words[:3]), "prints a secret")
        return
    if words[0] in ("cp", "mv", "rsync", "sync") or words[1:2] in (
        ["cp"],
        ["mv"],
        ["sync"],
    ):
        tail = argv.operands[2 if words[0] == "s3" else 1 :]
        if tail and "://" in shown(tail[-1]):
            note.add("vendor.write", entry.host, f"writes `{shown(tail[-1])}`")
        elif tail:
            walk.touch(note, tail[-1], "write")
        if words[1:2] == ["mv"] or words[0] == "mv":
            note.add("vendor.write", entry.host, "moves an object")
        return
    if words[0] == "configure" or words[:2] in (["config", "set"], ["auth", "login"]):
        if words[1:2] not in (["list"], ["get"]):
            walk.touch(note, "~/.config", "write")
        return
    # The provider's words come first, then the verb; an operand's own text is never one.
    verb = next(
        (w for w in words[1:4] if w.split("-")[0] in verbs["reads"] or w in verbs["reads"]),
        None,
    )
    limit = 2 if entry.name == "aws" else 4
    if verb is not None and words.index(verb) < limit:
        return
    if words[0] in verbs["reads"]:
        return
    note.add("vendor.write", entry.host, f"`{' '.join(words[:3])}` changes a record")


def copy(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """``scp`` and ``rsync``: the last operand is written, here or on another machine."""
    argv = read(args, entry.grammar)
    given(walk, note, entry, argv)
    if argv.has(("-n", "--dry-run", "--list-only")):
        return
    for operand in argv.operands[:-1]:
        if host := _remote(operand):
            note.add("network.egress", host, f"contacts `{host}`")
        else:
            walk.touch(
                note,
                operand,
                "delete" if argv.has(("--remove-source-files",)) else "read",
            )
    if len(argv.operands) < 2:
        return
    last = argv.operands[-1]
    if host := _remote(last):
        note.add("network.egress", host, f"contacts `{host}`")
        note.add("file.write_outside", shown(last), f"writes `{shown(last)}`")
    else:
        deletes = any(n.startswith("--del") for n in argv.names)
        walk.touch(note, last, "delete" if deletes else "write")


def _remote(operand: Text) -> str:
    text = shown(operand)
    for prefix in ("rsync://", "scp://"):
        if text.startswith(prefix):
            return text[len(prefix) :].partition("/")[0] or UNSEEN
    head, colon, _ = text.partition(":")
    return head.rpartition("@")[2] or UNSEEN if colon and "/" not in head else ""


def sqlite(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """``sqlite3 file statement``: what a statement changes is the file."""
    from remit.plugins.sql import statements

    argv = read(args, entry.grammar)
    if argv.has(("-version", "--version", "-help", "--help")):
        return
    reads_only = argv.has(("-readonly", "--readonly"))
    file = argv.operands[0] if argv.operands else ":memory:"
    for value in argv.values("-init", "--init"):
        note.unread(shown(value), f"`{shown(value)}` is a script that was not read")
    given = [*argv.operands[1:], *argv.values("-cmd", "--cmd", "-c")]
    if not given:
        if isinstance(walk.feed, str):
            given = [walk.feed]
        else:
            note.unread(entry.name, "runs what it reads from standard input")
    walk.touch(note, file, "read")
    for value in given:
        for text in options_of(value):
            for found in statements(text, "sqlite" if entry.name == "sqlite3" else "duckdb"):
                if found.kind == "meta":
                    if text.split()[0] in (
                        ".tables",
                        ".schema",
                        ".indexes",
                        ".mode",
                        ".headers",
                        ".databases",
                        ".show",
                        ".width",
                        ".dump",
                    ):
                        continue
                    note.unread(entry.name, f"`{text.split()[0]}` is a command of the client")
                elif found.opaque:
                    note.blind(found.why)
                if found.effects and found.kind != "meta" and not reads_only:
                    if file != ":memory:":
                        walk.touch(note, file, "write")
                    if "process.spawn" in found.effects:
                        note.unread(entry.name, found.why)
        if isinstance(value, Loose) and not value.choices:
            walk.touch(note, file, "write")
            note.blind(f"the statement `{value.raw}` is not known")
