"""`remit exec` on a terminal and on pipes, as a person or a script starts it."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from tests.needs import need

CODE = "from remit.cli import main; main()"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A worktree to work in, with bubblewrap at hand."""
    need("bwrap", debian="bubblewrap")
    root = tmp_path / "worktree"
    root.mkdir()
    return root


def environment(place: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place.parent),
        "REMIT_HOME": str(place.parent / "remit"),
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "TERM": "xterm",
    }


def argv(place: Path, *words: str, backend: str = "bubblewrap") -> list[str]:
    return [
        sys.executable, "-c", CODE, "exec", "--mode", "chat", "--backend", backend,
        "--worktree", str(place), "--", *words,
    ]  # fmt: skip


class Terminal:
    """A person's terminal, with `remit exec` in its foreground."""

    def __init__(self, place: Path, *words: str, backend: str = "bubblewrap") -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, argv(place, *words, backend=backend), environment(place))
        self.said = b""

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data: bytes) -> None:
        os.write(self.fd, data)

    def until(self, wanted: bytes, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while wanted not in self.said:
            assert time.monotonic() < deadline, self.said
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.said += os.read(self.fd, 65536)
                except OSError:
                    break
        assert wanted in self.said, self.said

    def end(self) -> int:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.said += os.read(self.fd, 65536)
                except OSError:
                    time.sleep(0.05)
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError(f"it did not end: {self.said!r}")


@pytest.mark.parametrize("backend", ["bubblewrap", "landlock", "none"])
class TestTerminal:
    def test_it_has_a_terminal_of_the_same_size_and_hears_of_a_new_one(
        self, place: Path, backend: str
    ) -> None:
        """Window size passes, at the start and whenever it changes."""
        script = (
            "trap 'stty size; exit 0' WINCH; stty size; echo ready; while :; do sleep 0.1; done"
        )
        terminal = Terminal(place, "sh", "-c", "sleep 0.3; " + script, backend=backend)
        terminal.resize(33, 77)
        terminal.until(b"ready")
        terminal.resize(44, 88)
        terminal.until(b"44 88")
        assert terminal.end() == 0

    def test_keys_reach_it(self, place: Path, backend: str) -> None:
        """A line that is typed is a line that is read, and the exit code passes."""
        terminal = Terminal(
            place, "sh", "-c", "test -t 0 && echo tty; read x; echo got-$x; exit 6", backend=backend
        )
        terminal.until(b"tty")
        terminal.type(b"hello\r")
        terminal.until(b"got-hello")
        assert terminal.end() == 6

    def test_the_interrupt_key_interrupts_the_command(self, place: Path, backend: str) -> None:
        """It is the command that is interrupted, not the sandbox around it."""
        script = "trap 'echo interrupted; exit 4' INT; echo ready; while :; do sleep 0.1; done"
        terminal = Terminal(place, "sh", "-c", script, backend=backend)
        terminal.until(b"ready")
        terminal.type(b"\x03")
        terminal.until(b"interrupted")
        assert terminal.end() == 4


def test_a_shell_has_job_control(place: Path) -> None:
    """The command's terminal controls it, though it is in a session of its own."""
    terminal = Terminal(place, "bash", "--norc", "--noprofile", "-i")
    terminal.until(b"# " if os.getuid() == 0 else b"$ ")
    terminal.type(b"sleep 50 &\rjobs; echo d''one\r")
    terminal.until(b"done")
    terminal.type(b"kill %1; exit 3\r")
    assert terminal.end() == 3
    assert b"no job control" not in terminal.said
    assert b"Running" in terminal.said


def test_nothing_is_left_to_be_read_by_the_shell_afterwards(place: Path) -> None:
    """Terminal injection: what a command pushes back is pushed to its own terminal."""
    code = (
        "import fcntl, termios\n"
        "try:\n"
        "    [fcntl.ioctl(0, termios.TIOCSTI, bytes([b])) for b in b'evil\\n']\n"
        "    print('in' + 'jected')\n"
        "except OSError as error:\n"
        "    print('ref' + 'used', error.errno)\n"
    )
    need("python3")
    terminal = Terminal(place, "/usr/bin/python3", "-c", code)
    terminal.until(b"refused 1")
    assert terminal.end() == 0
    assert b"evil" not in terminal.said


class TestPipes:
    def run(self, place: Path, *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            argv(place, *words), env=environment(place), timeout=60, capture_output=True, **more
        )
        return done

    def test_standard_input_and_output_pass(self, place: Path) -> None:
        """Bytes are bytes, whatever they are."""
        data = bytes(range(256)) * 4096
        done = self.run(place, "cat", input=data)
        assert done.returncode == 0, done.stderr
        assert done.stdout == data

    def test_a_file_as_standard_input_cannot_be_opened_for_writing(self, place: Path) -> None:
        """Opened again through its descriptor, it would be as writable as it is outside."""
        file = place.parent / "given"
        file.write_text("given\n")
        with file.open() as stream:
            done = self.run(
                place, "sh", "-c", "cat; echo evil > /proc/self/fd/0; true", stdin=stream
            )
        assert done.stdout == b"given\n"
        assert file.read_text() == "given\n"

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (("no-such-command",), 127),
            (("./missing",), 127),
            (("./file",), 126),
            (("sh", "-c", "exit 125"), 125),
            (("sh", "-c", "kill -KILL $$"), 137),
        ],
    )
    def test_codes_are_those_of_a_shell(
        self, place: Path, words: tuple[str, ...], code: int
    ) -> None:
        """127 is not found, 126 not runnable; all others are the command's own."""
        (place / "file").write_text("")
        assert self.run(place, *words).returncode == code

    def test_a_signal_to_remit_is_a_signal_to_the_command(self, place: Path) -> None:
        """A service manager's SIGTERM lets the command clean up."""
        script = "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
        with subprocess.Popen(
            argv(place, "sh", "-c", script), env=environment(place), stdout=subprocess.PIPE
        ) as process:
            assert process.stdout
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGTERM)
            assert process.stdout.read() == b"bye\n"
            assert process.wait(30) == 9

    def test_it_starts_here_if_that_lies_in_the_worktree(self, place: Path) -> None:
        """Else in the worktree."""
        (place / "sub").mkdir()
        inside = self.run(place, "pwd", cwd=place / "sub")
        outside = self.run(place, "pwd", cwd="/")
        assert inside.stdout.decode().strip() == str((place / "sub").resolve())
        assert outside.stdout.decode().strip() == str(place.resolve())
