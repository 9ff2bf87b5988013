"""Roles: what becomes of an operand, or of the value of an option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from remit.plugins.shell.languages import awk, sed, sql
from remit.plugins.shell.reading import Note
from remit.plugins.shell.values import Loose, Text, options_of, shown
from remit.plugins.web import host_of
from remit.policy.selectors import UNSEEN

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["ROLE"]

Role = Callable[["Walk", Note, Text], None]


def _touch(act: str) -> Role:
    def role(walk: Walk, note: Note, value: Text) -> None:
        walk.touch(note, value, act)

    return role


def _nothing(walk: Walk, note: Note, value: Text) -> None:
    return None


def _url(walk: Walk, note: Note, value: Text) -> None:
    for text in options_of(value) or (UNSEEN,):
        note.add("network.egress", host_of(text) or UNSEEN, f"contacts `{shown(value)}`")


def _host(walk: Walk, note: Note, value: Text) -> None:
    for text in options_of(value) or (UNSEEN,):
        name = text.rpartition("@")[2] or UNSEEN
        note.add("network.egress", name, f"contacts `{shown(value)}`")


def _package(walk: Walk, note: Note, value: Text) -> None:
    for text in options_of(value) or (UNSEEN,):
        note.add("package.install", text, f"installs `{shown(value)}`")


def _script(walk: Walk, note: Note, value: Text) -> None:
    note.unread(shown(value), f"`{shown(value)}` is code that was not read")


def _code(walk: Walk, note: Note, value: Text) -> None:
    walk.code(value, note)


def _remote(walk: Walk, note: Note, value: Text) -> None:
    """A path that may be on another machine: ``host:path`` or ``host::module``."""
    for text in options_of(value):
        head, colon, _ = text.partition(":")
        if colon and "/" not in head:
            note.add("network.egress", head.rpartition("@")[2], f"contacts `{head}`")
            return
    walk.touch(note, value, "read")


def _data(walk: Walk, note: Note, value: Text) -> None:
    """``@file`` is read; anything else is text."""
    if shown(value)[:1] == "@" and shown(value) != "@-":
        inner = value[1:] if isinstance(value, str) else value._replace(prefix=value.prefix[1:])
        walk.touch(note, inner, "read")


def _dd(walk: Walk, note: Note, value: Text) -> None:
    """``of=path`` and ``if=path``."""
    key, _, path = shown(value).partition("=")
    if key in ("of", "if"):
        known: Text = path if isinstance(value, str) else Loose(path, value.prefix[3:], value.kind)
        walk.touch(note, known, "write" if key == "of" else "read")


def _config(walk: Walk, note: Note, value: Text) -> None:
    note.unread(shown(value), f"the setting `{shown(value)}` may name a program")


#: Every role that a table may name.
ROLE: Mapping[str, Role] = MappingProxyType(
    {
        **{act: _touch(act) for act in ("read", "list", "write", "delete", "move")},
        "text": _nothing,
        "url": _url,
        "host": _host,
        "package": _package,
        "script": _script,
        "shell": _code,
        "command": _code,
        "program": _code,
        "sed": sed,
        "awk": awk,
        "sql": sql,
        "remote": _remote,
        "data": _data,
        "config": _config,
        "dd": _dd,
    }
)
