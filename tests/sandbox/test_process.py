"""Commands in a box: exit codes, signals, streams, environment, and the end of all children."""

import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remit.harness.sandbox.box import Box, SandboxError, box, choose
from remit.harness.sandbox.process import start
from remit.harness.sandbox.survey import survey
from remit.policy.ceiling import TOP
from tests.sandbox.conftest import MakeBox

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root"}


def sh(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script)


def nap() -> str:
    """Seconds to sleep that nobody else sleeps: tests run beside each other."""
    return f"300.{secrets.randbelow(10**9):09}"


def until(condition: object, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


@pytest.mark.parametrize("backend", ["bubblewrap", "landlock", "none"])
class TestEveryBackend:
    @pytest.mark.parametrize(
        ("script", "code"),
        [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -TERM $$", 143)],
    )
    def test_an_exit_code_is_passed_on(
        self, make_box: MakeBox, backend: str, script: str, code: int
    ) -> None:
        """A signal's death is 128 and its number, as shells have it."""
        with start(make_box(backend=backend), sh(script), ENVIRONMENT) as running:
            assert running.wait(20) == code

    def test_a_signal_reaches_the_command_itself(self, make_box: MakeBox, backend: str) -> None:
        """It can clean up, and answer with a code of its own."""
        script = "trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
        box = make_box(backend=backend)
        with start(box, sh(script), ENVIRONMENT, stdout=subprocess.PIPE) as running:
            assert running.stdout
            assert running.stdout.readline() == b"ready\n"
            running.signal(signal.SIGTERM)
            assert running.stdout.readline() == b"got\n"
            assert running.wait(20) == 5

    def test_output_streams(self, make_box: MakeBox, backend: str) -> None:
        """A line is here before the next one is written."""
        box = make_box(backend=backend)
        with start(
            box, ("/bin/cat",), ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as running:
            assert running.stdin
            assert running.stdout
            for line in (b"one\n", b"two\n"):
                running.stdin.write(line)
                running.stdin.flush()
                assert running.stdout.readline() == line
            running.stdin.close()
            assert running.wait(20) == 0

    def test_the_end_of_the_context_is_the_end_of_children(
        self, make_box: MakeBox, backend: str
    ) -> None:
        """A child that was left in the background is gone with its posture."""
        box = make_box(backend=backend)
        seconds = nap()
        script = f"sleep {seconds} & echo $$; wait"
        with start(box, sh(script), ENVIRONMENT, stdout=subprocess.PIPE) as running:
            assert running.stdout
            assert running.stdout.readline()
            until(lambda: sleepers(seconds))
        until(lambda: not sleepers(seconds))

    def test_the_operators_own_variables_are_dropped(self, make_box: MakeBox, backend: str) -> None:
        """No variable of remit reaches a command, the operator token least of all."""
        given = {**ENVIRONMENT, "REMIT_OPERATOR": "token", "REMIT_DB": "x"}
        box = make_box(backend=backend, env=given, keep=["REMIT_OPERATOR"])
        with start(box, sh("env"), given, stdout=subprocess.PIPE) as running:
            assert running.stdout
            assert b"REMIT_" not in running.stdout.read()


def sleepers(seconds: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [b"sleep", seconds.encode()]:
                found.append(folder.name)
    return found


def test_a_daemon_that_left_its_session_is_gone_too(make_box: MakeBox) -> None:
    """With namespaces nothing outlives the sandbox."""
    seconds = nap()
    script = f"setsid sleep {seconds} >/dev/null 2>&1 & echo ready; sleep 100"
    with start(make_box(), sh(script), ENVIRONMENT, stdout=subprocess.PIPE) as running:
        assert running.stdout
        running.stdout.readline()
        until(lambda: sleepers(seconds))
    until(lambda: not sleepers(seconds))


def test_the_death_of_whoever_started_it_is_the_end(make_box: MakeBox, tmp_path: Path) -> None:
    """A host that is killed leaves nothing running."""
    make_box()
    seconds = nap()
    script = tmp_path / "host.py"
    script.write_text(
        "import sys\n"
        "from remit.harness.sandbox.box import box, choose\n"
        "from remit.harness.sandbox.process import start\n"
        "from remit.harness.sandbox.survey import survey\n"
        "from remit.policy.ceiling import TOP\n"
        "made = box(TOP, survey(sys.argv[1]), choose('bubblewrap'))\n"
        f"with start(made, ('sleep', '{seconds}')) as running:\n"
        "    running.wait()\n"
    )
    host = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "worktree")],
        env={**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    until(lambda: sleepers(seconds))
    host.kill()
    host.wait()
    until(lambda: not sleepers(seconds))


def test_only_listed_variables_are_kept(make_box: MakeBox) -> None:
    """The environment is cleared, but for an allow-list and what the operator lets through."""
    given = {**ENVIRONMENT, "LC_ALL": "C", "SECRET": "s", "WANTED": "w", "LD_PRELOAD": ""}
    box = make_box("worktree.write", env=given, keep=["WANTED"])
    with start(box, sh("env"), given, stdout=subprocess.PIPE) as running:
        assert running.stdout
        names = {line.split(b"=")[0].decode() for line in running.stdout.read().splitlines()}
    # The last two are the shell's own.
    assert names - {"PWD", "OLDPWD", "_", "SHLVL"} == {
        "PATH", "HOME", "LC_ALL", "WANTED", "TMPDIR", "GIT_OPTIONAL_LOCKS",
    }  # fmt: skip
    assert "SECRET" in box.mounts.env_dropped


def test_what_the_operator_lets_through_is_in_no_argument(make_box: MakeBox) -> None:
    """Anyone can read the arguments of a process; values travel in a descriptor."""
    given = {**ENVIRONMENT, "WANTED": "very-secret-value"}
    box = make_box(env=given, keep=["WANTED"])
    seconds = nap()
    launch = box.launch(sh("true"), given)
    assert "very-secret-value" not in str(launch.argv)
    assert "very-secret-value" not in str(launch.shown)
    assert "very-secret-value" not in repr(launch)
    with start(box, sh(f"sleep {seconds}; true"), given) as running:
        until(lambda: sleepers(seconds))
        line = Path(f"/proc/{running.popen.pid}/cmdline").read_bytes()
    assert b"very-secret-value" not in line


def test_a_command_that_cannot_be_started_is_the_sandboxs_failure(make_box: MakeBox) -> None:
    """It is told from a command that itself answers 1."""
    with (
        start(make_box(), ("/no/such",), ENVIRONMENT, stderr=subprocess.DEVNULL) as running,
        pytest.raises(SandboxError, match="before it could start the command"),
    ):
        running.wait(20)


def test_a_folder_as_standard_input_is_refused(make_box: MakeBox, tmp_path: Path) -> None:
    """Its descriptor leads up and out of any sandbox."""
    box = make_box()
    script = (
        "import os, sys\n"
        "os.dup2(os.open('/', os.O_RDONLY), 0)\n"
        "from remit.harness.sandbox.process import _check\n"
        "from remit.harness.sandbox.box import SandboxError\n"
        "try:\n    _check(0)\nexcept SandboxError as error:\n    print(error.problems[0].code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, check=True,
        env={**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert box.holds
    assert done.stdout == "sandbox-stream\n"


def test_hundreds_of_starts_leave_no_zombie_and_no_descriptor(make_box: MakeBox) -> None:
    """Each start is waited for, whichever way it ends."""
    box = make_box("worktree.write")
    before = set(os.listdir("/proc/self/fd"))
    for turn in range(300):
        with start(box, ("/bin/true",), ENVIRONMENT) as running:
            # Some are ended from outside, some end by themselves.
            if turn % 10:
                assert running.wait(20) == 0
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    states = {c: Path(f"/proc/{c}/stat").read_text().rsplit(")", 1)[1].split()[0] for c in children}
    assert "Z" not in states.values()
    assert set(os.listdir("/proc/self/fd")) <= before


class TestPlaceholders:
    def test_a_missing_protected_path_is_held_by_a_folder_for_as_long_as_it_runs(
        self, make_box: MakeBox, worktree: Path
    ) -> None:
        """Afterwards the tree is as it was."""
        before = sorted(os.listdir(worktree))
        path = str(worktree / ".mcp.json")
        box = make_box(protected=[path])
        with start(box, sh(f"echo x > {path} || exit 3"), ENVIRONMENT, stderr=-3) as running:
            assert running.wait(20) != 0
            assert (worktree / ".mcp.json").is_dir()
        assert sorted(os.listdir(worktree)) == before

    def test_the_last_of_two_sandboxes_takes_it_away(
        self, make_box: MakeBox, worktree: Path
    ) -> None:
        """The first one's end leaves the second one's protection as it is."""
        path = worktree / ".mcp.json"
        one = make_box(protected=[str(path)])
        with start(one, sh("read x"), ENVIRONMENT, stdin=subprocess.PIPE) as first:
            two = make_box_again(worktree, path)
            assert two.mounts.at(str(path)).value == "ro"
            script = f"read x; mkdir {path}/y"
            with start(
                two, sh(script), ENVIRONMENT, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as second:
                first.stop()
                first.close()
                assert path.is_dir()
                assert second.stdin
                second.stdin.write(b"\n")
                second.stdin.close()
                assert second.wait(20) != 0
        assert not path.exists()

    def test_what_no_mount_could_keep_from_being_made_is_told(
        self, make_box: MakeBox, worktree: Path
    ) -> None:
        """git reads where its data lies from a file that is usually missing."""
        box = make_box()
        path = worktree / ".git" / "commondir"
        assert str(path) in box.mounts.watched
        assert any(a.what == str(path) for a in box.advisory)
        with start(box, sh(f"echo /tmp > {path}"), ENVIRONMENT) as running:
            running.wait(20)
        assert running.appeared == (str(path),)


def make_box_again(worktree: Path, path: Path) -> Box:
    return box(TOP, survey(worktree, ("sh",), ENVIRONMENT, protected=[str(path)]), choose())
