"""The verb of orchestrating: an agent proposes, the operator decides, and nothing runs before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remit.harness.store import OrchestrationRecord, OrchestrationState
from remit.policy.orchestration import MAX_ROLES, MAX_TICKETS, Drift
from remit.policy.proposal import read_orchestration

if TYPE_CHECKING:
    from remit.harness.natives import Desk

__all__ = ["PROPOSAL", "propose", "told"]

Said = tuple[str, Mapping[str, Any]]


def propose(desk: Desk, args: Mapping[str, Any]) -> Said:
    """Propose how several agents share the work, or read what became of the same proposal."""
    proposal, revises = read_orchestration(args)
    space = desk.frame.space
    record = desk.store.orchestrations.propose(
        space.id,
        desk.conversation,
        proposal,
        by=desk.agent,
        now=desk.now,
        revises=revises,
        expect=space.revision,
    )
    return _said(desk, record), told(record)


def _said(desk: Desk, record: OrchestrationRecord) -> str:
    name = f"Orchestration `{record.id}`, revision {record.revision},"
    if record.state is OrchestrationState.PROPOSED:
        return (
            f"{name} waits for the operator as `{record.approval}`; nothing of it runs before. To "
            f"change it, propose the whole of it again, with `revises` = `{record.id}`."
        )
    if record.state is OrchestrationState.REJECTED:
        said = desk.store.approvals.get(record.approval, now=desk.now).feedback
        why = f": {said}" if said else ""
        return f"{name} was rejected by the operator{why}. Propose another, or ask what is missing."
    if record.state is OrchestrationState.STOPPED:
        return f"{name} was approved and then stopped: {record.why}."
    return f"{name} is approved by the operator; the platform carries it out, not you."


def told(record: OrchestrationRecord) -> dict[str, Any]:
    """Return how a proposal stands, as JSON."""
    return {
        "orchestration": record.id,
        "space": record.space,
        "revision": record.revision,
        "state": record.state.value,
        "approval": record.approval,
        "why": record.why,
    }


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _texts(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def _number(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": description}


_HIRE = _object(
    ("name",),
    name=_text("What the agent is called."),
    skills=_texts("What it must be able to do."),
    instructions=_text("What it is told once and for all."),
)
_ROLE = _object(
    ("key", "title"),
    key=_text("Short name of the role, unique among roles."),
    title=_text("What it is."),
    agent=_text("The id of an agent that is there; this or `hire`, not both."),
    hire={**_HIRE, "description": "Whom to hire; this or `agent`, not both."},
)
_TICKET = _object(
    ("key", "title", "description", "role"),
    key=_text("Short name of the ticket, unique among tickets."),
    title=_text("One line: what is done."),
    description=_text("What to do, where, and how it is known to be done."),
    role=_text("The key of the role that does it."),
    parent=_text("The key of the ticket that it is a part of; that one is done after its parts."),
    depends_on=_texts("Keys of the tickets that must be done before."),
)
_TASK = _object(
    ("role", "prompt"), role=_text("The key of the role."), prompt=_text("What it is asked.")
)

PROPOSAL: Mapping[str, Any] = {
    "goal": _text("What is true once all is done."),
    "roles": {"type": "array", "items": _ROLE, "minItems": 1, "maxItems": MAX_ROLES},
    "tickets": {"type": "array", "items": _TICKET, "minItems": 1, "maxItems": MAX_TICKETS},
    "research": {**_TASK, "description": "What is found out before the work; may be left out."},
    "discussion": {
        **_object(("roles", "prompt"), roles=_texts("Keys of roles."), prompt=_text("On what.")),
        "description": "What roles are asked before the work, each by itself; may be left out.",
    },
    "synthesis": {**_TASK, "description": "What puts the results together at the end."},
    "budget": {
        **_object(
            ("steps",),
            steps=_number("Attempts of steps: at least one for each ticket, question and task."),
            minutes=_number("From the approval on; unlimited if left out."),
        ),
        "description": "What carrying it out may cost.",
    },
    "drift": _text(
        "What a step does where the work leads elsewhere; annotate unless said.",
        enum=[d.value for d in Drift],
    ),
    "revises": _text("The id of the proposal that this one takes the place of."),
}
