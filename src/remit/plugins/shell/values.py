"""What words become: text that is known, or as much of it as is.

A known word is a ``str``. A `Loose` stands for words of which only something is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

__all__ = ["MANY", "Loose", "Text", "joined", "may_be_option", "options_of", "shown"]

#: How many alternatives are followed before a word counts as unknown.
MANY = 24


class Loose(NamedTuple):
    """A word, or several, that is not known in full.

    ``prefix`` is how it certainly begins. ``choices`` holds everything that it can be, where that
    is known. A ``path`` names files that exist below here or below its prefix; a ``glob`` names
    files by a pattern; a ``number`` has only digits. ``many`` may be any number of words.
    """

    raw: str
    prefix: str = ""
    kind: str = "unknown"
    many: bool = False
    choices: tuple[str, ...] = ()
    #: The text with ``$_`` for what is not known: code that is known in part can be looked through.
    shape: str = ""


Text: TypeAlias = str | Loose


def shown(value: Text) -> str:
    """Return a word as text for a reader."""
    return value if isinstance(value, str) else value.raw


def options_of(value: Text) -> tuple[str, ...]:
    """Return everything that a word can be; empty where that is not known."""
    return (value,) if isinstance(value, str) else value.choices


def may_be_option(value: Text) -> bool:
    """Say whether a word could begin with a dash."""
    if isinstance(value, str):
        return value[:1] == "-"
    if value.choices:
        return any(c[:1] == "-" for c in value.choices)
    if value.prefix:
        return value.prefix[0] == "-"
    return value.kind not in ("path", "number")


def joined(values: Iterable[Text]) -> Text:
    """Join words with blanks, as ``eval`` and ``ssh`` do."""
    parts = list(values)
    if all(isinstance(v, str) for v in parts):
        return " ".join(map(shown, parts))
    shapes = [v if isinstance(v, str) else v.shape or "$_" for v in parts]
    return Loose(" ".join(map(shown, parts)), shape=" ".join(shapes))
