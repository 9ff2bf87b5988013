"""The Landlock backend: no namespaces, so it holds less than bubblewrap, and tells what.

It can only open, never shut: folders above a hidden one are opened entry by entry, and a writable
folder is writable in all its parts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from remit.harness.sandbox import _landlock_start
from remit.harness.sandbox.seccomp import filter_program
from remit.policy.backend import Backend, Found, Launch
from remit.policy.mounts import Access, Advisory, Cause, Mounts, Network, within

__all__ = ["LANDLOCK"]

_START = str(Path(_landlock_start.__file__).resolve())


def _launch(
    mounts: Mounts, command: tuple[str, ...], cwd: str, environment: Mapping[str, str]
) -> Launch:
    internet = mounts.network is Network.FULL
    rules = {
        "cwd": cwd,
        "internet": internet,
        "write": list(mounts.paths(Access.WRITE)),
        "shown": [
            m.path
            for m in mounts.mounts
            if m.access is Access.READ and m.cause in (Cause.VISIBLE, Cause.WORKTREE)
        ],
        "shut": [*mounts.paths(Access.HIDDEN), *mounts.paths(Access.PRIVATE)],
    }
    program = filter_program(internet=internet)
    argv = (sys.executable, "-I", "-S", _START, "{rules}", "{filter}" if program else "-", *command)
    kept = {n: environment[n] for n in mounts.env_kept if n in environment}
    text = json.dumps(rules)
    return Launch(
        argv,
        {**kept, **mounts.env_set},
        {"rules": text.encode(), **({"filter": program} if program else {})},
        shown=(*argv[:4], text, *argv[5:]),
    )


def _lacks(mounts: Mounts) -> tuple[Advisory, ...]:
    told = [
        Advisory("file attributes", "mode, owner, times and extended attributes can be changed"),
        Advisory("hidden folders", "the names in them can be listed, what they hold is not read"),
        Advisory("processes", "those of the host are seen, and children may outlive the command"),
        Advisory("terminal", "the terminal is the operator's own"),
        Advisory(
            "hard links", "a link made beforehand in a writable folder writes to its other end"
        ),
        Advisory("/proc", "a command's own children cannot read about themselves there"),
    ]
    writable = mounts.paths(Access.WRITE)
    told += [
        Advisory(m.path, "it lies in a writable folder, all of which can be written")
        for m in mounts.mounts
        if m.access is not Access.WRITE and any(within(m.path, w) for w in writable)
    ]
    version = _landlock_start.abi()
    if filter_program() is None:
        told.append(Advisory("unix sockets", "there is no system call filter for this processor"))
        if mounts.network is not Network.FULL:
            told.append(Advisory("network", "only TCP is shut"))
    elif mounts.network is Network.LOOPBACK:
        told.append(Advisory("loopback", "the host's is shut too"))
    if version < 6:
        told.append(Advisory("signals", "processes of the same user can be signalled"))
    return tuple(told)


@cache
def _probe() -> Found:
    if sys.platform != "linux":
        return Found(False, why="Landlock is a part of Linux")
    version = _landlock_start.abi()
    if version < 3:
        return Found(
            False,
            str(version or ""),
            "this kernel has no Landlock"
            if not version
            else "its Landlock cannot refuse truncation",
            "use a kernel from 6.2 on, with `landlock` in its `lsm=` list",
        )
    return Found(True, f"ABI {version}")


LANDLOCK = Backend(
    "landlock",
    _launch,
    _lacks,
    _probe,
    rank=20,
    leaves=(
        "mode, owner and times of files",
        "names in hidden folders",
        "processes of the host",
        "protected paths in a writable folder",
    ),
)
