import os
import subprocess
import threading
from pathlib import Path

import pytest

from tools import _venv

ROOT = Path(__file__).parents[2]


def bash(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script that has sourced tools/_venv.sh, in an environment that has only `env`."""
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"source tools/_venv.sh\n{script}"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        check=False,
    )


class TestWorld:
    def test_settings(self) -> None:
        """Nothing that the caller has set for remit, Python or git reaches a command."""
        done = bash("env", REMIT_DB="x", REMIT_OPERATOR="x", PYTHONPATH="x", GIT_DIR="x")

        assert done.returncode == 0
        assert not {"REMIT_DB=x", "REMIT_OPERATOR=x", "PYTHONPATH=x", "GIT_DIR=x"} & {
            *done.stdout.splitlines()
        }

    def test_home(self, tmp_path: Path) -> None:
        """Home and workspace are new and empty, whatever the environment says."""
        done = bash(
            "own_home; env", HOME="/h", REMIT_HOME="/r", XDG_DATA_HOME="/d",
            TMPDIR=str(tmp_path),
        )  # fmt: skip
        (home,) = tmp_path.iterdir()
        said = done.stdout.splitlines()

        assert not [*home.iterdir()]
        assert {f"HOME={home}", f"REMIT_HOME={home}/remit-home"} <= {*said}
        assert "XDG_DATA_HOME=/d" not in said


class TestPython:
    def test_none(self, tmp_path: Path) -> None:
        """Without a suitable Python the command says what it needs, and how to get it."""
        for name in ("python3.11", "python3", "python3.12", "python3.13", "python3.14"):
            (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
            (tmp_path / name).chmod(0o755)

        done = bash("find_python", PATH=f"{tmp_path}:{os.environ['PATH']}")

        assert done.returncode == 1
        assert "needs Python 3.11 or newer" in done.stderr
        assert "apt-get install python3 python3-venv" in done.stderr


class TestEnvironment:
    """`tools/_venv.py`, with the installation itself replaced."""

    made: list[Path]

    @pytest.fixture(autouse=True)
    def _none_made(self) -> None:
        self.made = []

    def install(self, folder: Path, extra: str) -> None:
        folder.mkdir()
        self.made.append(folder)

    def ensure(self, folder: Path, extra: str = "dev") -> None:
        with folder.with_suffix(".lock").open("w") as lock:
            _venv.ensure(folder, extra, lock.fileno(), self.install)

    def test_once(self, tmp_path: Path) -> None:
        """The second run installs nothing."""
        self.ensure(tmp_path / "venv")
        self.ensure(tmp_path / "venv")

        assert [tmp_path / "venv"] == self.made

    def test_changed(self, tmp_path: Path) -> None:
        """What was made from something else is made again from nothing."""
        self.ensure(tmp_path / "venv", "demo")
        (tmp_path / "venv" / "left-over").touch()
        self.ensure(tmp_path / "venv", "dev")

        assert len(self.made) == 2
        assert not (tmp_path / "venv" / "left-over").exists()

    def test_declaration(self, tmp_path: Path) -> None:
        """Editing pyproject.toml asks for a new environment."""
        (tmp_path / "pyproject.toml").write_text("a = 1\n")
        before = _venv.key("dev", tmp_path)
        (tmp_path / "pyproject.toml").write_text("a = 2\n")

        assert before != _venv.key("dev", tmp_path)

    def test_interrupted(self, tmp_path: Path) -> None:
        """An installation that was cut short does not count."""

        def interrupted(folder: Path, extra: str) -> None:
            self.install(folder, extra)
            raise KeyboardInterrupt

        with (tmp_path / "venv.lock").open("w") as lock, pytest.raises(KeyboardInterrupt):
            _venv.ensure(tmp_path / "venv", "dev", lock.fileno(), interrupted)
        self.ensure(tmp_path / "venv")

        assert len(self.made) == 2

    def test_together(self, tmp_path: Path) -> None:
        """Of many runs at once one installs, and none goes on before it has."""
        found = []

        def go() -> None:
            self.ensure(tmp_path / "venv")
            found.append((tmp_path / "venv" / "stamp").exists())

        runs = [threading.Thread(target=go) for _ in range(8)]
        for each in runs:
            each.start()
        for each in runs:
            each.join()

        assert found == [True] * 8
        assert len(self.made) == 1

    def test_in_use(self, tmp_path: Path) -> None:
        """An environment is not rebuilt under a run that uses it."""
        self.ensure(tmp_path / "venv", "dev")
        with (tmp_path / "venv.lock").open("w") as lock:
            _venv.ensure(tmp_path / "venv", "dev", lock.fileno(), self.install)
            other = threading.Thread(target=self.ensure, args=(tmp_path / "venv", "demo"))
            other.start()
            other.join(0.2)

            assert other.is_alive()
        other.join()

        assert len(self.made) == 2
