"""What a mode holds in memory over a catalogue that all modes share, profile included."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

from remit.policy.compile import compile_profile
from tools.benchmarks.ratios import Figure
from tools.benchmarks.worlds import catalog, profiles

__all__ = ["figures"]


def figures(short: bool) -> Iterator[Figure]:
    """Yield KiB a mode at 200 and at 10,000 tools, as it stands after a surface and a decision."""
    for tools, budget in ((200, 8), (10_000, 12)):
        kept = _kib(tools, modes=40)
        yield Figure(f"memory per mode, {tools:,} tools", kept, budget, " KiB")


def _kib(tools: int, modes: int) -> float:
    known = catalog(tools)
    # What modes share is made by the first ones: patterns, selections, the rows that know no mode.
    for profile in profiles(modes):
        compile_profile(profile, known)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [compile_profile(profile, known) for profile in profiles(modes)]
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / len(kept) / 1024
    finally:
        tracemalloc.stop()
