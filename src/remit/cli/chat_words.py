"""What a person is told of an event of a conversation, in one line or a few."""

from __future__ import annotations

import json

from remit.harness.loop.events import Event, What

__all__ = ["words"]

_WIDTH = 100


def words(event: Event) -> str:
    """Return what to print of an event; empty for what is shown otherwise, or not at all."""
    data = event.data
    match event.what:
        case What.CALL:
            return f"→ {event.text} {_short(json.dumps(data['args'], ensure_ascii=False))}"
        case What.RESULT:
            mark = "✗" if data["failed"] else "✓"
            first = event.text.strip().partition("\n")[0]
            return f"{mark} {data['tool']}: {_short(first)}"
        case What.WAITING:
            return (
                f"waiting for the operator: {data['kind']} `{data['approval']}`\n{event.text}\n"
                f"`remit approvals approve {data['approval']}` lets it go on"
            )
        case What.DECIDED:
            return f"`{data['approval']}` is {data['state']}"
        case What.RUN:
            why = f" {data['why']}" if data["why"] else ""
            turns = f"turn {data['turns']}/{data['budget']}"
            return f"run {data['run']}: {data['stage']}, {data['state']}{why}, {turns}"
        case What.NUDGE:
            return f"reminded: {_short(event.text)}"
        case _:
            return ""


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
