"""How pipelines under way read, for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remit.cli.output import emit, line, say, table

if TYPE_CHECKING:
    from remit.harness.loop.pipelines import Moved
    from remit.harness.store import PipelineRecord

__all__ = ["count_done", "record_value", "show_record", "tell_json", "tell_text"]


def tell_text(moved: Moved) -> None:
    why = f": {moved.error}" if moved.error else ""
    say(f"{moved.key:<20}  {moved.mode:<12}  {moved.state}{why}")


def tell_json(moved: Moved) -> None:
    line(
        {
            "step": moved.key,
            "mode": moved.mode,
            "state": moved.state.value,
            "conversation": moved.conversation,
            "error": moved.error,
        }
    )


def count_done(record: PipelineRecord) -> str:
    from remit.policy.schedule import StepState

    done = sum(s.state is StepState.DONE for s in record.steps.values())
    return f"{done} of {len(record.pipeline.nodes)}"


def show_record(record: PipelineRecord, as_json: bool) -> None:
    if as_json:
        emit(record_value(record))
        return
    say(f"{record.id}  {record.pipeline.name}  space {record.space}  {record.state}")
    rows = (
        (
            s["step"],
            s["mode"],
            s["state"],
            s["conversation"] or "-",
            _first(s["error"] or s["output"]),
        )
        for s in record_value(record)["steps"]
    )
    table(("step", "mode", "state", "conversation", "says"), rows)


def _first(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:59]}…"


def record_value(record: PipelineRecord) -> dict[str, Any]:
    from remit.policy.pipeline import PIN
    from remit.policy.schedule import StepState, barred

    never = barred(record.pipeline, record.states)
    steps = []
    for node in record.pipeline.nodes:
        step = record.steps.get(node.key)
        state = step.state if step else StepState.WAITING
        steps.append(
            {
                "step": node.key,
                "title": node.title,
                "mode": node.extras.get(PIN, record.pipeline.default),
                "state": "barred" if node.key in never else state.value,
                "attempt": step.attempt if step else 0,
                "conversation": step and step.conversation,
                "output": step.output if step else "",
                "error": step.error if step else "",
            }
        )
    return {
        "id": record.id,
        "pipeline": record.pipeline.name,
        "space": record.space,
        "state": record.state.value,
        "started_by": record.started_by,
        "started_at": record.started_at,
        "steps": steps,
    }
