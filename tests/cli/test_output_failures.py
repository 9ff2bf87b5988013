"""Standard output that cannot be written, and files that never end, are told in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REMIT = [sys.executable, "-m", "remit"]


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = f"{' '.join(REMIT)} {command}"
    return subprocess.run(
        line, shell=True, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("modes > /dev/full", 3, "cannot be printed: no space left on device"),
        ("check pipe", 2, "is a pipe, not a file"),
        (f"matrix --catalog {'1' * 5000}", 2, "neither a shipped catalogue nor a file"),
    ],
)
def test_is_told(tmp_path: Path, command: str, code: int, says: str) -> None:
    """A full disk, a pipe in place of a file and an endless name end in one clear message."""
    os.mkfifo(tmp_path / "pipe")

    done = _run(command, tmp_path)

    assert done.returncode == code, done.stderr
    assert says in done.stderr + done.stdout
    assert "fault of remit" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_output_is_no_fault(tmp_path: Path) -> None:
    """A command whose output was closed beforehand does its work in silence."""
    done = _run("modes >&-", tmp_path)

    assert "fault of remit" not in done.stderr
