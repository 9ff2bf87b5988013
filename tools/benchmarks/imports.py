"""Importing remit by importing what it stands on, in a process each, compiled first."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from statistics import median

import remit
from tools.benchmarks.ratios import Figure

__all__ = ["figures"]

_BASE = "import attrs, cattrs, pluggy"
_MEASURED = {
    "import remit": ("import remit", 1.25),
    "every public name of remit": ("from remit import *", None),
}


def figures(short: bool) -> Iterator[Figure]:
    """Yield each import by the base; medians of CPU time of the child."""
    with tempfile.TemporaryDirectory(prefix="remit-bench.") as compiled:
        codes = (_BASE, *(code for code, _ in _MEASURED.values()))
        for code in codes:
            _cpu(code, compiled)
        taken = [[_cpu(code, compiled) for code in codes] for _ in range(3 if short else 21)]
    for at, (name, (_, budget)) in enumerate(_MEASURED.items(), 1):
        value = median(times[at] / times[0] for times in taken)
        told = f"{median(t[at] for t in taken) * 1000:.0f} ms"
        yield Figure(f"{name} by attrs, cattrs, pluggy", value, budget, told=told)


def _cpu(code: str, compiled: str) -> float:
    """Return the CPU seconds of a process that runs ``code``, with compiled modules kept."""
    home = os.path.dirname(os.path.dirname(str(remit.__file__)))
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith("PYTHON")},
        "PYTHONPATH": home,
        "PYTHONPYCACHEPREFIX": compiled,
    }
    child = subprocess.Popen([sys.executable, "-c", code], env=env)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"bench: `{code}` ends with {child.returncode}")
    return used.ru_utime + used.ru_stime
