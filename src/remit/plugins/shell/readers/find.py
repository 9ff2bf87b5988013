"""``find``: in its expression a pattern is data and an action is code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.plugins.shell.argv import read
from remit.plugins.shell.given import given
from remit.plugins.shell.reading import Note
from remit.plugins.shell.tables import Entry
from remit.plugins.shell.values import Loose, Text, shown

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["fd", "find"]

_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FILES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_TAKES = frozenset(
    [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-iwholename",
        "-lname",
        "-ilname",
        "-regex",
        "-iregex",
        "-regextype",
        "-type",
        "-xtype",
        "-size",
        "-perm",
        "-user",
        "-group",
        "-uid",
        "-gid",
        "-newer",
        "-anewer",
        "-cnewer",
        "-mtime",
        "-atime",
        "-ctime",
        "-mmin",
        "-amin",
        "-cmin",
        "-maxdepth",
        "-mindepth",
        "-links",
        "-inum",
        "-samefile",
        "-fstype",
        "-printf",
        "-used",
        "-context",
        "-D",
        "-files0-from",
    ]
)


def find(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """Note what the actions of an expression do to what is below the roots."""
    roots: list[Text] = []
    i = 0
    while i < len(args):
        word = args[i]
        text = shown(word)
        if text in ("-H", "-L", "-P"):
            i += 1
            continue
        if isinstance(word, str) and word[:1] in ("-", "(", ")", "!", ","):
            break
        roots.append(word)
        i += 1
    for root in roots:
        if isinstance(root, Loose) and not root.prefix and root.kind == "unknown":
            note.unread("find", f"`{root.raw}` may be an action of `find`")
        walk.touch(note, root, "list")
    while i < len(args):
        word = args[i]
        i += 1
        if isinstance(word, Loose):
            note.unread("find", f"`{word.raw}` may be an action of `find`")
        elif word in _TAKES or word.startswith("-newer"):
            i += 1
        elif word in _RUNS:
            inner: list[Text] = []
            while i < len(args) and args[i] not in (";", "+"):
                inner.append(args[i])
                i += 1
            i += 1
            for root in roots or ["."]:
                walk.command([_filled(w, root) for w in inner], note)
        elif word == "-delete":
            for root in roots or ["."]:
                walk.touch(note, _below(root), "delete")
        elif word in _FILES and i < len(args):
            walk.touch(note, args[i], "write")
            i += 2 if word == "-fprintf" else 1


def _below(root: Text) -> Loose:
    """Return a word for any path below a root."""
    if isinstance(root, Loose):
        return Loose(root.raw, root.prefix, root.kind if root.prefix else "unknown", many=True)
    return Loose(f"{root}/...", root.rstrip("/") + "/", "path", many=True)


def _filled(word: Text, root: Text) -> Text:
    """Put what was found in the place of ``{}``."""
    if not isinstance(word, str) or "{}" not in word:
        return word
    below = _below(root)
    if word == "{}":
        return below._replace(raw="{}")
    head = word.partition("{}")[0]
    return Loose(word, head or below.prefix, shape=word.replace("{}", "$_"))


def fd(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """``fd``: after ``-x`` or ``-X`` stands a command that runs for what was found."""
    mark = next(
        (i for i, a in enumerate(args) if a in ("-x", "-X", "--exec", "--exec-batch")), None
    )
    argv = read(args[:mark], entry.grammar)
    given(walk, note, entry, argv)
    if mark is None:
        return
    inner = [a for a in args[mark + 1 :] if a != ";"]
    places = ("{}", "{/}", "{//}", "{.}", "{/.}")
    root = next(iter(argv.operands[1:]), ".")
    if not any(p in shown(a) for a in inner for p in places):
        inner.append("{}")
    walk.command([_filled("{}" if w in places else w, root) for w in inner], note)
