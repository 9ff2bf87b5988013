"""What a test needs from the machine: a skip that is counted for a person, a failure in CI.

Call it first in a test or a fixture: `bwrap = need("bwrap", debian="bubblewrap")`.
"""

import importlib.util
import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

#: npm packages for tests live here; git ignores it.
NODE_MODULES = Path(__file__).parent / "node_modules"


def need(program: str, *, debian: str | None = None) -> str:
    """The full path of a program on PATH."""
    found = shutil.which(program)
    if found is None:
        missing(f"no `{program}` on PATH (Debian: apt-get install {debian or program})")
    return found


def need_module(name: str) -> None:
    """An importable Python module that not every installation has."""
    if importlib.util.find_spec(name) is None:
        missing(f"no Python module `{name}`")


def need_npm(package: str, modules: Path = NODE_MODULES) -> Path:
    """The folder of an installed npm package, and node to run it with."""
    need("node", debian="nodejs")
    folder = modules / package
    if not (folder / "package.json").is_file():
        missing(f"no npm package `{package}` (npm install --prefix tests {package})")
    return folder


def missing(what: str) -> NoReturn:
    """Skip for a person, who may do without; fail in CI, where a skip would hide a gap for good."""
    if os.environ.get("CI", "").lower() in {"true", "1"}:
        pytest.fail(f"CI lacks what this test needs: {what}", pytrace=False)
    pytest.skip(what)
