"""Pipelines: checking many nodes, and what a trivial step costs besides what works on it.

The steps' loop does nothing, so what is left is the store, the schedule and the conversation. These
are held to times, as the goals are: there is nothing of others' to hold them against.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from remit.harness.conversation import Conversation
from remit.harness.engine import Engine
from remit.harness.loop.loop import Ended, Loop
from remit.harness.loop.pipelines import PipelineDriver
from remit.harness.store import OPERATOR
from remit.harness.workspace import Workspace
from remit.policy.pipeline import PIN, Pipeline, PipelineNode
from remit.profiles.names import STEP_MODE, TOP_MODE
from remit.profiles.pipelines import parse_pipeline
from remit.profiles.source import Source
from tools.benchmarks.ratios import Figure

__all__ = ["figures"]


def figures(short: bool) -> Iterator[Figure]:
    """Yield the seconds of a check, and the milliseconds of a step in a chain and in a fan."""
    nodes, steps = (2_000, 100) if short else (10_000, 1_000)
    text = "".join(_table(i) for i in range(nodes))
    start = time.process_time()
    read = parse_pipeline(Source(f'name = "many"\n{text}', "many.toml"), (TOP_MODE, STEP_MODE))
    assert read.steps, read.problems
    checked = (time.process_time() - start) * 10_000 / nodes
    # The goal is one second; half of it is tomllib's alone, the rest mostly the places of steps.
    yield Figure("pipeline check, by 10,000 nodes", checked, None, " s")
    for shape in ("chain", "fan"):
        spent = asyncio.run(_driven(shape, steps)) / steps * 1000
        yield Figure(f"pipeline, a trivial step in a {shape} of {steps:,}", spent, 5, " ms")


def _table(i: int) -> str:
    before = f'depends_on = ["k{i - 1}"]\n' if i else ""
    head = f'[[nodes]]\nkey = "k{i}"\ntitle = "Step {i}"\n'
    return f'{head}{before}extras = {{ {PIN} = "{TOP_MODE}" }}\n'


async def _driven(shape: str, steps: int) -> float:
    """Return the CPU seconds of driving a pipeline whose steps do nothing."""

    async def nothing(prompt: str, origin: str) -> Ended:
        return Ended("done")

    def loop(talk: Conversation) -> Loop:
        return cast(Loop, SimpleNamespace(history=SimpleNamespace(messages=[]), turn=nothing))

    def after(i: int) -> tuple[str, ...]:
        return (f"k{i - 1 if shape == 'chain' else 0}",) if i else ()

    nodes: Any = (PipelineNode(f"k{i}", "Do it", "", after(i)) for i in range(steps))
    with tempfile.TemporaryDirectory(prefix="remit-bench.") as folder:
        home = {"REMIT_HOME": folder, "HOME": folder}
        engine = Engine.load()
        with Workspace.open(
            Path(folder) / "remit.db", create=True, engine=engine, environ=home
        ) as at:
            at.create_space("s", by=OPERATOR)
            made = at.store.pipelines.start(
                "s", Pipeline("p", tuple(nodes), TOP_MODE), by=OPERATOR, now=at.clock()
            )
            start = time.process_time()
            await PipelineDriver(at, made.id, loop, 8).drive()
            return time.process_time() - start
