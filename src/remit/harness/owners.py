"""Who has a turn: a process of a machine, named so that a later one can tell that it is over."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

__all__ = ["gone", "owner"]


def owner() -> str:
    """Return the name of this process: machine, process id, and when it was started."""
    pid = os.getpid()
    return f"{_machine()}:{pid}:{_started(pid)}"


def gone(name: str) -> bool:
    """Say whether a process is surely over; of another machine's nobody can say."""
    machine, _, rest = name.rpartition(":")[0].rpartition(":")
    pid, started = rest, name.rpartition(":")[2]
    if machine != _machine() or not pid.isdecimal():
        return False
    return _started(int(pid)) != started


@cache
def _machine() -> str:
    try:
        # Another boot is another machine: its process ids mean nothing here.
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
    except OSError:
        boot = "0"
    return f"{socket.gethostname()}/{boot}"


def _started(pid: int) -> str:
    """Return when a process was started, empty if there is none: ids are used again."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return _alive(pid)
    # The name before the last bracket may hold anything, brackets and blanks too.
    state, *fields = text.rpartition(")")[2].split()
    # One that nobody has reaped yet does nothing more.
    return "" if state in "ZX" else fields[18]


def _alive(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        return "alive"
    return "alive"
