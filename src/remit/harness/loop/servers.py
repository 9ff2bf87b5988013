"""MCP servers beside the harness's own tools, bound and declared as a gateway's are.

What they list is filtered, and what is called of them judged, as everything is: a server that
nobody bound to a catalogue has undeclared tools.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

import anyio
import mcp_types as types
from attrs import define, field
from mcp.shared.exceptions import MCPError

from remit.harness.engine import Engine
from remit.harness.gateway.fleet import Fleet, Served
from remit.harness.gateway.link import Gone
from remit.harness.gateway.muster import muster
from remit.harness.gateway.peer import Reply
from remit.harness.gateway.servers import ServerSpec
from remit.harness.gateway.untrusted import plain
from remit.harness.loop.belt import Offer
from remit.harness.loop.done import Done
from remit.policy.escape import unmarked
from remit.policy.problems import Problem
from remit.policy.tools import Catalog, Tool

__all__ = ["Servers"]

#: Characters of one result that a model is shown.
_MOST = 60_000


@define(eq=False)
class Servers:
    """The servers of one loop and of its children."""

    fleet: Fleet
    #: What is there beside tools of one's own; None where that is to be put together anew.
    _beside: tuple[Catalog, Catalog] | None = field(default=None, init=False)

    @classmethod
    def of(
        cls,
        engine: Engine,
        specs: Sequence[ServerSpec],
        worktree: str | None,
        report: Callable[[Problem], None],
    ) -> Self:
        """Return servers that are not started; raises `InputError` with all that is wrong."""
        return cls(muster(engine, specs, worktree, report))

    @asynccontextmanager
    async def up(self) -> AsyncIterator[Self]:
        """Have them up for the block; one that cannot be started is reported and missing."""
        async with anyio.create_task_group() as tasks:
            for one in self.fleet:
                one.hub = self
                tasks.start_soon(one.upstream.run)
            for one in self.fleet:
                await one.upstream.settled()
            yield self
            tasks.cancel_scope.cancel()

    def beside(self, own: Catalog) -> Catalog:
        """Return tools of one's own with what the servers list by now."""
        if self._beside is None or self._beside[0] is not own:
            self._beside = own, Catalog.union(own, self.fleet.catalog)
        return self._beside[1]

    def serves(self, tool: Tool) -> bool:
        """Say whether a tool is one of theirs."""
        return self.fleet.of_tool(tool) is not None

    def offer(self, key: str) -> Offer | None:
        """Return a tool as its server lists it."""
        source, _, name = key.partition(":")
        live = self.fleet.live(Tool(source, name))
        if live is None:
            return None
        raw = plain(live.raw)
        return Offer(name, str(raw.get("description") or ""), raw["inputSchema"], live.hash)

    async def call(self, tool: Tool, args: Mapping[str, Any]) -> Done:
        """Serve a call that may run; it is sent once, whatever becomes of it."""
        one = self.fleet.of_tool(tool)
        assert one is not None, "a tool of a server"
        try:
            link = await one.upstream.reach()
        except Gone as gone:
            return Done(f"`{tool.name}` was not run: {one.told_name} {gone}", True)
        try:
            said = await link.request("tools/call", {"name": tool.name, "arguments": dict(args)})
        except MCPError as refusal:
            return Done(unmarked(refusal.error.message), True, ran=True)
        except Gone as gone:
            one.upstream.known_dead()
            why = f"{one.told_name} {gone} while `{tool.name}` ran, which may have had its effects"
            return Done(why, True, ran=True)
        return Done(_text(plain(said)), bool(said.get("isError")), ran=True)

    async def restocked(self, served: Served) -> None:
        """Hear that a server offers other tools; the next step has them."""
        self._beside = None

    async def told(self, served: Served, message: types.ServerNotification) -> None:
        """Nobody wants to hear what else they tell."""

    async def asked(self, served: Served, request: types.InputRequest) -> Reply:
        """Nobody answers what a server asks by itself: no call of the model's stands behind it."""
        return types.ErrorData(code=types.METHOD_NOT_FOUND, message="there is nobody to ask")


def _text(result: Mapping[str, Any]) -> str:
    """Return a result as a model reads it."""
    parts = result.get("content")
    said = [_part(part) for part in parts] if isinstance(parts, list) else []
    if not said and "structuredContent" in result:
        said = [json.dumps(result["structuredContent"])]
    text = "\n".join(said)
    if len(text) <= _MOST:
        return text
    return f"{text[:_MOST]}\n(cut after {_MOST} of {len(text)} characters: ask for less at a time)"


def _part(part: Any) -> str:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = part.get("type") if isinstance(part, Mapping) else "unknown"
    return f"(a part of type {json.dumps(kind)}, which is not shown)"
