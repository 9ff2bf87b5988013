"""What a command does to a path: effects by where the path lies."""

from __future__ import annotations

from collections.abc import Sequence

from remit.plugins.places import Ground, Place
from remit.plugins.shell.reading import Note
from remit.plugins.shell.values import Loose, Text, shown
from remit.policy.selectors import UNSEEN

__all__ = ["touch"]

WRITE, OUTSIDE, DELETE, SECRET = (
    "worktree.write",
    "file.write_outside",
    "file.delete",
    "secret.read",
)
_CHANGES = frozenset({"write", "delete", "move"})
_SAID = {
    "read": "reads",
    "list": "looks at",
    "write": "writes",
    "delete": "removes",
    "move": "moves",
}


def touch(note: Note, ground: Ground, folders: Sequence[str | None], value: Text, act: str) -> None:
    """Note what ``act`` (read, list, write, delete, move) does to the path that a word names.

    ``folders`` are the folders that the command may run in, None for one that is not known.
    """
    if value in ("-", ""):
        return
    if isinstance(value, str):
        for folder in folders:
            _known(note, ground, folder, value, act)
        return
    for text in value.choices:
        for folder in folders:
            _known(note, ground, folder, text, act)
    if not value.choices:
        for folder in folders:
            _unknown(note, ground, folder, value, act)


def _known(note: Note, ground: Ground, folder: str | None, path: str, act: str) -> None:
    place = ground.place(path, folder)
    if place is None:
        _nowhere(note, path, act)
        return
    _place(note, place, act, path)
    if act in ("delete", "move") and (kept := ground.shields(path, folder)):
        note.protected.append(kept)


def _nowhere(note: Note, path: str, act: str) -> None:
    """A path that cannot be placed may be inside or outside."""
    if act not in _CHANGES:
        return
    note.add(WRITE, UNSEEN)
    if act == "delete":
        note.add(DELETE, UNSEEN)
    note.blind(f"it cannot be seen which path `{path}` is")


def _place(note: Note, place: Place, act: str, said: str) -> None:
    if place.hidden:
        note.protected.append(place.hidden)
    if act in ("read", "move") and place.secret:
        for name in place.names:
            note.add(SECRET, name, f"reads the secret file `{said}`")
    if act not in _CHANGES:
        if act == "read" and not place.seen:
            note.blind(f"nobody looked where `{said}` leads")
        return
    if place.free:
        return
    if place.protected:
        note.protected.append(place.protected)
    effect = WRITE if place.inside else OUTSIDE
    where = "" if place.inside else ", outside the worktree"
    for name in place.names:
        note.add(effect, name, f"{_SAID[act]} `{said}`{where}")
        if act == "delete":
            note.add(DELETE, name)
    if not place.seen:
        note.blind(f"nobody looked where `{said}` leads")


def _unknown(note: Note, ground: Ground, folder: str | None, value: Loose, act: str) -> None:
    """Place a word of which only the beginning, or only the kind, is known."""
    head = value.prefix.rpartition("/")[0] if "/" in value.prefix else ""
    if value.prefix.startswith("/") and not head:
        head = "/"
    sure = value.kind in ("path", "glob", "number")
    if not sure and not head:
        _nowhere(note, shown(value), act)
        return
    place = ground.place(head or ".", folder)
    if place is None:
        _nowhere(note, shown(value), act)
        return
    if act not in _CHANGES:
        if act == "read" and place.secret:
            note.add(SECRET, UNSEEN, f"reads in the secret folder `{head}`")
        return
    if place.free and sure:
        return
    effect = WRITE if place.inside else OUTSIDE
    names = [f"{n}/**" if n != "." else "**" for n in place.names] if sure else [UNSEEN]
    for name in names:
        note.add(effect, name, f"{_SAID[act]} `{shown(value)}`")
        if act == "delete":
            note.add(DELETE, name)
    if place.protected:
        note.protected.append(place.protected)
    elif act in ("delete", "move") and sure and (kept := ground.shields(head or ".", folder)):
        note.protected.append(kept)
    if not sure:
        note.blind(f"it cannot be seen which path `{shown(value)}` is")
