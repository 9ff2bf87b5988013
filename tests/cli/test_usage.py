import io
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from remit.cli.app import app
from remit.cli.failures import MachineError
from remit.harness.store import StoreConflict, StoreError
from remit.policy.problems import InputError, RemitError
from tests.cli.conftest import Remit


class TestWrongCommands:
    @pytest.mark.parametrize(
        ("command", "told"),
        [
            (("spcae",), "`space`"),
            (("space", "lst"), "`list`"),
            (("surface", "plan", "--catlog", "mcp-git"), "--catalog"),
            (("surface",), "MODE"),
            (("surface", "pln", "--catalog", "mcp-git"), "`plan`"),
            (("surface", "plan", "--catalog", "mcp-gti"), "`mcp-git`"),
            (("show", "plna"), "`plan`"),
            (("decide", "chat", "--catalog", "mcp-git", "--autonomy", "atuo"), "`auto`"),
            (("decide", "chat", "--catalog", "mcp-git", "--child-of", "pln"), "`plan`"),
            (("matrix", "--format", "xml"), "`markdown`"),
            (("log", "verify", "now"), "now"),
            (("log", "--space", "a", "verify"), "whole log"),
            (("modes", "--config", "/nowhere"), "`/nowhere`"),
            (("gateway", "--space", "desk"), "SERVER CMD"),
            (("gateway", "--", "true"), "--space"),
            (("space", "dial", "desk"), "auto"),
            (("check", "plan"), "`plan` is a mode, and it comes with remit"),
            (("check", "default"), "`chat` is a mode"),
            (("new", "mode"), "`remit new profile`"),
            (("approvals", "aprove"), "did you mean `approve` [usage]"),
        ],
    )
    def test_told(self, remit: Remit, command: tuple[str, ...], told: str) -> None:
        """A wrong command is 2, with one clear message that names what was meant."""
        said = remit(*command)

        assert (said.code, said.out) == (2, "")
        assert told in said.err
        assert said.err.startswith("error: ")
        assert "Traceback" not in said.err

    def test_help(self, remit: Remit) -> None:
        """Every command has help, each in one line of the list."""
        said = remit("--help")

        for name in app.list_commands(None):  # type: ignore[arg-type]
            assert f"\n  {name} " in said.out
            assert remit(name, "--help").code == 0


class TestFaults:
    @pytest.fixture(autouse=True)
    def broken(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An engine with a fault in it."""

        def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError("of ours")

        monkeypatch.setattr("remit.harness.engine.Engine.load", fail)

    def test_told(self, remit: Remit) -> None:
        """A fault of ours is 3, says so, and says how to see more."""
        said = remit("modes")

        assert said.code == 3
        assert "this is a fault of remit: ZeroDivisionError: of ours" in said.err
        assert "--traceback" in said.err
        assert "Traceback" not in said.err

    def test_traceback(self, remit: Remit) -> None:
        """Whoever asks for the traceback gets it."""
        assert "Traceback" in remit("--traceback", "modes").err


class _Wrapper(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


class TestColour:
    @pytest.fixture
    def terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Streams that say they are terminals."""
        monkeypatch.setattr("io.TextIOWrapper", type("Terminal", (_Wrapper,), {}))

    @pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
    def test_terminal(
        self, remit: Remit, terminal: None, monkeypatch: pytest.MonkeyPatch, no_color: str,
        coloured: bool,
    ) -> None:  # fmt: skip
        """On a terminal there is colour, and none where NO_COLOR is set."""
        monkeypatch.setenv("NO_COLOR", no_color)
        monkeypatch.setenv("TERM", "xterm")

        assert ("\x1b[" in remit("matrix", "--catalog", "mcp-git").out) is coloured


def command(
    *args: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run remit as a process."""
    return subprocess.run(
        [sys.executable, "-m", "remit", *args],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=env,
        cwd=cwd,
    )


class TestProcess:
    def test_module(self) -> None:
        """`python -m remit` is `remit`, with its exit codes."""
        assert command("modes", "--json").returncode == 0
        assert command("show", "plna").returncode == 2
        assert command("space", "list").returncode == 3

    def test_pipe(self) -> None:
        """A reader that had enough is no fault."""
        line = f"{sys.executable} -m remit catalog --json | head -c 1; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60
        )

        assert done.stderr == ""
        assert done.stdout.removeprefix("[").strip() in ("0", "141")

    def test_quick(self) -> None:
        """Listing the modes imports neither database nor protocol."""
        code = (
            "import sys, remit.cli.failures as f, remit.cli.app as a\n"
            "f.run(a.app, ['modes'])\n"
            "print(sorted({'peewee', 'mcp', 'sqlite3', 'anyio'} & set(sys.modules)))"
        )
        said = subprocess.check_output([sys.executable, "-c", code], text=True)

        assert said.splitlines()[-1] == "[]"

    def test_plain_environment(self, tmp_path: Path) -> None:
        """Nothing is needed of the environment, not even a home."""
        env = {k: os.environ[k] for k in ("PATH", "PYTHONPATH", "REMIT_HOME") if k in os.environ}

        assert command("modes", env=env, cwd=tmp_path).returncode == 0


def test_error_kinds() -> None:
    """Only what this machine fails at is 3; the rest of our errors is the input's."""
    kinds = (StoreError, MachineError, InputError, StoreConflict, RemitError)

    assert [kind.of_machine for kind in kinds] == [True, True, False, False, False]


class TestTerminal:
    def test_operator(self, remit: Remit, workspace: dict[str, str]) -> None:
        """A person at a terminal has the operator's token; who has none cannot change a thing."""
        assert "REMIT_OPERATOR" in os.environ
        env = {k: v for k, v in os.environ.items() if k != "REMIT_OPERATOR"}
        create = [sys.executable, "-m", "remit", "space", "create"]
        ours, theirs = pty.openpty()
        try:
            person = subprocess.run([*create, "a"], stdin=theirs, env=env, capture_output=True)
        finally:
            os.close(ours)
            os.close(theirs)
        script = subprocess.run(
            [*create, "b"], stdin=subprocess.DEVNULL, env=env, capture_output=True
        )

        assert (person.returncode, script.returncode) == (0, 2)
        assert [s["id"] for s in remit("space", "list", "--json").json] == ["a"]

    def test_follow(self, remit: Remit, workspace: dict[str, str]) -> None:
        """Following the log prints each record as it comes, one object a line."""
        command = [sys.executable, "-m", "remit", "log", "--follow", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
            assert follower.stdout
            first = json.loads(follower.stdout.readline())
            remit("space", "create", "desk")
            second = json.loads(follower.stdout.readline())
            follower.send_signal(signal.SIGINT)

        assert (first["kind"], second["kind"]) == ("workspace.made", "space.made")
        assert follower.returncode == 130
