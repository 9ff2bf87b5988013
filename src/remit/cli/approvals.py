"""`remit approvals`: what waits for the operator, and the operator's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from remit.cli.app import Family
from remit.cli.options import Place, as_json, dial, in_workspace, now
from remit.cli.output import emit, note, say, verdict
from remit.policy.problems import InputError, Problem
from remit.policy.vocabulary import Dial

if TYPE_CHECKING:
    from remit.harness.store import Approval, OrchestrationRecord, Store

__all__ = ["approvals"]

#: As spec/cli.md lists them; the store's own enumeration comes with the database.
_STATES = ("pending", "approved", "rejected", "used", "expired", "superseded")


@click.group(cls=Family, meant="`remit approvals approve {}` approves one")
def approvals() -> None:
    """Approvals: each is one request to the operator, used once if it is granted."""


@approvals.command("list")
@click.option("--space", "space", metavar="ID", help="Those of one space.")
@click.option("--state", type=click.Choice(_STATES), help="Those in one state.")
@as_json
@in_workspace
def list_(place: Place, space: str | None, state: str | None, as_json: bool) -> None:
    """List approvals, newest first."""
    from remit.harness.store import ApprovalState

    with place.store() as store:
        found = store.approvals.list(
            now=now(), space=space, state=ApprovalState(state) if state else None
        )
        children = [_child(store, a) for a in found]
    if as_json:
        emit([approval_value(*a) for a in zip(found, children, strict=True)])
        return
    if not found:
        note("there is no approval")
    for approval, child in zip(found, children, strict=True):
        _print(approval, child)


@approvals.command()
@click.argument("id")
@dial("--dial", help="Set the space's dial too; it stays unless said.")
@click.option("--answer", metavar="TEXT", help="The answer to a question.")
@as_json
@in_workspace
def approve(place: Place, id: str, dial: str | None, answer: str | None, as_json: bool) -> None:
    """Approve a request (operator); a question is answered with --answer."""
    from remit.harness.store import ApprovalKind

    place.operator()
    with place.store() as store:
        if answer is not None:
            kind = store.approvals.get(id, now=now()).kind
            if kind is not ApprovalKind.QUESTION:
                raise InputError(
                    Problem(
                        "not-a-question",
                        f"approval `{id}` is of kind `{kind}`, which takes no `--answer`",
                        "`--answer` is for kind `question`",
                    )
                )
        _decide(place, id, True, answer, Dial(dial) if dial else None, as_json)


@approvals.command()
@click.argument("id")
@click.option("--feedback", metavar="TEXT", help="Why not; the requester reads it.")
@as_json
@in_workspace
def reject(place: Place, id: str, feedback: str | None, as_json: bool) -> None:
    """Reject a request (operator)."""
    place.operator()
    _decide(place, id, False, feedback, None, as_json)


def _decide(
    place: Place, id: str, yes: bool, words: str | None, dial: Dial | None, as_json: bool
) -> None:
    from remit.harness.store import OPERATOR, ApprovalKind, OrchestrationState

    with place.store() as store:
        decided = store.approvals.decide(id, yes, by=OPERATOR, now=now(), feedback=words, dial=dial)
        child = _child(store, decided)
        carried: tuple[OrchestrationRecord, ...] = ()
        if yes and decided.kind is ApprovalKind.ORCHESTRATION:
            from remit.harness.carrying import carry_out_all

            carried = carry_out_all(store, now)
    if as_json:
        emit(approval_value(decided, child))
    else:
        _print(decided, child)
    for record in carried:
        note(f"orchestration `{record.id}` is {record.state}")
        if record.state is OrchestrationState.STARTED:
            note("`remit pipeline list` has its pipeline, `remit pipeline resume` drives it")


def _child(store: Store, approval: Approval) -> dict[str, str] | None:
    """Return of whom, and in which mode, the child is that asks; None for any other requester."""
    there = store.conversations.find(approval.conversation)
    if there is None or not there.child or there.parent is None:
        return None
    return {"of": there.parent, "mode": there.mode}


def approval_value(approval: Approval, child: dict[str, str] | None) -> dict[str, Any]:
    """Return an approval as JSON; ``shown`` is all that is approved, escaped.

    ``child`` names the conversation that a child was begun by, and the child's mode.
    """
    return {
        "id": approval.id,
        "kind": approval.kind.value,
        "space": approval.space,
        "conversation": approval.conversation,
        "requested_by": approval.requested_by,
        "child": child,
        "state": approval.state.value,
        "digest": approval.digest,
        "expires_at": approval.expires_at,
        "shown": approval.shown,
    }


def _print(approval: Approval, child: dict[str, str] | None) -> None:
    state = approval.state.value
    whose = f", a child of {child['of']} in {child['mode']} mode" if child else ""
    click.echo(
        f"{approval.id}  {verdict(state)}  {approval.kind}  space {approval.space}  "
        f"by {approval.requested_by}{whose}"
    )
    for shown in approval.shown.splitlines():
        say(f"  {shown}")
    if approval.feedback:
        say(f"  operator: {approval.feedback}")
    if approval.expires_at and approval.state.open:
        say(f"  until {approval.expires_at[:19]}Z")
