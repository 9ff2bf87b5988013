"""What holds for every test, however pytest is started."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the workspace of the person who runs it."""
    for name in os.environ:
        if name.startswith("REMIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("REMIT_HOME", str(tmp_path / ".remit-home"))
