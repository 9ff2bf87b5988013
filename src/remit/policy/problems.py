"""Problems: what a check found, where, and what to do about it.

A message is one lower-case sentence with what was given in backticks; the hint stands apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType

from attrs import frozen

__all__ = ["CODES", "InputError", "Position", "Problem", "RemitError", "Severity", "near"]


class Severity(StrEnum):
    """An error keeps a thing from being used; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@frozen
class Position:
    """A place in a file; line and column count from 1, 0 where they are not known."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])


@frozen
class Problem:
    """One finding of a check.

    ``code`` is stable and listed in the reference; ``path`` is the key path within the file, such
    as ``ceiling.refuse[1]``.
    """

    code: str
    message: str
    hint: str = ""
    where: Position = Position()
    path: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        at = f" @ {self.where}" if self.where.file else ""
        path = f" {self.path}" if self.path else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.severity}: {self.message}{at}{path} [{self.code}]{hint}"


class RemitError(Exception):
    """Base of every error that remit raises on purpose; never raised itself.

    ``problems`` is never empty; ``str()`` renders them, one under the other.
    """

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class InputError(RemitError):
    """What was given is wrong: a file, a name, a value."""


def near(given: str, known: Iterable[str]) -> str:
    """Return the hint that names what was probably meant, or the empty text."""
    close = get_close_matches(given.strip().lower(), sorted(set(known)), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(f'`{c}`' for c in close)}" if close else ""


#: Every code that a problem can have, with what it means.
CODES: Mapping[str, str] = MappingProxyType(
    {
        # Reading a file.
        "file-missing": "there is no file of that name",
        "file-is-folder": "a folder stands where a file was wanted",
        "file-unreadable": "the file may not be read, or reading failed",
        "file-too-large": "the file is larger than any declaration needs to be",
        "file-not-text": "the file is not UTF-8 text",
        "toml-syntax": "the text is not TOML",
        "json-syntax": "the text is not JSON",
        "duplicate-key": "a key is given twice",
        "too-deep": "lists and tables nest too deep",
        "number-too-large": "a number has more digits than can be read",
        # The shape of a file.
        "missing-key": "a required key is missing",
        "unknown-key": "a key that means nothing there",
        "wrong-type": "a value of another type than the key takes",
        "unknown-value": "a word that is not among those the key takes",
        # Profiles.
        "bad-name": "a mode's name that is malformed",
        "reserved-name": "a mode's name that no file but remit's own may bear",
        "duplicate-name": "two files of one name, so that none of them is used",
        "bad-text": "text that must be one short line and is not",
        "unknown-mode": "no mode of that name is known",
        "unknown-parent": "the parent is not known",
        "broken-parent": "the parent is unavailable, so this mode is too",
        "parent-cycle": "a mode extends itself, by way of others or not",
        "widens-parent": "a key tries to allow more than the parent does",
        "contradiction": "two keys say different things of one fact",
        "porous-refusal": "effects are refused, yet what cannot be judged may be approved",
        "unknown-effect": "no effect class of that name is known",
        "bad-selector": "an allow or deny entry that could name no tool",
        "bad-pattern": "a target pattern that could match nothing",
        "no-verb": "a result is required and no verb delivers one",
        "unknown-verb": "a verb that no catalogue has",
        "not-a-verb": "a tool that may not serve as such a verb",
        "ambiguous-verb": "a verb's name that more than one tool bears",
        "verb-classified": "a verb whose effects depend on a classifier",
        "verb-undeclared": "a verb whose effects nobody declared",
        "verb-denied": "a deny entry that names the mode's own verb",
        "unknown-placeholder": "double braces around what stands for nothing",
        "bad-example": "an example call that no model could make",
        # Profiles under a catalogue.
        "selector-unmatched": "an allow or deny entry that matches no tool of the catalogue",
        "allowed-in-vain": "an allow entry all of whose tools are hidden",
        "deny-empties": "a deny-list that leaves no tool",
        "example-differs": "an example call that gets another verdict",
        "words-name-hidden": "guidance that names a tool which the mode does not have",
        # Catalogues.
        "unknown-catalog": "neither a shipped catalogue nor a file",
        "bad-source": "a name that no source of tools may have",
        "bad-tool-name": "a name that no tool may have",
        "bad-tool-list": "JSON that is no list of tools",
        "bad-group": "a name that no group may have",
        "bad-classifier": "a name that no classifier may have",
        "duplicate-tool": "two tools of one source and name",
        "native-name": "a server's tool that bears the name of a native verb",
        "no-tools": "a catalogue that declares no tool",
        "open-verb": "a verb without declared effects, or with a classifier",
        "least-unclassified": "smallest effect sets of a tool that has no classifier",
        "least-outside": "a smallest effect set beyond the tool's effects",
    }
)
