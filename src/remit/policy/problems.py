"""Problems: what a check found, where, and what to do about it.

A message is one lower-case sentence with what was given in backticks; the hint stands apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum

from attrs import frozen

__all__ = ["InputError", "Position", "Problem", "RemitError", "Severity", "near"]


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
