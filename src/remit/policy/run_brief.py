"""The stage brief: what the host tells the model of the stage that is in force (S000-21).

An author writes the intent; artifacts, exit gates and the way to finish are told from the
declaration, so that the words cannot ask for something else than the host will judge.
"""

from __future__ import annotations

import re

from remit.policy.escape import unmarked
from remit.policy.run import Run
from remit.policy.workflow import Action, Gate

__all__ = ["OUTPUT_BYTES", "missing_headings", "stage_brief", "standing_brief", "tail"]

#: How much of a command's output goes back to the model (S000-73).
OUTPUT_BYTES = 8 * 1024

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")


def standing_brief(run: Run) -> str:
    """Return what goes with every request of a stage: the mode's words, then the stage's brief."""
    flow = run.workflow
    body = flow.fill(flow.body, run.id, run.input).strip()
    # The input is anybody's words, and stands in these.
    return unmarked(f"{body}\n\n{stage_brief(run)}" if body else stage_brief(run))


def stage_brief(run: Run) -> str:
    """Return the stage's own prompt and the section on it; equal for equal runs."""
    flow, stage = run.workflow, run.at
    paths = flow.paths(run.id)
    prompt = flow.fill(stage.prompt, run.id, run.input).strip()
    lines = [prompt, ""] if prompt else []
    lines.append(f"Stage `{run.stage}` of `{flow.name}`.")
    for id, artifact in flow.artifacts.items():
        with_headings = ", ".join(f"`{h}`" for h in artifact.headings)
        rest = f", with the headings {with_headings}" if with_headings else ""
        lines.append(f"Artifact `{id}`: `{paths[id]}`{rest}.")
    lines += [f"Exit gate {i}: {_said(g)}." for i, g in enumerate(stage.exit, 1)]
    if stage.ends_with_turn:
        lines.append("The stage is done when this turn ends, or when `complete_stage` is called.")
    else:
        lines.append("Call `complete_stage` when the stage is done; the exit gates decide.")
    lines.append(
        "It takes `summary`, and may take `artifacts`, which the host writes to their paths, and "
        "`report`, in which `blocked` with a `blocker` says that only the user can go on."
    )
    return "\n".join(lines) + "\n"


def _said(gate: Gate) -> str:
    if gate.action is Action.REQUIRE:
        return f"the artifact `{gate.what}` is there with its headings"
    if gate.action is Action.RUN:
        return f"the command `{gate.what}` succeeds"
    return "the user approves"


def missing_headings(text: str, headings: tuple[str, ...]) -> tuple[str, ...]:
    """Return the headings that a Markdown text lacks (S000-68); fenced code has none."""
    found: set[str] = set()
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            closes = mark and mark[1].startswith(fence) and line.strip() == mark[1]
            fence = "" if closes else fence
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.fullmatch(line):
            found.add(heading[1].strip())
    return tuple(h for h in headings if h not in found)


def tail(output: bytes) -> str:
    """Return the end of a command's output as text, at most `OUTPUT_BYTES` as it is sent."""
    end = output[-OUTPUT_BYTES:].decode(errors="replace")
    # What stands in for bytes that are no text is longer than they were.
    return end.encode()[-OUTPUT_BYTES:].decode(errors="ignore")
