"""Answering: one turn with the model, driven node by node so that each request is a step.

Before a request what holds is frozen; after it what came back is kept, and its calls are judged.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attrs import define, field
from pydantic_ai import Agent, AgentRun, CallToolsNode, ModelRequestNode
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import (
    FunctionToolResultEvent,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextContent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.tools import ToolApproved

from remit.harness.loop.calls import Calls, Done
from remit.harness.loop.contract import Contract
from remit.harness.loop.events import What
from remit.harness.loop.gated import Gated, arguments
from remit.harness.loop.history import History
from remit.harness.loop.stage import StageTurn
from remit.harness.turns import Step, Turn

__all__ = ["Answering", "Stopped"]

#: Requests of one turn.
_MOST_STEPS = 500


class Stopped(Exception):
    """The turn is ended for a reason of the loop's own, which is its message."""


@define(eq=False)
class Answering:
    """One turn under way."""

    turn: Turn
    model: Model
    calls: Calls
    history: History
    #: Messages of the user that came meanwhile.
    queue: deque[str]
    tell: Callable[..., None]
    #: The turn of a run that this is, if it is one.
    stage: StageTurn | None = None
    contract: Contract = field(factory=Contract, init=False)
    #: The last text of the model.
    said: str = field(default="", init=False)
    #: Tokens that were used.
    tokens: int = field(default=0, init=False)
    _gated: Gated = field(init=False)
    _requests: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._gated = Gated(self.calls.belt, self._serve)

    async def answer(self, prompt: str) -> None:
        """Let the model work until it stops with nothing owed, or was nudged in vain."""
        while prompt:
            await self._run(prompt)
            if self.queue:
                prompt = self.queue.popleft()
            elif prompt := self.contract.nudge():
                self.tell(What.NUDGE, prompt)

    async def _run(self, prompt: str) -> None:
        # No text is an answer too: whether anything is owed is the contract's business.
        agent = Agent(self.model, toolsets=[self._gated], output_type=[str, type(None)], retries=0)
        async with agent.iter(prompt, message_history=self.history.messages) as run:
            try:
                node = run.next_node
                while not Agent.is_end_node(node):
                    if Agent.is_model_request_node(node):
                        await self._request(run, node)
                    elif Agent.is_call_tools_node(node):
                        await self._back(run, node)
                    node = await run.next(node)
            finally:
                self.tokens += run.usage.total_tokens

    async def _request(self, run: AgentRun[None, Any], node: ModelRequestNode[None, Any]) -> None:
        if self.calls.stuck:
            raise Stopped("stuck")
        if self._requests >= _MOST_STEPS:
            raise Stopped("limit")
        self._requests += 1
        once = await self.stage.request() if self.stage else ""
        step = await asyncio.to_thread(self.turn.step, self.calls.belt.catalog)
        self._gated.step = step
        self.contract.stepped(step)
        self.tell(What.STEP, mode=step.mode, dial=step.frame.space.dial.value)
        node.request.parts = [*node.request.parts, *self._further(step)]
        # The instructions are those of each step anew, and of no other.
        self.history.add(ModelRequest(parts=list(node.request.parts)))
        if once:
            # Later turns do not carry it (S000-58).
            node.request.parts = [*node.request.parts, SystemPromptPart(once)]
            self.tell(What.NOTICE, once, notice="run")
        try:
            async with node.stream(run.ctx) as stream:
                async for event in stream:
                    self._heard(event)
        except BaseException:
            self._keep_partial(run)
            raise

    def _further(self, step: Step) -> list[ModelRequestPart]:
        """Return what goes out besides: what the user said meanwhile, then what remit says."""
        parts: list[ModelRequestPart] = []
        while self.queue:
            parts.append(UserPromptPart(self.queue.popleft()))
        while self.stage and self.stage.notices:
            text = self.stage.notices.pop(0)
            parts.append(SystemPromptPart(text))
            self.tell(What.NOTICE, text, notice="run")
        for message in step.notices:
            said = TextContent(content=message.text, metadata={"remit": message.what.value})
            parts.append(UserPromptPart([said]))
            self.tell(What.NOTICE, message.text, notice=message.what.value)
        return parts

    def _keep_partial(self, run: AgentRun[None, Any]) -> None:
        """Keep what was said before a request was cut short; its calls never ran."""
        last = run.all_messages()[-1:]
        if last and isinstance(last[0], ModelResponse) and last[0].parts:
            self.history.add(last[0])

    def _heard(self, event: object) -> None:
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                self.tell(What.TEXT, text)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                self.tell(What.TEXT, text)
            case PartStartEvent(part=ThinkingPart(content=text)) if text:
                self.tell(What.THINKING, text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
                self.tell(What.THINKING, text)
            case _:
                pass

    async def _back(self, run: AgentRun[None, Any], node: CallToolsNode[None, Any]) -> None:
        """Keep what came back, and serve its calls."""
        response = node.model_response
        response.parts = _told_apart(response.parts)
        self.history.add(response)
        self.said = response.text or self.said
        step = self._gated.now
        shown = {step.frame.catalog.called(t.key) for t in step.tools}
        if any(call.tool_name not in shown for call in response.tool_calls):
            # pydantic-ai would answer these itself, and end the run after a few.
            node.tool_call_results = {
                call.tool_call_id: ToolApproved()
                if call.tool_name in shown
                else await self._hidden(step, call)
                for call in response.tool_calls
            }
        async with node.stream(run.ctx) as stream:
            async for event in stream:
                part = event.part if isinstance(event, FunctionToolResultEvent) else None
                if isinstance(part, ToolReturnPart):
                    self.history.result(part)

    async def _hidden(self, step: Step, call: ToolCallPart) -> ToolFailed:
        args = arguments(call.args)
        done = await self._serve(step, call.tool_call_id, call.tool_name, args)
        return ToolFailed(done.text)

    async def _serve(self, step: Step, id: str, name: str, args: Mapping[str, Any]) -> Done:
        self.tell(What.CALL, name, call=id, args=dict(args))
        if self.stage is not None and self.stage.over:
            done = Done("This turn is over: it did not run.", True)
        else:
            done = await self.calls.serve(step, name, args)
        if self.stage is not None:
            done = await self.stage.completed(done, args)
        self.contract.answered(step, step.frame.catalog.get(name), done.failed)
        self.tell(What.RESULT, done.text, call=id, tool=name, failed=done.failed, ran=done.ran)
        return done


def _told_apart(parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
    """Return parts of which no two calls have one id, since results are matched by it."""
    seen: set[str] = set()
    out = []
    for part in parts:
        if isinstance(part, ToolCallPart):
            if not part.tool_call_id or part.tool_call_id in seen:
                part = replace(part, tool_call_id=f"call-{secrets.token_hex(6)}")
            seen.add(part.tool_call_id)
        out.append(part)
    return out
