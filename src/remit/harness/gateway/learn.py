"""A look at a live server: what it lists and what it can do, with nobody connected to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from attrs import define, field, frozen

from remit.harness.gateway.environment import upstream_environment
from remit.harness.gateway.peer import Reply
from remit.harness.gateway.relay import LiveTool, admitted
from remit.harness.gateway.shelf import COMPLETE, PROMPT, READ, REQUESTS
from remit.harness.gateway.upstream import START, Upstream
from remit.policy.problems import Problem, RemitError

__all__ = ["Listed", "ServerDown", "listed"]


class ServerDown(RemitError):
    """The server cannot be started, or does not say what it has."""

    of_machine = True


@frozen
class Listed:
    """What a server lists, what of that cannot be served, and what else it answers."""

    tools: tuple[LiveTool, ...]
    problems: tuple[Problem, ...]
    requests: tuple[str, ...]


@define(eq=False)
class _Ear:
    """Hears the first list."""

    listed: tuple[Any, ...] = field(default=(), init=False)
    able: types.ServerCapabilities = field(factory=types.ServerCapabilities, init=False)

    async def tools(self, listed: tuple[Any, ...], able: types.ServerCapabilities) -> None:
        self.listed, self.able = listed, able

    async def told(self, message: types.ServerNotification) -> None:
        return

    async def asked(self, request: types.InputRequest) -> Reply:
        return types.ErrorData(code=types.INVALID_REQUEST, message="nobody is there to answer")


def listed(
    name: str,
    command: Sequence[str],
    taken: frozenset[str],
    report: Callable[[Problem], None],
    environ: Mapping[str, str] = os.environ,
    seconds: float = START,
) -> Listed:
    """Start a server, read what it lists, and end it; raises `ServerDown` with why it cannot.

    ``taken`` are names that no tool may have, ``report`` hears problems, for people.
    """
    ear = _Ear()
    down: list[Problem] = []

    def hear(problem: Problem) -> None:
        (down.append if problem.code == "server-down" else report)(problem)

    us = types.Implementation(name="remit", version="0")
    environment = partial(upstream_environment, environ, [os.getcwd()])
    upstream = Upstream(name, tuple(command), environment, hear, us, seconds)
    upstream.hears = ear

    async def look() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(upstream.run)
            await upstream.settled()
            tasks.cancel_scope.cancel()

    anyio.run(look)
    if down:
        raise ServerDown(down[0])
    tools, problems = admitted(name, ear.listed, taken | set(REQUESTS))
    there = {READ: ear.able.resources, PROMPT: ear.able.prompts, COMPLETE: ear.able.completions}
    return Listed(tools, problems, tuple(r for r, able in there.items() if able is not None))
