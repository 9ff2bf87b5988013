"""Interpreters and archivers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from remit.plugins.shell.argv import read
from remit.plugins.shell.given import given
from remit.plugins.shell.reading import Note
from remit.plugins.shell.tables import Entry
from remit.plugins.shell.values import Text, shown

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["interpreter", "ln", "tar"]


@cache
def _modules() -> Mapping[str, str]:
    text = files("remit.plugins").joinpath("programs/names.toml").read_text("utf-8")
    found: dict[str, Any] = tomllib.loads(text)["modules"]
    return found


def interpreter(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """A language runtime: whatever code it runs was not read, but for modules that are known."""
    if args and all(a in entry.info for a in args):
        return
    takes = entry.grammar.takes
    i = 0
    while i < len(args):
        word = args[i]
        text = shown(word)
        i += 1
        if text[:1] != "-" or text == "-":
            break
        if text[:2] != "--" and entry.name == "python" and "m" in text[1:] and i <= len(args):
            module = text.partition("m")[2] or (shown(args[i]) if i < len(args) else "")
            rest = args[i:] if text.partition("m")[2] else args[i + 1 :]
            program = _modules().get(module)
            if program is not None:
                walk.command([program, *rest], note)
            else:
                note.unread(module, f"the module `{module}` is code that was not read")
            return
        if takes.get(text) == 1:
            i += 1
    argv = read(args, entry.grammar)
    for rule in entry.when:
        if rule.holds(argv):
            if rule.none:
                return
            for effect in rule.effects:
                if effect == "worktree.write":
                    for operand in argv.operands or ["."]:
                        walk.touch(note, operand, "write")
                elif effect == "package.install":
                    note.add(effect, "?", f"`{entry.name}` fetches packages")
                else:
                    note.add(effect, "?", f"`{entry.name}` has {effect}")
    note.unread(entry.name, f"`{entry.name}` runs code that was not read")


_TAR_VALUES = frozenset("fCbXTIFgHKLNVo") - {"o"}


def tar(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """``tar``: the mode decides, and it may stand without a dash."""
    words = list(args)
    if words and isinstance(words[0], str) and words[0] and words[0][0] not in "-":
        bundle, words = words[0], words[1:]
        front: list[Text] = []
        for letter in bundle:
            front.append(f"-{letter}")
            if letter in _TAR_VALUES and words:
                front[-1:] = [f"-{letter}", words.pop(0)]
        words = [*front, *words]
    argv = read(words, entry.grammar)
    if argv.loose:
        note.blind(f"`{argv.loose[0].raw}` may be an option of `tar`")
    for value in argv.values(
        "--to-command", "-I", "--use-compress-program", "-F", "--info-script",
        "--new-volume-script", "--rsh-command", "--rmt-command",
    ):  # fmt: skip
        walk.code(value, note)
    for value in argv.values("--checkpoint-action"):
        if shown(value).startswith("exec="):
            walk.code(shown(value)[5:], note)
    names = argv.names
    archive = argv.values("-f", "--file")
    folders = argv.values("-C", "--directory", "--one-top-level")
    for value in archive:
        head, colon, _ = shown(value).partition(":")
        if colon and "/" not in head and "--force-local" not in names:
            note.add("network.egress", head.rpartition("@")[2], f"reaches `{head}`")
    if names & {"-x", "--extract", "--get"}:
        for value in archive:
            walk.touch(note, value, "read")
        if not names & {"-O", "--to-stdout"}:
            for value in folders or ["."]:
                walk.touch(note, value, "write")
            if names & {"-P", "--absolute-names"}:
                note.add("file.write_outside", "?", "extracts to absolute names")
        return
    if names & {"-t", "--list", "-d", "--diff", "--compare"}:
        for value in archive:
            walk.touch(note, value, "read")
        return
    if names & {
        "-c",
        "--create",
        "-r",
        "--append",
        "-u",
        "--update",
        "-A",
        "--catenate",
        "--concatenate",
        "--delete",
    }:
        for value in archive:
            walk.touch(note, value, "write")
        for operand in argv.operands:
            walk.touch(note, operand, "delete" if "--remove-files" in names else "read")
        return
    if argv.operands or argv.options:
        note.blind("it cannot be seen what `tar` does")


def ln(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """``ln``: a link that is made here leads elsewhere for all that comes after it."""
    argv = read(args, entry.grammar)
    given(walk, note, entry, argv)
    if walk.remote:
        return
    folders = [f for f in walk.folders if f is not None]
    for folder in folders:
        into = next(iter(argv.values("-t", "--target-directory")), None)
        names = list(argv.operands)
        last = into if into is not None else names.pop() if len(names) > 1 else "."
        for name in names:
            if not isinstance(name, str) or not isinstance(last, str):
                note.blind("it cannot be seen where the link leads")
                continue
            link = walk.ground.absolute(last, folder)
            base = folder if not argv.has(("-s", "--symbolic")) else (link or "").rpartition("/")[0]
            end = walk.ground.absolute(name, base)
            inner = name.rstrip("/").rpartition("/")[2]
            for made in (link, f"{link}/{inner}"):
                if made and end and walk.ground.resolved(made) not in walk.ground.roots:
                    walk.ground.links[walk.ground.resolved(made)] = walk.ground.resolved(end)
