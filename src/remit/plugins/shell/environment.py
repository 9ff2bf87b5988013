"""Variables that change what programs do."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from remit.plugins.shell.reading import Note
from remit.plugins.shell.values import Text, options_of

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["environment"]


@cache
def _names() -> dict[str, frozenset[str]]:
    text = files("remit.plugins").joinpath("programs/names.toml").read_text("utf-8")
    return {k: frozenset(v.split()) for k, v in tomllib.loads(text)["environment"].items()}


@cache
def _kind(name: str) -> str:
    for kind, names in _names().items():
        if name in names or any("*" in n and fnmatchcase(name, n) for n in names):
            return kind
    return ""


def environment(walk: Walk, name: str, value: Text, note: Note) -> None:
    """Note what it means that a program sees ``name`` with this value."""
    kind = _kind(name)
    if not kind or kind == "plain" or value == "/dev/null":
        return
    if kind == "program":
        if value not in ("", "true", ":", "cat"):
            walk.code(value, note)
    elif kind == "blind":
        note.blind(f"`{name}` changes what later words mean")
    elif kind == "trace":
        if not all(v in ("", "0", "1", "2", "true", "false") for v in options_of(value) or ("?",)):
            walk.touch(note, value, "write")
    else:
        note.unread(name, f"`{name}` changes which code runs")
