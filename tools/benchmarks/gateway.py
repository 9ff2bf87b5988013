"""What the gateway adds to a call of a server that does nothing, in both eras on both sides.

Held to a budget is what it adds by the wall as a ratio to a direct call, taken in turns with it: a
busy machine slows both alike. The milliseconds say something on an idle machine alone.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

import anyio
from mcp import StdioServerParameters

from tests.harness.gateway.rig import HERE, SPACE, Caller, Place, client_of
from tools.benchmarks.ratios import Figure

__all__ = ["figures"]

_ROUNDS = 5
_TICKS = os.sysconf("SC_CLK_TCK")


def figures(short: bool) -> Iterator[Figure]:
    """Yield for each pairing of eras what is added to a call, and the milliseconds of CPU."""
    for client in ("modern", "legacy"):
        for server in ("modern", "legacy"):
            with tempfile.TemporaryDirectory(prefix="remit-bench.") as folder:
                place = Place.make(Path(folder))
                cpu, alone, through = anyio.run(
                    _pairing, place, client, server, 20 if short else 60
                )
                place.store.close()
            name = f"gateway, {client} client, {server} server"
            added = through - alone
            told = f"{added:.1f} ms by {alone:.1f} ms"
            yield Figure(f"{name}: added, by a direct call", added / alone, 2, told=told)
            yield Figure(f"{name}: CPU of its own", cpu, None, " ms")


async def _pairing(
    place: Place, client: str, server: str, calls: int
) -> tuple[float, float, float]:
    upstream = place.command(*(("--legacy",) if server == "legacy" else ()))
    bound = f"test={place.folder / 'test.toml'}"
    serving = (sys.executable, str(HERE / "serving.py"), str(place.store.path), SPACE, bound)
    era = "legacy" if client == "legacy" else "auto"
    plain = "legacy" if server == "legacy" else era
    async with AsyncExitStack() as stack:
        direct = await stack.enter_async_context(client_of(_transport(*upstream), plain))
        before = _children()
        proxied = await stack.enter_async_context(client_of(_transport(*serving, *upstream), era))
        (gateway,) = _children() - before
        for caller in (direct, proxied):
            await caller.names()
            await _times(caller, calls)
        alone: list[float] = []
        through: list[float] = []
        spent = 0.0
        for _ in range(_ROUNDS):
            alone += await _times(direct, calls)
            start = _spent(gateway)
            through += await _times(proxied, calls)
            spent += _spent(gateway) - start
    return spent / len(through), median(alone), median(through)


def _transport(*command: str) -> StdioServerParameters:
    return StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ))


async def _times(caller: Caller, calls: int) -> list[float]:
    """Return the milliseconds of each call, by the wall."""
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        result = await caller.call("echo", "x")
        times.append((time.perf_counter() - start) * 1000)
        assert not result.is_error
    return times


def _children() -> set[int]:
    """Return the processes that this one started and that are there."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid():
            found.add(int(stat.parent.name))
    return found


def _spent(process: int) -> float:
    """Return the milliseconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS * 1000
