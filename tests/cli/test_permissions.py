"""What may not be read, as seen by somebody who is not root."""

import importlib
import os
import pkgutil
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import remit.cli
from tests.cli.conftest import Remit

_NOBODY = 65534


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be nobody, where the tests are run by root; a person is unprivileged already."""
    if os.geteuid():
        yield
        return
    for module in pkgutil.iter_modules(remit.cli.__path__):
        importlib.import_module(f"remit.cli.{module.name}")
    os.setegid(_NOBODY)
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def open_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace's folder whose parents anybody can pass."""
    path = Path(tempfile.mkdtemp(dir="/tmp", prefix="remit-test-"))
    path.chmod(0o755)
    monkeypatch.setenv("REMIT_HOME", str(path))
    yield path
    path.chmod(0o755)
    for inner in path.iterdir():
        inner.chmod(0o755)
    shutil.rmtree(path)


@pytest.mark.parametrize(
    ("name", "command", "code", "told"),
    [
        ("remit.toml", ("modes",), 2, "remit.toml"),
        ("modes", ("modes",), 2, "modes"),
        ("modes", ("matrix", "--catalog", "mcp-git"), 2, "modes"),
        ("mine.toml", ("check", "{home}/mine.toml"), 2, "mine.toml"),
        ("mine.toml", ("show", "{home}/mine.toml"), 2, "mine.toml"),
        ("remit.db", ("space", "list"), 3, "remit.db"),
        (".", ("modes",), 2, "remit.toml"),
        (".", ("space", "list"), 2, "remit.toml"),
        (".", ("doctor",), 1, "remit.toml"),
    ],
)
def test_told(
    remit: Remit, open_home: Path, name: str, command: tuple[str, ...], code: int, told: str
) -> None:
    """What is there and may not be read is told, and never taken for what is not there."""
    assert remit("init").code == 0
    (open_home / "modes").chmod(0o755)
    (open_home / "remit.toml").touch()
    (open_home / "mine.toml").write_text('name = "mine"\n')
    assert remit("show", open_home / "mine.toml").code == 0
    (open_home / name).chmod(0)

    with unprivileged():
        said = remit(*(part.replace("{home}", str(open_home)) for part in command))

    assert said.code == code
    assert told in said.err + said.out
    assert "fault" not in said.err
    assert "Traceback" not in said.err


def test_nothing_to_write(remit: Remit, open_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home in which nothing can be made is told of."""
    monkeypatch.setenv("REMIT_HOME", str(open_home / "new"))
    open_home.chmod(0o555)

    with unprivileged():
        said = remit("init")

    assert said.code == 2
    assert str(open_home / "new") in said.err
