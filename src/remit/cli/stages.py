"""The stages of a mode, as `remit show` tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit.cli.output import say, table
from remit.policy.workflow import Gate

if TYPE_CHECKING:
    from remit.profiles.resolution import Entry

__all__ = ["show_workflow", "workflow_value"]


def workflow_value(entry: Entry) -> dict[str, Any]:
    """Return the workflow of a mode that has one as JSON."""
    workflow = entry.workflow
    assert workflow is not None
    return {
        "budget": {"turns": workflow.budget.turns, "tokens": workflow.budget.tokens},
        "return_to": workflow.return_to,
        "artifacts": {
            id: {"path": a.path, "headings": list(a.headings), "template": a.template is not None}
            for id, a in workflow.artifacts.items()
        },
        "stages": [
            {
                "id": id,
                "chain": list(entry.stages[id].chain) if id in entry.stages else [],
                "loop": stage.loop,
                "exit": [_gate(g) for g in stage.exit],
                "next": stage.next,
            }
            for id, stage in workflow.stages.items()
        ],
    }


def _gate(gate: Gate) -> dict[str, Any]:
    return {
        "action": gate.action.value,
        "what": gate.what,
        "retries": gate.retries,
        "goto": gate.goto,
    }


def show_workflow(entry: Entry) -> None:
    """Print the workflow of a mode that has one."""
    value = workflow_value(entry)
    tokens = value["budget"]["tokens"]
    limit = "any number of tokens" if tokens is None else f"{tokens} tokens"
    say()
    say(
        f"a run has {value['budget']['turns']} turns of the host's and {limit}, "
        f"and leaves the space in {value['return_to']}"
    )
    say()
    table(
        ("stage", "permission", "loop", "exit", "then"),
        (
            (
                stage["id"],
                " > ".join(stage["chain"]),
                "yes" if stage["loop"] else "no",
                ", ".join(f"{g['action']} {g['what']}" for g in stage["exit"]) or "-",
                stage["next"] or "end",
            )
            for stage in value["stages"]
        ),
    )
    for id, artifact in value["artifacts"].items():
        say(f"artifact {id}: {artifact['path']}")
