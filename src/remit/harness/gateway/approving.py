"""An approval as a question to the client's user, and what the answer decides.

Only where the operator started the gateway with `--elicit`, and told as theirs who answered.
"""

from __future__ import annotations

import mcp_types as types
from attrs import frozen

from remit.harness.natives import Answer
from remit.harness.store import Approval, ApprovalKind
from remit.policy.escape import MARK, escape, unmarked

__all__ = ["ELICITED", "Decided", "decided", "form", "pending"]

#: Who decides where the client's user does.
ELICITED = "operator:elicited"

_DECISION = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "enum": ["approve", "reject"],
        },
        "feedback": {"type": "string", "title": "Why", "description": "The agent reads it."},
    },
    "required": ["decision"],
}
_ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string", "title": "Answer"}},
    "required": ["answer"],
}


@frozen
class Decided:
    """What the client's user said."""

    approve: bool
    feedback: str | None


def pending(outcome: object) -> str | None:
    """Return the id of the approval that an answer says it waits for, if it does."""
    data = outcome.data if isinstance(outcome, Answer) else None
    if data is None or data.get("state") != "pending":
        return None
    return str(data["approval"]) if "approval" in data else None


def form(approval: Approval) -> types.ElicitRequest:
    """Return the question, with all that would be approved; ``shown`` is escaped already."""
    question = approval.kind is ApprovalKind.QUESTION
    asks = "has a question for you" if question else "asks for your approval"
    head = f"{MARK} The agent in the space `{escape(approval.space)}` {asks}:"
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(
            message=f"{head}\n{unmarked(approval.shown)}",
            requested_schema=_ANSWER if question else _DECISION,
        )
    )


def decided(approval: Approval, response: object) -> Decided | None:
    """Return what an answer decides; None where it leaves the matter open.

    Whatever is not plainly a yes or a no is neither.
    """
    try:
        answer = types.ElicitResult.model_validate(response, by_name=False)
    except ValueError:
        return None
    if answer.action == "decline":
        return Decided(False, None)
    said = answer.content or {}
    if answer.action != "accept":
        return None
    if approval.kind is ApprovalKind.QUESTION:
        text = said.get("answer")
        return Decided(True, text) if isinstance(text, str) and text.strip() else None
    why = said.get("feedback")
    feedback = why if isinstance(why, str) and why.strip() else None
    match said.get("decision"):
        case "approve":
            return Decided(True, feedback)
        case "reject":
            return Decided(False, feedback)
    return None
