"""`remit orchestrations`: what agents proposed to share, and how far it was carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from remit.cli.app import Family
from remit.cli.failures import FINE, NO
from remit.cli.options import Place, as_json, in_workspace, now
from remit.cli.output import emit, note, say, table

if TYPE_CHECKING:
    from remit.harness.store import OrchestrationRecord, Store

__all__ = ["orchestrations"]


@click.group(cls=Family, meant="`remit orchestrations show {}` shows one")
def orchestrations() -> None:
    """Orchestrations: proposals of how several agents share work, and what was done of them."""


@orchestrations.command("list")
@click.option("--space", "space", metavar="ID", help="Those of one space.")
@as_json
@in_workspace
def list_(place: Place, space: str | None, as_json: bool) -> None:
    """List orchestrations, newest first."""
    with place.store() as store:
        found = store.orchestrations.list(space)
        values = [_value(store, r) for r in found] if as_json else []
    if as_json:
        emit(values)
    elif not found:
        note("there is no orchestration")
    else:
        table(
            ("orchestration", "space", "rev", "state", "tickets", "goal"),
            (
                (r.id, r.space, str(r.revision), r.state.value, str(len(r.proposal.tickets)),
                 r.proposal.goal)
                for r in found
            ),
        )  # fmt: skip


@orchestrations.command()
@click.argument("id")
@as_json
@in_workspace
def show(place: Place, id: str, as_json: bool) -> None:
    """Show an orchestration, and what was done of it."""
    with place.store() as store:
        record = store.orchestrations.get(id)
        value = _value(store, record)
    if as_json:
        emit(value)
        return
    say(record.shown, nl=False)
    for action in value["actions"]:
        say(f"{action['act']}  {action['key']}  {action['result'] or 'not done'}")
    because = f": {record.why}" if record.why else ""
    note(f"state {record.state}{because}; approval `{record.approval}`")


@orchestrations.command("carry-out")
@click.argument("id", required=False)
@as_json
@in_workspace
def carry_out_(place: Place, id: str | None, as_json: bool) -> int:
    """Do what is left of approved orchestrations (operator): of ID, or of all.

    An approval at the command line does this itself; what a crash left is done here.
    """
    from remit.harness.carrying import carry_out, carry_out_all
    from remit.harness.store import OrchestrationState

    place.operator()
    with place.store() as store:
        done = carry_out_all(store, now) if id is None else (carry_out(store, id, now),)
        values = [_value(store, r) for r in done]
    if as_json:
        emit(values)
    elif not done:
        note("nothing is left to be carried out")
    for record in () if as_json else done:
        say(f"{record.id}  {record.state}" + (f"  {record.why}" if record.why else ""))
    return NO if any(r.state is OrchestrationState.STOPPED for r in done) else FINE


def _value(store: Store, record: OrchestrationRecord) -> dict[str, Any]:
    """Return an orchestration as JSON, with each of its actions and what it came to."""
    from remit.policy.materialise import actions

    results = store.orchestrations.results(record.id)
    return {
        "id": record.id,
        "space": record.space,
        "conversation": record.conversation,
        "author": record.author,
        "state": record.state.value,
        "revision": record.revision,
        "proposal": record.proposal.value(),
        "digest": record.digest,
        "approval": record.approval,
        "proposed_at": record.proposed_at,
        "decided_at": record.decided_at,
        "decided_by": record.decided_by,
        "why": record.why,
        "actions": [
            {"act": a.act.value, "key": a.key, "result": results.get(a.key)}
            for a in actions(record.proposal, record.id)
        ],
    }
