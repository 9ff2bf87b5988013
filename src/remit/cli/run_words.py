"""How a run stands, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit.harness.store import RunRecord

__all__ = ["run_line", "run_value"]


def run_value(record: RunRecord, now: datetime) -> dict[str, Any]:
    """Return how a run stands as JSON; ``elapsed_ms`` as of now (S000-95, S000-96)."""
    run = record.run
    since = 0 if run.since is None else max(0, int(now.timestamp() * 1000) - run.since)
    return {
        "id": record.id,
        "space": record.space,
        "conversation": record.conversation,
        "mode": record.mode.workflow.name,
        "stage": run.stage,
        "state": run.state.value,
        "why": run.why.value if run.why else None,
        "input": run.input,
        "turns": run.turns,
        "tokens": run.tokens,
        "budget": {"turns": run.budget.turns, "tokens": run.budget.tokens},
        "rounds": run.rounds,
        "failures": run.failures,
        "elapsed_ms": run.elapsed + since,
        "claimed": run.claim is not None,
        "approval": record.approval,
        "revision": run.revision,
        "snapshot": record.hash,
        "started_at": record.started_at,
    }


def run_line(value: Mapping[str, Any]) -> str:
    """Return mode, stage, state, turns of the budget, tokens and time (S000-55)."""
    why = f" {value['why']}" if value["why"] else ""
    limit = value["budget"]["tokens"]
    tokens = f"{value['tokens']} tokens" if limit is None else f"{value['tokens']}/{limit} tokens"
    seconds = value["elapsed_ms"] // 1000
    spent = f"{seconds // 60}:{seconds % 60:02}"
    turns = f"turn {value['turns']}/{value['budget']['turns']}"
    parts = (value["mode"], value["stage"], f"{value['state']}{why}", turns, tokens, spent)
    return " · ".join(parts)
