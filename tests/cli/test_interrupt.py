"""Ctrl-C ends every command quietly, from its first moment on."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Presses Ctrl-C as a module is about to be imported.
PRESS = """
import signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Press())
sys.argv = ["remit", "modes"]
from remit.cli import main
main()
"""


@pytest.mark.parametrize(
    "name", ["click", "remit.cli.app", "remit.cli.modes", "remit.harness.engine", "tomllib"]
)
def test_while_loading(name: str) -> None:
    """While it loads what it is made of, there is no trace, and the status says what ended it."""
    done = subprocess.run(
        [sys.executable, "-c", PRESS.format(name=name)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr.strip(), done.stdout) == (130, "", "")
