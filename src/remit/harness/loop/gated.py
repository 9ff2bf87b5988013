"""The toolset that pydantic-ai sees: what the step shows is listed, and each call is judged.

Every request is a step of its own. The loop sets it before the request is made; pydantic-ai then
asks this toolset for the instructions and the tools, and brings back the calls.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from remit.harness.loop.belt import Belt, Offer
from remit.harness.loop.calls import RAW, Done
from remit.harness.turns import Step
from remit.profiles.staging import COMPLETE_STAGE

__all__ = ["Gated", "arguments"]

#: Serves a call of the step, by its id.
Serve = Callable[[Step, str, str, Mapping[str, Any]], Awaitable[Done]]


def arguments(raw: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments of a call as a table; what is none comes under a name of its own.

    A model that sends what is no JSON gets an answer like any other: pydantic-ai would count it
    against a budget, and end the run when that is used up.
    """
    if isinstance(raw, str):
        try:
            raw = json.loads(raw or "{}")
        except ValueError:
            return {RAW: raw}
    return dict(raw or {}) if isinstance(raw, Mapping | None) else {RAW: raw}


class _AnyObject:
    """Validates nothing: tools check their arguments themselves, after the call is judged."""

    def validate_json(self, input: str | bytes | bytearray, **_: Any) -> dict[str, Any]:
        return arguments(input if isinstance(input, str) else input.decode())

    def validate_python(self, input: Any, **_: Any) -> dict[str, Any]:
        return arguments(input)


class Gated(AbstractToolset[None]):
    """The tools of one step."""

    def __init__(self, belt: Belt, serve: Serve) -> None:
        self._belt = belt
        self._serve = serve
        self.step: Step | None = None

    @property
    def id(self) -> str:
        """Its name among an agent's toolsets."""
        return "remit"

    @property
    def now(self) -> Step:
        """The step of the request under way."""
        assert self.step is not None, "the loop sets a step before each request"
        return self.step

    async def get_instructions(self, ctx: RunContext[None]) -> str | None:
        """The preamble; None in the absence of policy (S002-10)."""
        return self.now.preamble or None

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:
        """The tools that the step shows."""
        step = self.now
        offers = [Offer(t.name, t.description, t.input_schema) for t in step.native_tools]
        called = step.frame.catalog.called
        there = ((called(t.key), self._belt.offer(t.key)) for t in step.tools)
        offers += [Offer(name, o.description, o.input_schema) for name, o in there if o]
        changes = {
            called(t.key)
            for t in step.tools
            if (t.effects and not t.native) or t.key == COMPLETE_STAGE or not t.declared
        }
        return {o.name: self._tool(o, o.name in changes) for o in offers}

    def _tool(self, offer: Offer, changes: bool) -> ToolsetTool[None]:
        return ToolsetTool(
            toolset=self,
            tool_def=ToolDefinition(
                name=offer.name,
                description=offer.description,
                parameters_json_schema=dict(offer.input_schema),
                # What changes anything keeps the order in which it was asked for.
                sequential=changes,
            ),
            max_retries=0,
            args_validator=_AnyObject(),
        )

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[None], tool: ToolsetTool[None]
    ) -> ToolReturn[str]:
        """Judge a call and serve it."""
        done = await self._serve(self.now, ctx.tool_call_id or "", name, tool_args)
        if done.failed:
            raise ToolFailed(done.text)
        return ToolReturn(done.text, metadata=dict(done.data) or None)
