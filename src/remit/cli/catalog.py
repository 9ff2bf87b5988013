"""`remit catalog`: the tools that are known, and what changed of them since they were reviewed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from remit.cli.app import Family
from remit.cli.learn import learn, trust
from remit.cli.options import Place, as_json, in_workspace
from remit.cli.output import emit, note, table
from remit.policy.problems import RemitError
from remit.policy.tools import Catalog, Learnt, Tool
from remit.policy.vocabulary import in_order

if TYPE_CHECKING:
    from remit.profiles.learnt import Difference

__all__ = ["catalog"]


class _Listing(Family):
    """A group that is a command of its own where its first word is no command of the group."""

    allow_interspersed_args = True

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context of the command that is meant."""
        inner = self.commands.get(args[0]) if args else None
        if inner is None:
            return super().make_context(info_name, args, parent, **extra)
        return inner.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as a command does."""
        return click.Command.parse_args(self, ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run as a command does."""
        return click.Command.invoke(self, ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what a command has in its line of usage."""
        return click.Command.collect_usage_pieces(self, ctx)


@click.group(cls=_Listing, invoke_without_command=True)
@click.argument("catalogs", nargs=-1, metavar="[CATALOG]...")
@as_json
@in_workspace
def catalog(place: Place, catalogs: tuple[str, ...], as_json: bool) -> None:
    """List the tools of each CATALOG; without one, all that are shipped or yours, and remit's own.

    A tool that nobody declared is listed as such: what it does is work for you to say. So is one
    that a gateway saw to be no longer what you reviewed, with what changed.
    """
    found = place.engine.catalogs(catalogs) if catalogs else _everything(place)
    changed = _changed(place, found)
    if as_json:
        emit([_tool_value(found, tool, changed.get(tool.key)) for tool in found.tools])
        return
    table(
        ("tool", "tier", "effects", "groups", "notes"),
        (
            (
                tool.key,
                tool.tier.value,
                ", ".join(in_order(tool.effects)) or "-",
                ", ".join(sorted(tool.groups)) or "-",
                ", ".join(_notes(found, tool, changed.get(tool.key))) or "-",
            )
            for tool in found.tools
        ),
    )
    if undeclared := [t.key for t in found.tools if not found.declared(t)]:
        note(f"{len(undeclared)} undeclared: hidden in read-only modes, asked for elsewhere")
    for key, differs in changed.items():
        note("\n  ".join((f"{key}: {differs} changed since it was reviewed", *differs.lines)))


def _changed(place: Place, found: Catalog) -> Mapping[str, Difference]:
    """Return by key what gateways saw to be no longer as it is pinned; none without a workspace."""
    pinned = {(os.path.realpath(t.where.file), t.name): t for t in found.tools if t.learnt}
    if not pinned:
        return {}
    from remit.harness.store.events import TOOL_CHANGED
    from remit.profiles.learnt import difference

    try:
        with place.store() as store:
            events = store.log.read(kinds=(TOOL_CHANGED,))
    except RemitError:
        return {}
    changed: dict[str, Difference] = {}
    for event in events:
        body = event.body
        tool = pinned.get((os.path.realpath(body["catalog"]), body["tool"]))
        if tool is not None and tool.learnt is not None and tool.learnt.hash == body["was"]:
            now = Learnt(body["hash"], body["description"], body["schema"])
            changed[tool.key] = difference(tool.learnt, now)
    return changed


def _everything(place: Place) -> Catalog:
    """Return all tools that are known by name; the operator's word on one counts."""
    engine = place.engine
    own = {t.key for t in engine.operators.tools}
    shipped = (t for name in engine.shipped for t in engine.catalog(name).tools)
    others = Catalog(tuple(t for t in shipped if t.key not in own))
    return engine.with_natives(Catalog.union(engine.operators, others))


def _notes(found: Catalog, tool: Tool, differs: Difference | None) -> Iterator[str]:
    if differs is not None:
        yield "changed, so undeclared"
    elif not found.declared(tool):
        yield "undeclared"
    if tool.classify:
        yield f"classified by {tool.classify}"
    if tool.verb:
        yield "output verb"
    if tool.exit:
        yield "exit verb"


def _tool_value(found: Catalog, tool: Tool, differs: Difference | None) -> dict[str, Any]:
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
    } | _pin(tool, differs)


def _pin(tool: Tool, differs: Difference | None) -> dict[str, Any]:
    """Return what is told besides of a tool that is pinned."""
    if tool.learnt is None:
        return {}
    changed = None if differs is None else list(differs.lines)
    return {"hash": tool.learnt.hash, "changed": changed}


catalog.add_command(learn)
catalog.add_command(trust)
