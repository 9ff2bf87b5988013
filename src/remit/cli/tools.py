"""`remit catalog`, `surface` and `preamble`: tools, which of them a mode has, what it is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from remit.cli.options import Place, as_json, in_place, with_catalogs, with_narrowing
from remit.cli.output import emit, note, table
from remit.policy.projection import Projection
from remit.policy.tools import Call, Catalog, Tool
from remit.policy.vocabulary import Layer, in_order

__all__ = ["catalog", "preamble", "surface"]


@click.command()
@click.argument("catalogs", nargs=-1, metavar="[CATALOG]...")
@as_json
@in_place
def catalog(place: Place, catalogs: tuple[str, ...], as_json: bool) -> None:
    """List the tools of each CATALOG; without one, all that are shipped or yours, and remit's own.

    A tool that nobody declared is listed as such: what it does is work for you to say.
    """
    found = place.engine.catalogs(catalogs) if catalogs else _everything(place)
    if as_json:
        emit([_tool_value(found, tool) for tool in found.tools])
        return
    table(
        ("tool", "tier", "effects", "groups", "notes"),
        (
            (
                tool.key,
                tool.tier.value,
                ", ".join(in_order(tool.effects)) or "-",
                ", ".join(sorted(tool.groups)) or "-",
                ", ".join(_notes(found, tool)) or "-",
            )
            for tool in found.tools
        ),
    )
    if undeclared := [t.key for t in found.tools if not found.declared(t)]:
        note(f"{len(undeclared)} undeclared: hidden in read-only modes, asked for elsewhere")


def _everything(place: Place) -> Catalog:
    """Return all tools that are known by name; the operator's word on one counts."""
    engine = place.engine
    own = {t.key for t in engine.operators.tools}
    shipped = (t for name in engine.shipped for t in engine.catalog(name).tools)
    others = Catalog(tuple(t for t in shipped if t.key not in own))
    return engine.with_natives(Catalog.union(engine.operators, others))


def _notes(found: Catalog, tool: Tool) -> Iterator[str]:
    if not found.declared(tool):
        yield "undeclared"
    if tool.classify:
        yield f"classified by {tool.classify}"
    if tool.verb:
        yield "output verb"
    if tool.exit:
        yield "exit verb"


def _tool_value(found: Catalog, tool: Tool) -> dict[str, Any]:
    return {
        "source": tool.source,
        "name": tool.name,
        "tier": tool.tier.value,
        "effects": list(in_order(tool.effects)),
        "least": sorted(list(in_order(one)) for one in tool.least),
        "groups": sorted(tool.groups),
        "classify": tool.classify,
        "declared": found.declared(tool),
        "verb": tool.verb,
    }


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
