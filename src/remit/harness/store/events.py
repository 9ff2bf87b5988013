"""Records of the log: what kinds there are, and how one is hashed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from attrs import frozen

from remit.policy.digest import canonical
from remit.policy.tasks import ACTIVATED, CLEARED, TICKED

__all__ = [
    "COLUMNS",
    "KINDS",
    "OPERATOR",
    "SYSTEM",
    "TOOL_CHANGED",
    "TOOL_TRUSTED",
    "Event",
    "event_hash",
    "is_operator",
    "stamp",
]

#: Who acts: an operator (also ``operator:NAME``), remit itself, ``agent:CONVERSATION``.
OPERATOR = "operator"
SYSTEM = "system"

#: A server says something else of a tool than what was reviewed.
TOOL_CHANGED = "tool.changed"
#: An operator takes it as it is now.
TOOL_TRUSTED = "tool.trusted"

#: Every kind of record and what it tells. Bodies hold whole values, never differences.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "workspace.made": "the log begins",
        "anchor.made": "the anchor was missing and was made anew after record `seq`",
        "space.made": "a space was made: mode, kind, worktree, dial, remote",
        "mode.set": "a space has a mode: mode, previous, why, answer, revision, approval",
        "dial.set": "a space has a dial: dial, previous",
        "effects.set": "a space has these settings: effects, and which one is new: effect, target, "
        "verdict, previous",
        "overlay.set": "a space has an overlay or none: overlay, with file and text",
        "lock.set": "a space is locked or not: locked, why",
        "grant.added": "calls of a tool are allowed for good: grant, tool, tool_hash, mode, args, "
        "effect, target",
        "grant.bound": "a grant was used first, of a tool as it was then: grant, tool_hash",
        "grant.revoked": "a grant is no more: grant, why",
        "conversation.made": "a conversation began: parent, base, child, depth, mode, revision, "
        "told, plan, overlay",
        "conversation.overlay": "a conversation has an overlay or none: overlay",
        "conversation.compacted": "a host shortened what a conversation holds; no mode changes",
        "branch.moved": "a conversation goes on from an earlier record: to, mode, revision, told, "
        "plan",
        "turn.opened": "a message is being answered: turn, origin, owner, overlay",
        "mode.flushed": "a conversation took its space's mode: mode, previous, revision, boundary",
        "step.framed": "a request to the model was framed: turn, step, mode, revision, projection, "
        "telling",
        "notice": "a hidden message tells the model of its mode: what, text, told, which "
        "is what one that was sent between turns tells",
        "turn.closed": "a turn is over: turn, outcome, decisions, which nobody counted where its "
        "process ended, and came, which says whether its last request came back",
        "profile.kept": "what a mode last was, whole: mode, hash, profile",
        "decision": "a call was judged, after record `as_of`: tool, tool_hash, verdict, layer, "
        "cause, "
        "effects, opaque, reason, mode, revision, dial, projection, approval, grants, forwarded, "
        "and args without what is secret",
        "contract": "how a contract stands: contract, mode, outcome, reason",
        "approval.opened": "an operator is asked: kind, digest, revision, shown, expires_at",
        "approval.decided": "an operator decided: state, feedback",
        "approval.shown": "what an operator is asked for changed, and is shown anew: shown, digest",
        "approval.used": "an approval was consumed, before what it allowed",
        "approval.expired": "an approval's time was over before it was used",
        "approval.superseded": "what an approval was for is gone: why",
        "plan.submitted": "a plan was submitted: goal, nodes, revision, digest, text, mode, "
        "leave_to, approval",
        "plan.edited": "an operator changed the text of a plan, and is shown it again: text",
        "plan.decided": "an operator decided on a plan: state",
        "plan.superseded": "a later revision took a plan's place: by_plan",
        ACTIVATED: "a plan is the active one of a conversation: plan, tasks",
        TICKED: "a task of the active plan is done: task",
        CLEARED: "no plan is active any more",
        "plan.filed": "a plan lies in the worktree: path",
        "mode.kept": "a staged mode as a run began with it, whole: mode, hash, snapshot",
        "run.started": "a run of a staged mode began: run, mode, hash, input, and how it stands",
        "run.stepped": "something happened to a run: run, event, and how it stands now, whole",
        "gate.judged": "the host judged an exit gate of a run: run, stage, gate, action, outcome, "
        "evidence",
        "review.noted": "somebody found something in a review: node, finding, status",
        "review.settled": "a peer or an operator holds a finding true or none: node, status, "
        "confirmed, why",
        "review.finalized": "a review has a verdict: verdict, axes, findings, dropped",
        "orchestration.proposed": "an agent proposed how work is shared: orchestration, proposal, "
        "revision, digest, approval",
        "orchestration.superseded": "another proposal took its place: orchestration, by_proposal",
        "orchestration.decided": "an operator decided on a proposal: orchestration, state",
        "orchestration.acted": "a platform did an action of it: orchestration, action, result",
        "orchestration.ended": "a proposal is carried out, or was stopped: orchestration, state, "
        "why",
        "item.made": "the embedded platform has something new: id, key, act, body",
        "pipeline.started": "a pipeline is to run in a space, whole: pipeline, value, digest",
        "pipeline.moved": "a pipeline stands otherwise, or another process drives it: pipeline, "
        "state, owner",
        "pipeline.stepped": "a step of a pipeline began or ended: pipeline, step, state, attempt, "
        "conversation, output, error",
        TOOL_CHANGED: "a server says something else of a tool than was reviewed: source, tool, "
        "was, hash, description, schema, catalog",
        TOOL_TRUSTED: "an operator reviewed a tool and pinned it anew: source, tool, was, hash, "
        "catalog",
    }
)

#: The columns of a record, in the order in which they are read and hashed.
COLUMNS = ("seq", "at", "kind", "space", "conversation", "actor", "body", "prev", "hash")


@frozen
class Event:
    """One record: what happened, when (UTC), where, by whom, and how it is chained."""

    seq: int
    at: str
    kind: str
    space: str | None
    conversation: str | None
    actor: str
    body: Mapping[str, Any]
    prev: str
    hash: str

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Event:
        """Return the record of a row, whose body is JSON text."""
        seq, at, kind, space, conversation, actor, body, prev, own = row
        return cls(seq, at, kind, space, conversation, actor, json.loads(body), prev, own)


def event_hash(
    seq: int,
    at: str,
    kind: str,
    space: str | None,
    conversation: str | None,
    actor: str,
    body: str,
    prev: str,
) -> str:
    """Return the SHA-256 of a record as it is stored and of the hash before it, in hexadecimal."""
    parts = [seq, at, kind, space, conversation, actor, body, prev]
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def stamp(now: datetime) -> str:
    """Return an aware time as UTC text that sorts: ``2026-11-30T20:25:00.000000Z``."""
    if now.tzinfo is None:
        raise ValueError("a time without a zone")
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def is_operator(actor: str) -> bool:
    """Say whether somebody decides in the operator's name."""
    return actor == OPERATOR or actor.startswith(f"{OPERATOR}:")
