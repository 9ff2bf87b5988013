"""Scheduling: which steps of a pipeline may begin, which never will, and how it ends.

Pure functions of the pipeline and of how each step stands: who drives it can die at any moment, and
another goes on from what was recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from attrs import asdict, frozen

from remit.policy.pipeline import Pipeline, PipelineNode

__all__ = [
    "PipelineLimit",
    "PipelineState",
    "StepState",
    "Waiting",
    "barred",
    "outcome",
    "ready",
    "step_prompt",
]

#: Characters of one step's output that are handed on to another.
MOST_HANDED_ON = 16 * 1024

States = Mapping[str, "StepState"]


class StepState(StrEnum):
    """How a step stands; one that never began waits."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class PipelineState(StrEnum):
    """How a pipeline stands."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@frozen
class PipelineLimit:
    """What a pipeline may cost: attempts of steps, and a time (UTC text) from which none begins."""

    steps: int
    until: str | None = None

    def value(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return asdict(self)

    def spent(self, attempts: int, at: str) -> str:
        """Return why no attempt may begin after so many, at a time; empty where one may."""
        if attempts >= self.steps:
            return f"its budget of {self.steps} attempts is used up"
        if self.until is not None and at >= self.until:
            return f"its budget's time was over at {self.until[:19]}Z"
        return ""


def ready(pipeline: Pipeline, states: States) -> tuple[str, ...]:
    """Return the keys of steps that may begin: all that they wait for is done."""
    return Waiting(pipeline, states).ready


class Waiting:
    """The steps that have not begun, kept as others end: each dependency is looked at once."""

    def __init__(self, pipeline: Pipeline, states: States) -> None:
        self._followers: dict[str, list[str]] = {}
        self._waits: dict[str, int] = {}
        ready: list[str] = []
        for node in pipeline.nodes:
            if _state(states, node.key) is not StepState.WAITING:
                continue
            undone = [k for k in node.depends_on if _state(states, k) is not StepState.DONE]
            for key in undone:
                self._followers.setdefault(key, []).append(node.key)
            self._waits[node.key] = len(undone)
            if not undone:
                ready.append(node.key)
        #: Those that may begin at the start.
        self.ready = tuple(ready)

    def done(self, key: str) -> tuple[str, ...]:
        """Return the keys of steps that may begin now that one is done."""
        may = []
        for follower in self._followers.pop(key, ()):
            self._waits[follower] -= 1
            if not self._waits[follower]:
                may.append(follower)
        return tuple(may)


def barred(pipeline: Pipeline, states: States) -> frozenset[str]:
    """Return the keys of steps that cannot begin, as something that they wait for failed."""
    nodes = {node.key: node for node in pipeline.nodes}
    found: set[str] = set()
    followers: dict[str, list[str]] = {}
    for node in pipeline.nodes:
        for key in node.depends_on:
            followers.setdefault(key, []).append(node.key)
    waiting = [key for key in nodes if _state(states, key) is StepState.FAILED]
    while waiting:
        for key in followers.get(waiting.pop(), ()):
            if key not in found and _state(states, key) is StepState.WAITING:
                found.add(key)
                waiting.append(key)
    return frozenset(found)


def outcome(pipeline: Pipeline, states: States) -> PipelineState:
    """Return how a pipeline stands by its steps: running while one may still come to something."""
    found = [_state(states, node.key) for node in pipeline.nodes]
    if all(state is StepState.DONE for state in found):
        return PipelineState.DONE
    if StepState.RUNNING in found or ready(pipeline, states):
        return PipelineState.RUNNING
    return PipelineState.FAILED


def step_prompt(
    pipeline: Pipeline, node: PipelineNode, outputs: Mapping[str, str], goal: str = ""
) -> str:
    """Return what a step is told: its own task, and what came of the steps before it."""
    titles = {n.key: n.title for n in pipeline.nodes}
    parts = [f"{node.title}\n\n{node.prompt}".strip()]
    if goal:
        parts.insert(0, f"All of this serves one goal: {goal}")
    if node.role:
        parts.append(f"Your role: {node.role}.")
    for key in node.depends_on:
        said = outputs.get(key, "")
        if len(said) > MOST_HANDED_ON:
            said = f"{said[:MOST_HANDED_ON]}… ({len(said)} characters in all)"
        parts.append(f"What came of `{key}` ({titles[key]}):\n\n{said or 'nothing was said'}")
    return "\n\n".join(parts)


def _state(states: States, key: str) -> StepState:
    return states.get(key, StepState.WAITING)
