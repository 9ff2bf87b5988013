"""Start-up in a sandbox against bare bubblewrap with the same flags, turn by turn.

Bare is `subprocess` with bubblewrap's whole command and nothing of remit. Ours is a start in a box:
one that is kept, and one for which the host is surveyed and the mounts are settled anew. By the
wall, since the work is in the kernel and in other processes.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from statistics import median

from remit.harness.sandbox.box import Box, box
from remit.harness.sandbox.bubblewrap import BUBBLEWRAP
from remit.harness.sandbox.process import start
from remit.harness.sandbox.survey import survey
from remit.policy.ceiling import Ceiling
from tools.benchmarks.ratios import Figure

__all__ = ["figures"]

_BUDGET = 1.5
_COMMAND = ("/bin/true",)
_CEILING = Ceiling(refuse={"worktree.write", "network.egress"})


def figures(short: bool) -> Iterator[Figure]:
    """Yield the ratio of each way to start; nothing where there is no bubblewrap."""
    found = BUBBLEWRAP.probe()
    if not found.works:
        yield Figure("sandbox start-up", float("nan"), None, told=f"not measured: {found.why}")
        return
    with tempfile.TemporaryDirectory() as worktree:
        subprocess.run(["git", "init", "-q", worktree], check=True)

        def fresh() -> Box:
            return box(_CEILING, survey(worktree, _COMMAND), BUBBLEWRAP)

        kept = fresh()
        ways: dict[str, Callable[[], None]] = {
            "bare": lambda: _bare(kept),
            "in a kept box": lambda: _boxed(kept),
            "in a fresh box": lambda: _boxed(fresh()),
        }
        took: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(-2, 20 if short else 60):
            for name, act in ways.items():
                began = time.perf_counter()
                act()
                if turn >= 0:
                    took[name].append(time.perf_counter() - began)
    base = median(took.pop("bare"))
    for name, times in took.items():
        told = f"{median(times) * 1e3:.1f} ms by {base * 1e3:.1f} ms"
        yield Figure(f"sandbox start-up {name}", median(times) / base, _BUDGET, told=told)


def _bare(kept: Box) -> None:
    launch = kept.launch(_COMMAND, os.environ)
    descriptor = os.memfd_create("filter", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, launch.feeds["filter"])
        os.lseek(descriptor, 0, os.SEEK_SET)
        argv = [str(descriptor) if word == "{filter}" else word for word in launch.shown]
        subprocess.run(argv, pass_fds=[descriptor], check=True)
    finally:
        os.close(descriptor)


def _boxed(made: Box) -> None:
    with start(made, _COMMAND) as running:
        if code := running.wait():
            raise SystemExit(f"it ended with {code}")
