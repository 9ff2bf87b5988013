"""`remit matrix`: modes by tools, for a terminal, a document or a script."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import click
from attrs import frozen

from remit.cli.options import Place, as_json, dial, in_place, with_catalogs
from remit.cli.output import emit, say, show_problems, table, width
from remit.policy.problems import Severity
from remit.policy.projection import Projection
from remit.policy.tools import CallEffects, Tool
from remit.policy.vocabulary import Dial, Layer

__all__ = ["Cell", "cells", "draw", "matrix"]

#: One letter a state, for matrices that are wider than the terminal.
_LETTERS = {"pin": "P", "allow": "a", "ask": "?", "deny": "x", "-": "·"}
_MEANING = "P pinned, a allow, ? ask, x deny, · hidden"


@frozen
class Cell:
    """One tool in one mode: its state in the surface, and what a call of it meets first."""

    state: str
    verdict: str

    @property
    def word(self) -> str:
        """What a table shows."""
        return {"hidden": "-", "pinned": "pin"}.get(self.state, self.verdict)


@click.command()
@with_catalogs
@dial(
    "--autonomy",
    "--dial",
    "autonomy",
    help="Under which dial (default: ask).",
    default=Dial.ASK.value,
)
@click.option(
    "--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text",
    help="How to print it.",
)  # fmt: skip
@as_json
@in_place
def matrix(
    place: Place, catalogs: tuple[str, ...], autonomy: str, form: str, as_json: bool
) -> None:
    """Print modes by tools: pinned, allow, ask, deny, or `-` where the mode does not have it.

    A tool with a classifier is shown as a call of which nothing was seen.
    """
    tools, engine = place.tools(catalogs), place.engine
    modes, problems = [], [*engine.library.problems]
    # A mode with stages has a surface a stage, which no column could show.
    simple = (e for e in engine.library.entries if not e.workflow)
    for profile in (e.profile for e in simple if e.profile):
        found = place.fit(profile, tools)
        problems += found
        if not any(p.severity is Severity.ERROR for p in found):
            modes.append(engine.project(profile, tools, place.host()))
    show_problems(p for p in problems if p.severity is Severity.ERROR)
    rows = cells(modes, Dial(autonomy))
    if as_json or form == "json":
        emit([_row_value(tool, modes, row) for tool, row in rows])
    elif form == "markdown":
        _markdown([m.mode for m in modes], rows)
    else:
        draw([m.mode for m in modes], rows)


Rows = Sequence[tuple[Tool, Sequence[Cell]]]


def cells(modes: Sequence[Projection], dial: Dial) -> Rows:
    """Return each tool with its cell in each mode; native verbs that no mode has are left out."""
    found: list[tuple[Tool, Sequence[Cell]]] = []
    for tool in modes[0].compiled.catalog.tools if modes else ():
        row = [_cell(mode, tool, dial) for mode in modes]
        if not tool.native or any(cell.state != "hidden" for cell in row):
            found.append((tool, row))
    return found


def _cell(mode: Projection, tool: Tool, dial: Dial) -> Cell:
    found = None
    if tool.classify is not None and mode.compiled.catalog.declared(tool):
        # Of a tool whose calls are judged one by one, the cell tells the least that a call can do.
        found = CallEffects(min(tool.least or {frozenset()}, key=lambda e: (len(e), sorted(e))))
    decision = mode.compiled.decide(tool.key, dial, found)
    state = {Layer.PIN: "pinned", Layer.FILTER: "hidden"}.get(decision.layer, "visible")
    return Cell(state, decision.verdict.value)


def _row_value(tool: Tool, modes: Sequence[Projection], row: Sequence[Cell]) -> dict[str, Any]:
    return {
        "source": tool.source,
        "name": tool.name,
        "modes": {
            mode.mode: {"state": cell.state, "verdict": cell.verdict}
            for mode, cell in zip(modes, row, strict=True)
        },
    }


def draw(modes: Sequence[str], rows: Rows) -> None:
    """Print it for people: words where they fit, letters under numbers where they do not."""
    names = [tool.key for tool, _ in rows]
    longest = max(map(len, ["tool", *names]))
    if longest + sum(max(len(m), 5) + 2 for m in modes) <= width():
        table(("tool", *modes), ((t.key, *(c.word for c in row)) for t, row in rows))
        return
    named = max((len(tool.name) for tool, _ in rows), default=0)
    each = len(str(len(modes))) + len("  ")
    fit = max(1, (width() - named) // each)
    for start in range(0, len(modes), fit):
        _block(modes, rows, range(start, min(start + fit, len(modes))), named)
    say(_MEANING)


def _block(modes: Sequence[str], rows: Rows, some: Sequence[int], named: int) -> None:
    """Print some of the modes by number, with the numbers again above the tools of each source."""
    legend = "  ".join(f"{i + 1}\N{NO-BREAK SPACE}{modes[i]}" for i in some)
    for part in textwrap.wrap(legend, width(), break_on_hyphens=False):
        say(part.replace("\N{NO-BREAK SPACE}", " "))
    for source, group in groupby(rows, lambda row: row[0].source):
        say()
        letters = ((tool.name, *(_LETTERS[row[i].word] for i in some)) for tool, row in group)
        table((source.ljust(named), *(str(i + 1) for i in some)), letters)
    say()


def _markdown(modes: Sequence[str], rows: Rows) -> None:
    click.echo(f"| tool | {' | '.join(modes)} |")
    click.echo(f"|---|{'---|' * len(modes)}")
    for tool, row in rows:
        click.echo(f"| `{tool.key}` | {' | '.join(cell.word for cell in row)} |")
    click.echo("\n`pin` is always allowed, `ask` waits for an operator, `-` is not there.")
