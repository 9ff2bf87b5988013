"""Ratios: two pieces of work in turns, so that a busy machine slows both alike; CPU time alone."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median

from attrs import frozen

__all__ = ["Figure", "Work", "ratio"]

#: Does its piece of work once.
Work = Callable[[], object]


@frozen
class Figure:
    """One figure and its budget; ``told`` says what it is made of, for people."""

    name: str
    value: float
    budget: float | None
    unit: str = "x"
    told: str = ""

    @property
    def kept(self) -> bool:
        """Is it within its budget, if it has one."""
        return self.budget is None or self.value <= self.budget

    def __str__(self) -> str:
        budget = "no budget" if self.budget is None else f"budget {self.budget:g}{self.unit}"
        kept = "" if self.kept else "  MISSED"
        value = f"{self.value:.3g}{self.unit}"
        return f"{self.name:<46}{value:>10}  ({budget}){kept}  {self.told}".rstrip()


def cpu(work: Work, times: int) -> float:
    """Return the CPU seconds of one piece of work, of ``times`` in a row."""
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def ratio(
    name: str, base: Work, measured: Work, budget: float | None, *, rounds: int, per: int = 1
) -> Figure:
    """Return the median over rounds of ``measured`` by ``base``; ``per`` is how many each does.

    A round takes at least some milliseconds of each, many ticks of the clock.
    """
    times = [max(1, round(0.01 / max(cpu(work, 1), 1e-7))) for work in (base, measured)]
    ratios, seconds = [], []
    gc.collect()
    gc.disable()
    try:
        for i in range(rounds):
            # Whoever is second finds the caches as the first left them: both get to be first.
            if i % 2:
                one, other = cpu(base, times[0]), cpu(measured, times[1])
            else:
                other, one = cpu(measured, times[1]), cpu(base, times[0])
            ratios.append(other / one)
            seconds.append((one, other))
    finally:
        gc.enable()
    one, other = (median(s[i] for s in seconds) / per for i in (0, 1))
    return Figure(name, median(ratios), budget, told=f"{_short(other)} by {_short(one)}")


def _short(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
