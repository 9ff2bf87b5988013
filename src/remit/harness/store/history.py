"""What a space was given, as its history tells it: one line a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from attrs import frozen

from remit.harness.store.events import Event

__all__ = ["CHANGES", "Answer", "Change", "change_of"]


class Answer(StrEnum):
    """What became of a request to change a mode.

    ``committed``: no turn is under way. ``queued``: turns under way take it at a boundary, and what
    it narrows is refused to them at once. ``cancelled``: it takes back what no turn has taken.
    """

    COMMITTED = "committed"
    QUEUED = "queued"
    CANCELLED = "cancelled"
    NOOP = "noop"


@frozen
class Change:
    """One entry of a space's history: ``what`` is a kind of record, ``value`` what it gave.

    That is a mode, a dial, an effect's setting, the file of an overlay, a lock or a grant.
    """

    at: str
    what: str
    value: str
    by: str
    why: str
    answer: Answer | None
    revision: int | None
    approval: str | None


def _setting(body: Mapping[str, Any]) -> str:
    on = f" on {body['target']}" if body["target"] else ""
    return f"{body['effect']}{on}: {body['verdict'] or 'as the dial says'}"


def _grant(body: Mapping[str, Any]) -> str:
    on = body["args"] or f"{body['effect']} on {body['target']}"
    return f"{body['grant']}: {body['tool']} {on}"


#: The kinds of records that a history holds, and the value that each gave.
CHANGES: Mapping[str, Callable[[Mapping[str, Any]], str]] = MappingProxyType(
    {
        "space.made": lambda body: str(body["mode"]),
        "mode.set": lambda body: str(body["mode"]),
        "dial.set": lambda body: str(body["dial"]),
        "effects.set": _setting,
        "overlay.set": lambda body: str(body["overlay"]["file"]) if body["overlay"] else "none",
        "lock.set": lambda body: "locked" if body["locked"] else "unlocked",
        "grant.added": _grant,
        "grant.revoked": lambda body: str(body["grant"]),
    }
)


def change_of(event: Event) -> Change:
    """Return the entry of a record of one of these kinds."""
    body = event.body
    return Change(
        event.at,
        event.kind,
        CHANGES[event.kind](body),
        event.actor,
        body.get("why", ""),
        Answer(body["answer"]) if "answer" in body else None,
        1 if event.kind == "space.made" else body.get("revision"),
        body.get("approval"),
    )
