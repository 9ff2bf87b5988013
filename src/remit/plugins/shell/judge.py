"""Judging one program by what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.plugins.shell.argv import Argv, read
from remit.plugins.shell.given import effects, given
from remit.plugins.shell.readers import READERS
from remit.plugins.shell.reading import Note
from remit.plugins.shell.tables import Entry
from remit.plugins.shell.values import Text, shown

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["apply", "judge"]


def judge(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """Note what a program does with these words."""
    asks = args and args[-1] in entry.info and all(shown(a)[:1] != "-" for a in args[:-1])
    if asks and (len(args) == 1 or (entry.sub and len(args) <= 4)):
        return
    if entry.reader:
        READERS[entry.reader](walk, note, entry, args)
    else:
        apply(walk, note, entry, args)


def apply(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """Note what an entry says of these words."""
    argv = read(args, entry.grammar)
    if entry.sub:
        _sub(walk, note, entry, argv)
        return
    given(walk, note, entry, argv)


def _sub(walk: Walk, note: Note, entry: Entry, argv: Argv) -> None:
    if argv.loose:
        note.unread(entry.name, f"`{argv.loose[0].raw}` may be any subcommand of `{entry.name}`")
        return
    if not argv.operands:
        effects(walk, note, entry, entry.effects)
        return
    head = argv.operands[0]
    texts = (head,) if isinstance(head, str) else head.choices
    if not texts:
        note.unread(entry.name, f"`{shown(head)}` may be any subcommand of `{entry.name}`")
    options: list[Text] = []
    for name, value in argv.options:
        options += [name] if value is None else [name, value]
    for text in texts:
        known = walk.known.entries
        sub = known.get(f"{entry.alias} {text}") or known.get(f"{entry.name} {text}")
        if sub is not None:
            judge(walk, note, sub, [*options, *argv.operands[1:]])
        elif entry.others:
            effects(walk, note, entry, entry.effects)
        else:
            note.unread(entry.name, f"`{entry.name} {text}` is not known")
