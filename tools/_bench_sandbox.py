"""Start-up in a sandbox against bare bubblewrap with the same flags, turn by turn in one run.

Bare is `subprocess` with bubblewrap's whole command and nothing of remit. Ours is a start in a box,
once with the host surveyed and the mounts settled anew each time, once with a box that is kept.
Exits 1 if the dearer one costs more than the goal.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median

from remit.harness.sandbox.box import Box, box
from remit.harness.sandbox.bubblewrap import BUBBLEWRAP
from remit.harness.sandbox.process import start
from remit.harness.sandbox.survey import survey
from remit.policy.ceiling import Ceiling

GOAL = 1.5
COMMAND = ("/bin/true",)
CEILING = Ceiling(refuse={"worktree.write", "network.egress"})


def main() -> int:
    """Measure and print medians in milliseconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=60)
    turns = parser.parse_args().turns
    found = BUBBLEWRAP.probe()
    if not found.works:
        print(f"bubblewrap: {found.why}; {found.hint}", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as worktree:
        subprocess.run(["git", "init", "-q", worktree], check=True)

        def fresh() -> Box:
            return box(CEILING, survey(worktree, COMMAND), BUBBLEWRAP)

        kept = fresh()
        took: dict[str, list[float]] = {"bare": [], "kept box": [], "fresh box": []}
        acts: dict[str, Callable[[], None]] = {
            "bare": lambda: _bare(kept),
            "kept box": lambda: _boxed(kept),
            "fresh box": lambda: _boxed(fresh()),
        }
        for turn in range(turns + 3):
            for name, act in acts.items():
                began = time.perf_counter()
                act()
                if turn >= 3:
                    took[name].append(time.perf_counter() - began)
    base = median(took["bare"])
    print(f"{'start of /bin/true':<20}{'ms':>8}{'ratio':>8}")
    for name, times in took.items():
        print(f"{name:<20}{median(times) * 1e3:>8.1f}{median(times) / base:>8.2f}")
    worst = median(took["fresh box"]) / base
    print(f"goal {GOAL}: {'kept' if worst <= GOAL else 'MISSED'}")
    return 0 if worst <= GOAL else 1


def _bare(kept: Box) -> None:
    launch = kept.launch(COMMAND, os.environ)
    filter_fd = os.memfd_create("filter", os.MFD_CLOEXEC)
    try:
        os.write(filter_fd, launch.feeds["filter"])
        os.lseek(filter_fd, 0, os.SEEK_SET)
        argv = [str(filter_fd) if word == "{filter}" else word for word in launch.shown]
        subprocess.run(argv, pass_fds=[filter_fd], check=True)
    finally:
        os.close(filter_fd)


def _boxed(made: Box) -> None:
    with start(made, COMMAND) as running:
        if code := running.wait():
            raise SystemExit(f"it ended with {code}")


if __name__ == "__main__":
    sys.exit(main())
