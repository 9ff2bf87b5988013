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
    from remit.harness.store import Approval

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
    if as_json:
        emit([approval_value(a) for a in found])
        return
    if not found:
        note("there is no approval")
    for approval in found:
        _print(approval)


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
    from remit.harness.store import OPERATOR

    with place.store() as store:
        decided = store.approvals.decide(id, yes, by=OPERATOR, now=now(), feedback=words, dial=dial)
    if as_json:
        emit(approval_value(decided))
    else:
        _print(decided)


def approval_value(approval: Approval) -> dict[str, Any]:
    """Return an approval as JSON; ``shown`` is all that is approved, escaped."""
    return {
        "id": approval.id,
        "kind": approval.kind.value,
        "space": approval.space,
        "conversation": approval.conversation,
        "requested_by": approval.requested_by,
        "state": approval.state.value,
        "digest": approval.digest,
        "expires_at": approval.expires_at,
        "shown": approval.shown,
    }


def _print(approval: Approval) -> None:
    state = approval.state.value
    click.echo(
        f"{approval.id}  {verdict(state)}  {approval.kind}  space {approval.space}  "
        f"by {approval.requested_by}"
    )
    for shown in approval.shown.splitlines():
        say(f"  {shown}")
    if approval.feedback:
        say(f"  operator: {approval.feedback}")
    if approval.expires_at and approval.state.open:
        say(f"  until {approval.expires_at[:19]}Z")
