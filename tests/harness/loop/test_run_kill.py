"""A process that drives a run is killed; nothing is replayed, nothing is half done."""

from __future__ import annotations

import os
import shutil
import signal
import warnings
from pathlib import Path

from tests.harness.loop.killed import Points, check, drive, killed, opened, prepare, watched

#: What begins and ends a transaction: within one, the store's own tests kill at every statement.
EDGES = ("COMMIT",)


def forked(root: Path, at: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            killed(root, at, EDGES)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_killed_driver(tmp_path: Path) -> None:
    """Promise 8: killed around its own acts, a run is paused or where it was, and can go on."""
    saved, root = tmp_path / "saved", tmp_path / "root"
    prepare(root)
    shutil.copytree(root, saved)
    points = Points()
    with opened(root) as at, watched(at, points, EDGES):
        drive(at, root)
    check(root)
    names = points.names
    assert {"COMMIT", "os.link", "os.replace", "command begins", "command ended"} <= set(names)
    for number, name in enumerate(names):
        shutil.rmtree(root)
        shutil.copytree(saved, root)
        assert forked(root, number) == -signal.SIGKILL, (number, name)
        check(root, to_the_end=number % 9 == 0)
