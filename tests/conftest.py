"""What holds for every test, however pytest is started."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.server import Server

# A run in the background ignores Ctrl-C, and so would all that its tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A slow machine is no fault of the code. Where a run decides what lands, it is the same each time;
# a person's run looks elsewhere each time, and prints what to say to see a failure again.
settings.register_profile(
    "remit",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("remit")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One PostgreSQL server for all tests of a process, started by the first that asks for it."""
    from tests.server import server

    with server() as started:
        yield started


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the workspace of the person who runs it."""
    for name in os.environ:
        if name.startswith("REMIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("REMIT_HOME", str(tmp_path / ".remit-home"))
