"""A visitor: a real MCP client in front of a gateway, as an agent's program would be."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
from attrs import define, field, frozen
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from remit.harness.demo.scene import DemoError, Scene
from remit.policy.problems import Problem

__all__ = ["Result", "Visitor", "Visits", "visiting"]

#: Seconds for any one answer; the slowest is the first, which waits for the server to start.
_PATIENCE = 40.0


@frozen
class Result:
    """The answer to a call: its text, whether it is an error, and its data if it has some."""

    text: str
    error: bool
    data: Mapping[str, Any]


@frozen
class Visitor:
    """One conversation of a space."""

    space: str
    client: Client

    async def tools(self) -> list[str]:
        """Return the names of the tools that are listed now."""
        listed = await self.client.list_tools(cache_mode="refresh")
        return [tool.name for tool in listed.tools]

    async def call(self, tool: str, **args: Any) -> Result:
        """Call a tool, whether it is listed or not."""
        answer = await self.client.call_tool(tool, args)
        text = "\n".join(part.text for part in answer.content if part.type == "text")
        return Result(text, bool(answer.is_error), answer.structured_content or {})


@define
class Visits:
    """Visitors of several spaces, which come while the story has begun already."""

    _there: dict[str, Visitor | Exception] = field(factory=dict)
    _news: anyio.Condition = field(factory=anyio.Condition)

    async def of(self, space: str) -> Visitor:
        """Wait for the visitor of a space; raises `DemoError` if it cannot come."""
        async with self._news:
            while space not in self._there:
                await self._news.wait()
        found = self._there[space]
        if isinstance(found, Exception):
            what = f"the gateway of {space} cannot be used: {type(found).__name__}: {found}"
            raise DemoError(Problem("demo-gateway", what, "its messages are in the folder"))
        return found

    async def come(self, space: str, visitor: Visitor | Exception) -> None:
        """Say that a visitor is there, or why not."""
        async with self._news:
            self._there[space] = visitor
            self._news.notify_all()


@asynccontextmanager
async def visiting(scene: Scene) -> AsyncIterator[Visits]:
    """Start a gateway for each space, all at once, and connect a client to each."""
    visits, done = Visits(), anyio.Event()
    failed: list[Exception] = []

    async def stay(space: str) -> None:
        try:
            async with _visit(scene, space) as visitor:
                await visits.come(space, visitor)
                await done.wait()
        except Exception as error:
            await visits.come(space, error)

    async with anyio.create_task_group() as tasks:
        for space in scene.spaces:
            tasks.start_soon(stay, space)
        try:
            yield visits
        except Exception as error:
            failed.append(error)  # raised outside the group, which would wrap it
        done.set()
    if failed:
        raise failed[0]


@asynccontextmanager
async def _visit(scene: Scene, space: str) -> AsyncIterator[Visitor]:
    """Start a gateway and connect to it; its messages go to a file in the scene."""
    server = StdioServerParameters(
        command=sys.executable,
        args=scene.gateway(space),
        env=dict(scene.env),
        cwd=scene.folder,
    )
    with (scene.folder / f"gateway-{space}.log").open("w") as messages:
        transport = stdio_client(server, errlog=messages)
        async with Client(transport, read_timeout_seconds=_PATIENCE) as client:
            yield Visitor(space, client)
