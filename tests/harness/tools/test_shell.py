"""`shell`: a command in the sandbox of a mode, its output, its time and its end."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from remit.harness.sandbox.box import Box, box, choose
from remit.harness.sandbox.survey import survey
from remit.harness.tools import TOOLS, Desk, Result
from remit.policy.ceiling import Ceiling
from tests.needs import need


def boxed(desk: Desk, backend: str, *refuse: str) -> Desk:
    """A desk whose commands run in a box of a ceiling that refuses these."""

    def make() -> Box:
        ground = survey(
            desk.worktree, ("bash",), desk.environment, protected=desk.protected,
            scratch=desk.scratch,
        )  # fmt: skip
        return box(Ceiling(refuse=refuse), ground, choose(backend))

    return evolve(desk, box=make)


@pytest.fixture(params=["bubblewrap", "landlock", "none"])
def shelled(request: pytest.FixtureRequest, desk: Desk) -> Desk:
    """Commands run in each backend that works here."""
    if request.param == "bubblewrap":
        need("bwrap", debian="bubblewrap")
    if not choose_works(request.param):
        pytest.skip(f"{request.param} does not work here")
    return boxed(desk, request.param)


def choose_works(backend: str) -> bool:
    from remit.harness.sandbox.box import backends

    return next(b for b in backends() if b.name == backend).probe().works


def run(desk: Desk, command: str, **more: Any) -> Result:
    return TOOLS["shell"].run({"command": command, **more}, desk)


class TestRuns:
    @pytest.mark.parametrize(
        ("command", "text", "code"),
        [
            ("echo a; echo b >&2", "exit code 0\na\nb", 0),
            ("exit 3", "exit code 3", 3),
            ("kill -9 $$", "exit code 137", 137),
            ("cat", "exit code 0", 0),
            ("printf 'a\\377'", "exit code 0\na\\xff", 0),
            ("no-such-command-here 2>/dev/null", "exit code 127", 127),
            ("cat a.txt | wc -l", "exit code 0\n3", 0),
        ],
    )
    def test_output_and_code(self, shelled: Desk, command: str, text: str, code: int) -> None:
        """S001-12: both streams are one text, unchanged; a command that fails is an error."""
        answer = run(shelled, command)

        assert (answer.text, answer.is_error) == (text, code != 0)
        assert answer.data["exit_code"] == code

    def test_the_folder(self, shelled: Desk, worktree: Path) -> None:
        """A command runs in the worktree, or in a folder of it that the call names."""
        assert run(shelled, "pwd").text == f"exit code 0\n{worktree}"
        assert run(shelled, "pwd", cwd="src").text == f"exit code 0\n{worktree}/src"
        assert run(shelled, "pwd", cwd="..").data["why"] == "outside"
        assert run(shelled, "pwd", cwd="a.txt").data["why"] == "not-folder"

    def test_long_output_is_kept_aside(self, shelled: Desk) -> None:
        """A result shows both ends; the whole lies in the scratch folder, where `read` finds it."""
        answer = run(shelled, "seq 1 50000")
        path = answer.text.partition("`read` shows it: `")[2].partition("`")[0]

        assert len(answer.text) < 41_000
        assert answer.text.startswith("exit code 0\n1\n2\n")
        assert answer.text.endswith("\n49999\n50000")
        assert Path(path).read_text().split() == [str(i) for i in range(1, 50001)]
        assert not TOOLS["read"].run({"path": path, "line": 40_000}, shelled).is_error

    def test_endless_output_is_bounded(self, shelled: Desk) -> None:
        """What is kept has an end, whatever a command writes."""
        answer = run(shelled, "head -c 30000000 /dev/zero | tr '\\0' x")

        assert answer.data["bytes"] == 30_000_000
        assert "of which 8388608 are kept" in answer.text


class TestEnds:
    def test_after_its_time(self, shelled: Desk) -> None:
        """S004-R7: a command has 1 to 600 seconds, 120 unless said, and is ended then."""
        began = time.monotonic()
        answer = run(shelled, "echo begun; sleep 60", timeout=1)

        assert answer.is_error
        assert answer.text == "ended after 1 s, which was its time\nbegun"
        assert time.monotonic() - began < 10
        for wrong in (0, 601):
            assert run(shelled, "true", timeout=wrong).data["why"] == "bad-arguments"
        assert TOOLS["shell"].input_schema["properties"]["timeout"]["default"] == 120

    def test_when_it_is_cancelled(self, shelled: Desk) -> None:
        """S004-R9: a stop ends it at once, and what it wrote is told."""
        cancelled = threading.Event()
        threading.Timer(0.5, cancelled.set).start()
        began = time.monotonic()

        answer = run(evolve(shelled, cancelled=cancelled), "echo begun; exec >&-; sleep 60")

        assert (answer.is_error, answer.text) == (True, "interrupted\nbegun")
        assert time.monotonic() - began < 10

    @pytest.mark.parametrize("how", ["sleep 61 & echo begun", "sleep 61 & sleep 62"])
    def test_all_that_it_started_ends_too(self, shelled: Desk, worktree: Path, how: str) -> None:
        """A child in the background neither keeps the call waiting nor outlives it."""
        began = time.monotonic()
        run(shelled, how, timeout=1)

        assert time.monotonic() - began < 10
        assert not [
            p
            for p in Path("/proc").glob("[0-9]*")
            if _of(p, "cwd") == str(worktree) and _words(p)[:1] == ["sleep"]
        ]


def _of(process: Path, what: str) -> str:
    try:
        return os.readlink(process / what)
    except OSError:
        return ""


def _words(process: Path) -> list[str]:
    try:
        return (process / "cmdline").read_text().split("\0")
    except OSError:
        return []


class TestHeld:
    def test_a_read_only_mode(self, desk: Desk, worktree: Path) -> None:
        """In a read-only mode the worktree cannot be written, whatever the command says."""
        need("bwrap", debian="bubblewrap")
        held = boxed(desk, "bubblewrap", "worktree.write", "network.egress")

        answer = run(held, "echo x > a.txt; touch new; echo x > $TMPDIR/ok && cat $TMPDIR/ok")

        assert (worktree / "a.txt").read_text() == "one\ntwo\nthree\n"
        assert not (worktree / "new").exists()
        assert answer.text.endswith("\nx")

    def test_protected_paths(self, desk: Desk, worktree: Path) -> None:
        """In a writable one the protected paths cannot be written either."""
        need("bwrap", debian="bubblewrap")
        config = (worktree / ".git/config").read_bytes()

        run(boxed(desk, "bubblewrap"), "echo x >> .git/config; echo x > .git/hooks/pre-commit")

        assert (worktree / ".git/config").read_bytes() == config
        assert not (worktree / ".git/hooks/pre-commit").exists()

    def test_no_secret_of_the_environment(self, desk: Desk) -> None:
        """Variables that nobody let through are not there, remit's own never."""
        need("bwrap", debian="bubblewrap")
        rich = evolve(desk, environment={**os.environ, "API_KEY": "k", "REMIT_OPERATOR": "o"})

        assert "API_KEY" not in run(boxed(rich, "bubblewrap"), "env").text
        assert "REMIT_OPERATOR" not in run(boxed(rich, "bubblewrap"), "env").text

    def test_without_a_sandbox_nothing_is_started(self, desk: Desk) -> None:
        """A desk that makes no box runs no command."""
        assert run(desk, "true").data["why"] == "sandbox-missing"
