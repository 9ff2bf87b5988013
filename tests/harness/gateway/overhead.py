"""What the gateway adds to a call: `python -m tests.harness.gateway.overhead [CALLS]`.

Medians over calls of a server that does nothing, directly and through a gateway process, taken in
turns; the goal is at most 5 ms more (design section 13 has the others). JSON, one line a pairing.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

import anyio
from mcp import StdioServerParameters

from tests.harness.gateway.rig import HERE, SPACE, Caller, Place, client_of

ROUNDS = 5


def _transport(*command: str) -> StdioServerParameters:
    return StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ))


async def _times(caller: Caller, calls: int) -> list[float]:
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        result = await caller.call("echo", "x")
        times.append((time.perf_counter() - start) * 1000)
        assert not result.is_error
    return times


async def _pairing(place: Place, mode: str, args: tuple[str, ...], calls: int) -> dict[str, object]:
    server = place.command(*args)
    bound = f"test={place.folder / 'test.toml'}"
    serving = (sys.executable, str(HERE / "serving.py"), str(place.store.path), SPACE, bound)
    direct_mode = "legacy" if args else mode
    async with AsyncExitStack() as stack:
        direct = await stack.enter_async_context(client_of(_transport(*server), direct_mode))
        through = await stack.enter_async_context(client_of(_transport(*serving, *server), mode))
        for caller in (direct, through):
            await caller.names()
            await _times(caller, 20)
        alone: list[float] = []
        proxied: list[float] = []
        for _ in range(ROUNDS):
            alone += await _times(direct, calls // ROUNDS)
            proxied += await _times(through, calls // ROUNDS)
    return {
        "client": "legacy" if mode == "legacy" else "modern",
        "server": "legacy" if args else "modern",
        "direct_ms": round(median(alone), 2),
        "gateway_ms": round(median(proxied), 2),
        "overhead_ms": round(median(proxied) - median(alone), 2),
    }


async def _main(calls: int) -> None:
    for mode in ("auto", "legacy"):
        for args in ((), ("--legacy",)):
            with tempfile.TemporaryDirectory() as folder:
                place = Place.make(Path(folder))
                print(json.dumps(await _pairing(place, mode, args, calls)), flush=True)
                place.store.close()


if __name__ == "__main__":
    anyio.run(_main, int(sys.argv[1]) if len(sys.argv) > 1 else 300)
