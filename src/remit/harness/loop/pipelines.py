"""Driving a pipeline: each step a conversation of its own, as many at once as are let.

What was recorded decides: a process that dies leaves steps that the next driver goes on with in
their own conversations, where every call that came back has its result and the others are told as
cut off. So a step that is done is never begun again, and one under way is not begun anew.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from attrs import define, field, frozen
from pydantic_ai.messages import ModelResponse, TextPart

from remit.harness.conversation import Conversation
from remit.harness.loop.loop import Loop
from remit.harness.owners import gone, owner
from remit.harness.store import StepRecord, StoreConflict
from remit.harness.store.names import PIPELINE
from remit.harness.workspace import Workspace
from remit.policy.pipeline import PIN, Pipeline, PipelineNode
from remit.policy.problems import RemitError
from remit.policy.schedule import PipelineState, StepState, Waiting, step_prompt

__all__ = ["Moved", "PipelineDriver"]

#: Seconds between looks at whether the operator cancelled it.
_LOOK = 0.25
_GO_ON = "Go on: this was cut off. Do what is left of it, and say what came of all of it."


@frozen
class Moved:
    """A step that began or ended."""

    key: str
    mode: str
    state: StepState
    conversation: str
    error: str = ""


@define(eq=False)
class PipelineDriver:
    """Drives one pipeline; ``loop`` makes the loop of a step's conversation, ``jobs`` bounds them.

    ``goal`` is what all steps are told that they serve. ``tell`` hears of each step.
    """

    workspace: Workspace
    id: str
    loop: Callable[[Conversation], Loop]
    jobs: int = 4
    goal: str = ""
    tell: Callable[[Moved], None] = lambda moved: None
    _me: str = field(factory=owner, init=False)
    _pipeline: Pipeline = field(init=False)
    _states: dict[str, StepState] = field(factory=dict, init=False)
    _outputs: dict[str, str] = field(factory=dict, init=False)
    _spent: StoreConflict | None = field(default=None, init=False)

    async def drive(self) -> PipelineState:
        """Drive it to its end, or until an operator cancels it; cancelling leaves it to others.

        Raises `StoreConflict` if another process drives it, it is over, or its budget is: then
        once what was under way has ended.
        """
        store, clock = self.workspace.store, self.workspace.clock
        there = store.pipelines.claim(self.id, self._me, now=clock(), gone=gone)
        self._pipeline = there.pipeline
        self._states, self._outputs = there.states, there.outputs
        nodes = {node.key: node for node in self._pipeline.nodes}
        cut = [k for k, state in self._states.items() if state is StepState.RUNNING]
        tasks = {asyncio.ensure_future(self._step(nodes[key], there.space)) for key in cut}
        waiting = Waiting(self._pipeline, self._states)
        queue = deque(waiting.ready)
        try:
            while True:
                while queue and self._spent is None and len(tasks) < self.jobs:
                    node = nodes[queue.popleft()]
                    tasks.add(asyncio.ensure_future(self._step(node, there.space)))
                if not tasks:
                    if self._spent is not None:
                        raise self._spent
                    return store.pipelines.over(self.id, self._me, now=clock())
                done, tasks = await asyncio.wait(
                    tasks, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED
                )
                state = PipelineState.RUNNING if done else store.pipelines.get(self.id).state
                for task in done:
                    key, state = task.result()
                    if self._states.get(key) is StepState.DONE:
                        queue += waiting.done(key)
                if state is PipelineState.CANCELLED:
                    return state
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
            # Whoever took it meanwhile keeps it.
            with suppress(StoreConflict):
                store.pipelines.leave(self.id, self._me, now=clock())

    async def _step(self, node: PipelineNode, space: str) -> tuple[str, PipelineState]:
        """Work on a step, and record what came of it; return its key, and how all stands."""
        store, clock = self.workspace.store.pipelines, self.workspace.clock
        try:
            step = store.begin(self.id, node.key, self._me, now=clock())
        except StoreConflict as refused:
            if refused.problems[0].code != "pipeline-budget":
                raise
            self._spent = refused
            return node.key, PipelineState.RUNNING
        mode = node.extras.get(PIN, self._pipeline.default)
        self._say(node, step, mode, StepState.RUNNING)
        output, error = "", ""
        try:
            talk = self.workspace.space(space).step(step.conversation, mode)
            output, error = await self._worked(node, self.loop(talk))
        except RemitError as wrong:
            error = wrong.problems[0].message
        state = store.end(self.id, node.key, self._me, now=clock(), output=output, error=error)
        self._states[node.key] = StepState.FAILED if error else StepState.DONE
        self._outputs[node.key] = output
        self._say(node, step, mode, self._states[node.key], error)
        return node.key, state

    async def _worked(self, node: PipelineNode, loop: Loop) -> tuple[str, str]:
        """Return what a step said at its end, and why it failed, if it did."""
        said = loop.history.messages
        if (last := _final(said[-1] if said else None)) is not None:
            return last, ""  # it was done, and died before that was recorded
        prompt = _GO_ON if said else step_prompt(self._pipeline, node, self._outputs, self.goal)
        ended = await loop.turn(prompt, PIPELINE)
        if ended.ok:
            return ended.text, ""
        owed = f"`{ended.contract}` is {ended.outcome}" if ended.contract else ""
        return ended.text, ended.error or owed or f"its turn was {ended.reason}"

    def _say(
        self, node: PipelineNode, step: StepRecord, mode: str, state: StepState, error: str = ""
    ) -> None:
        self.tell(Moved(node.key, mode, state, step.conversation, error))


def _final(message: object) -> str | None:
    """Return what a response says that calls nothing more, None for any other message."""
    if not isinstance(message, ModelResponse) or message.tool_calls:
        return None
    return "".join(part.content for part in message.parts if isinstance(part, TextPart))
