"""What the gateway adds to a call of a server that does nothing, in both eras on both sides."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.benchmarks.ratios import Figure

__all__ = ["figures"]

_ROOT = Path(__file__).parents[2]


def figures(short: bool) -> Iterator[Figure]:
    """Yield the median milliseconds that it adds; by the wall, since the work is in processes."""
    command = [sys.executable, "-m", "tests.harness.gateway.overhead", "50" if short else "300"]
    run = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for line in run.stdout.splitlines():
        found = json.loads(line)
        name = f"gateway, {found['client']} client, {found['server']} server"
        told = f"{found['gateway_ms']} ms by {found['direct_ms']} ms"
        yield Figure(name, found["overhead_ms"], 5, " ms", told)
