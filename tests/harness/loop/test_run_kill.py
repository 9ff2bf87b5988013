"""A process that drives a run is killed; nothing is replayed, nothing is half done."""

from __future__ import annotations

from pathlib import Path

from tests.harness.loop.killed import every_point


def test_a_killed_driver(tmp_path: Path) -> None:
    """Promise 8: killed around its own acts, a run is paused or where it was, and can go on.

    Within a transaction the store's own tests kill at every statement; `tools/lives` does so here.
    """
    names = every_point(tmp_path, ("COMMIT",), upto=24)
    assert {"COMMIT", "os.link", "os.replace", "command begins", "command ended"} <= set(names)
