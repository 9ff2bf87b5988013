"""Output: JSON for scripts, and tables and colours for people.

Facts go to standard output, messages and problems to standard error. Colour is there on a terminal
alone, and not where ``NO_COLOR`` is set.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from remit.policy.escape import escape
from remit.policy.problems import Position, Problem, Severity

__all__ = [
    "emit",
    "has_errors",
    "line",
    "note",
    "plain",
    "problem_value",
    "say",
    "show_problems",
    "table",
    "verdict",
    "where_value",
    "width",
]

#: How each word is drawn; words that are not here stay plain.
_COLOURS: Mapping[str, str] = {
    "allow": "green", "ok": "green", "pin": "cyan", "pinned": "cyan", "ask": "yellow",
    "warning": "yellow", "pending": "yellow", "deny": "red", "error": "red", "failed": "red",
    "hidden": "bright_black", "-": "bright_black",
}  # fmt: skip
_GAP = "  "
#: Columns where nothing says how many there are.
_WIDTH = 100


def emit(value: Any) -> None:
    """Print one JSON document; ASCII alone, so that every terminal and pipe takes it."""
    click.echo(json.dumps(value, indent=2))


def line(value: Any) -> None:
    """Print one object of JSON Lines, at once."""
    click.echo(json.dumps(value))
    sys.stdout.flush()


def say(text: str = "", *, nl: bool = True) -> None:
    """Print text for people, with what cannot be seen escaped."""
    click.echo(escape(text, lines=True), nl=nl)


def note(text: str) -> None:
    """Print a message to standard error."""
    click.echo(escape(text, lines=True), err=True)


def show_problems(problems: Iterable[Problem], *, err: bool = True) -> None:
    """Print problems for people, one under the other."""
    for problem in problems:
        severity, rest = escape(str(problem), lines=True).split(":", 1)
        # What ended a command is told after it, when there is no context left to say this.
        click.echo(f"{_coloured(severity)}:{rest}", err=err, color=False if plain() else None)


def plain() -> bool:
    """Say whether whoever runs this wants no colours, on a terminal neither."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def problem_value(problem: Problem) -> dict[str, Any]:
    """Return a problem as every command prints it; line and column are null where unknown."""
    return {
        "severity": problem.severity.value,
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
        "file": problem.where.file or None,
        "line": problem.where.line or None,
        "column": problem.where.column or None,
        "path": problem.path,
    }


def where_value(where: Position) -> dict[str, Any]:
    """Return a place as JSON."""
    return {"file": where.file, "line": where.line or None, "column": where.column or None}


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headings, each column as wide as its widest cell."""
    cells = [[escape(str(c)) for c in row] for row in rows]
    widths = [max(len(c) for c in column) for column in zip(columns, *cells, strict=True)]
    click.echo(click.style(_row(columns, widths), bold=True))
    for row in cells:
        click.echo(_row(row, widths, _coloured))


def _row(cells: Sequence[str], widths: Sequence[int], draw: Any = str) -> str:
    padding = [" " * (width - len(cell)) for cell, width in zip(cells, widths, strict=True)]
    drawn = [draw(cell) + pad for cell, pad in zip(cells, padding, strict=True)]
    return _GAP.join(drawn).rstrip()


def _coloured(word: str) -> str:
    colour = _COLOURS.get(word)
    return click.style(word, fg=colour) if colour else word


def verdict(word: str) -> str:
    """Return a verdict or a state in its colour."""
    return _coloured(word)


def width() -> int:
    """Return how many columns people have."""
    return shutil.get_terminal_size((_WIDTH, 24)).columns


def has_errors(problems: Iterable[Problem]) -> bool:
    """Say whether any of them keeps a thing from being used."""
    return any(p.severity is Severity.ERROR for p in problems)
