"""`remit plans`: the plans that were submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from remit.cli.app import Family
from remit.cli.options import Place, as_json, in_workspace
from remit.cli.output import emit, note, say, table

if TYPE_CHECKING:
    from remit.harness.store import PlanRecord

__all__ = ["plans"]


@click.group(cls=Family, meant="`remit plans show {}` shows one")
def plans() -> None:
    """Plans: goals with the work that reaches them, as agents submitted them."""


@plans.command("list")
@click.option("--space", "space", metavar="ID", help="Those of one space.")
@as_json
@in_workspace
def list_(place: Place, space: str | None, as_json: bool) -> None:
    """List plans, newest first."""
    with place.store() as store:
        found = store.plans.list(space)
    if as_json:
        emit([plan_value(p) for p in found])
    elif not found:
        note("there is no plan")
    else:
        table(
            ("plan", "space", "rev", "state", "nodes", "goal"),
            ((p.id, p.space, str(p.revision), p.state.value, _nodes(p), p.title) for p in found),
        )


@plans.command()
@click.argument("id")
@as_json
@in_workspace
def show(place: Place, id: str, as_json: bool) -> None:
    """Show a plan."""
    with place.store() as store:
        found = store.plans.get(id)
    if as_json:
        emit(plan_value(found))
    else:
        say(found.text, nl=False)
        note(f"state {found.state}" + (f", filed as {found.path}" if found.path else ""))


def _nodes(record: PlanRecord) -> str:
    nodes = record.plan.value().get("nodes")
    return "text" if nodes is None else str(len(nodes))


def plan_value(record: PlanRecord) -> dict[str, Any]:
    """Return a plan as JSON, nodes and all."""
    return {
        "id": record.id,
        "space": record.space,
        "conversation": record.conversation,
        "author": record.author,
        "state": record.state.value,
        "revision": record.revision,
        **record.plan.value(),
        "digest": record.digest,
        "approval": record.approval,
        "mode": record.mode,
        "leave_to": record.leave_to,
        "shown": record.text,
        "path": record.path,
        "submitted_at": record.submitted_at,
    }
