"""`remit surface` and `preamble`: which tools a mode has, and what it is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from remit.cli.options import Place, as_json, in_place, with_catalogs, with_narrowing
from remit.cli.output import emit, note, table
from remit.policy.projection import Projection
from remit.policy.tools import Call
from remit.policy.vocabulary import Layer

__all__ = ["preamble", "surface"]


@click.command()
@click.argument("mode")
@with_catalogs
@with_narrowing
@as_json
@in_place
def surface(
    place: Place,
    mode: str,
    catalogs: tuple[str, ...],
    parents: tuple[str, ...],
    overlay: str | None,
    as_json: bool,
) -> None:
    """List which tools MODE has, and why it does not have the others."""
    projection = place.project(mode, catalogs, *parents, overlay=overlay)
    rows = list(_surface(projection))
    if as_json:
        emit({"mode": projection.mode, "hash": projection.hash, "tools": rows})
        return
    table(
        ("tool", "state", "why"),
        ((f"{r['source']}:{r['name']}", r["state"], r["reason"] or "-") for r in rows),
    )
    seen = sum(r["state"] != "hidden" for r in rows)
    note(f"{projection.mode} mode: {seen} of {len(rows)} tools, surface {projection.hash[:12]}")


def _surface(projection: Projection) -> Iterator[dict[str, Any]]:
    """Yield every tool of the catalogue, then the native verbs that the mode has."""
    compiled = projection.compiled
    natives = [t for t in projection.tools if t.native]
    for tool in (*(t for t in compiled.catalog.tools if not t.native), *natives):
        judged = projection.judge(Call(tool.key))
        layer = judged.decision.layer
        state = "pinned" if layer is Layer.PIN else "visible"
        if layer is Layer.FILTER:
            state = "hidden"
        told = state != "visible"
        yield {
            "source": tool.source,
            "name": tool.name,
            "state": state,
            "layer": layer.value if told else None,
            "reason": projection.text(judged).reason if told else None,
        }


@click.command()
@click.argument("mode")
@with_catalogs
@with_narrowing
@as_json
@in_place
def preamble(
    place: Place,
    mode: str,
    catalogs: tuple[str, ...],
    parents: tuple[str, ...],
    overlay: str | None,
    as_json: bool,
) -> None:
    """Print what the model is told in MODE, to the byte; nothing where there is no policy."""
    projection = place.project(mode, catalogs, *parents, overlay=overlay)
    if as_json:
        text = projection.preamble
        emit({"mode": projection.mode, "hash": projection.hash, "preamble": text})
    else:
        sys.stdout.buffer.write(projection.preamble.encode())
