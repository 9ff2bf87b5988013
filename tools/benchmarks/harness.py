"""What the loop adds to a call beside bare pydantic-ai, with the same model, calls and answers.

A turn is one request with one call after the other, of a tool that does next to nothing. CPU time
of the process, all its threads: what waits for the disk is not remit's own.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from pydantic_ai import Agent
from pydantic_ai.models import Model

from remit.harness.loop.belt import Station
from remit.harness.loop.loop import Loop
from remit.harness.loop.scripted import ScriptedCall, ScriptedTurn, ScriptFile, scripted
from remit.harness.workspace import Workspace
from remit.policy.vocabulary import Dial
from tools.benchmarks.ratios import Figure

__all__ = ["figures"]

#: What it should add to a call, in milliseconds; it adds more, so this is told and not checked.
_GOAL = 2.0


def figures(short: bool) -> Iterator[Figure]:
    """Yield the milliseconds that remit adds to each call."""
    calls, rounds = (20, 3) if short else (40, 7)
    turns = [ScriptedTurn("", (ScriptedCall("todo"),)) for _ in range(calls)]
    model = scripted(ScriptFile((*turns, ScriptedTurn("Done."))))
    with tempfile.TemporaryDirectory() as folder:
        home = {"REMIT_HOME": folder, "HOME": folder}
        with Workspace.open(create=True, environ=home, host="harness") as at:
            at.create_space("s", by="operator", dial=Dial.AUTO)
            ours, bare = [], []
            for n in range(-1, rounds):
                ours_once = partial(_ours, at, model, folder, n)
                took = _spent(partial(_bare, model)), _spent(ours_once)
                if n >= 0:
                    bare.append(took[0] / calls)
                    ours.append(took[1] / calls)
    own = median(o - b for o, b in zip(ours, bare, strict=True)) * 1e3
    told = (
        f"{median(ours) * 1e3:.2f} ms by {median(bare) * 1e3:.2f} ms, {os.cpu_count()} cores; "
        f"the goal is {_GOAL:g} ms"
    )
    yield Figure("a call of the loop beside pydantic-ai", own, None, " ms", told)


def _spent(work: Callable[[], None]) -> float:
    gc.collect()
    began = time.process_time()
    work()
    return time.process_time() - began


def _bare(model: Model) -> None:
    agent = Agent(model)

    @agent.tool_plain
    def todo() -> str:
        return "There are no todos."

    async def talk() -> None:
        async with agent.iter("go") as run:
            node = run.next_node
            while not Agent.is_end_node(node):
                if Agent.is_model_request_node(node) or Agent.is_call_tools_node(node):
                    async with node.stream(run.ctx) as stream:
                        async for _ in stream:
                            pass
                node = await run.next(node)

    asyncio.run(talk())


def _ours(at: Workspace, model: Model, folder: str, number: int) -> None:
    talk = at.space("s").conversation(f"c{number + 1}")
    ended = asyncio.run(Loop(talk, model, Station(None), Path(folder) / "chats").turn("go"))
    assert ended.ok, ended
