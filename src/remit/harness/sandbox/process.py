"""Starting commands in a box: descriptors, exit codes, signals and the end of all children."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any

from attrs import frozen

from remit.harness.sandbox.box import Box, SandboxError, inside
from remit.harness.sandbox.hold import appeared, held
from remit.policy.backend import Launch
from remit.policy.problems import Problem

__all__ = ["Opened", "Running", "find", "opened", "start"]

#: As shells have it: found but not to be run, not found.
NOT_RUNNABLE, NOT_FOUND = 126, 127


class Running:
    """A command that was started in a box."""

    def __init__(self, popen: subprocess.Popen[bytes], status: int | None) -> None:
        self.popen = popen
        self._status = status
        self._said = b""
        #: Protected paths that no mount could keep from being made, and that were.
        self.appeared: tuple[str, ...] = ()

    @property
    def stdin(self) -> IO[bytes] | None:
        """The pipe to its standard input, where one was asked for."""
        return self.popen.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        """The pipe from its standard output, where one was asked for."""
        return self.popen.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        """The pipe from its standard error, where one was asked for."""
        return self.popen.stderr

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; returns its exit code, 128 and the signal's number if it was killed.

        Raises `subprocess.TimeoutExpired`, and `SandboxError` where the sandbox itself failed.
        """
        code = self.popen.wait(timeout)
        said = self._listen()
        if self._status is not None and code > 0 and "exit-code" not in said:
            raise SandboxError(
                Problem(
                    "sandbox-failed",
                    f"the sandbox ended with code {code} before it could start the command",
                    "its own words are above; `remit doctor` tries each sandbox",
                )
            )
        return code if code >= 0 else 128 - code

    def signal(self, number: int) -> None:
        """Pass a signal to the command itself; nothing happens once it has ended."""
        with suppress(ProcessLookupError, PermissionError):
            os.kill(self._command(), number)

    def stop(self) -> None:
        """End it and all that it started, at once."""
        # With namespaces the starter's death is everyone's; without, the group's must do.
        if self._status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.kill()
        self.popen.wait()

    def close(self) -> None:
        """End it, and let go of all descriptors."""
        self.stop()
        for stream in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        if self._status is not None:
            os.close(self._status)
            self._status = None

    def _listen(self) -> Mapping[str, Any]:
        """Read what the starter has told so far; it never blocks."""
        if self._status is not None:
            with suppress(BlockingIOError):
                while more := os.read(self._status, 4096):
                    self._said += more
        facts: dict[str, Any] = {}
        for line in self._said.splitlines():
            with suppress(ValueError):
                facts |= json.loads(line)
        return facts

    def _command(self) -> int:
        """Return the process that the command is, seen from here."""
        first = self._listen().get("child-pid")
        if not isinstance(first, int):
            return self.popen.pid
        # Within a pid namespace the first process only reaps; the command is its first child.
        with suppress(OSError), open(f"/proc/{first}/task/{first}/children") as file:
            if children := file.read().split():
                return int(children[0])
        raise ProcessLookupError(first)


@contextmanager
def start(
    box: Box,
    command: tuple[str, ...],
    environment: Mapping[str, str] | None = None,
    *,
    stdin: int | IO[Any] | None = None,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    prepare: Callable[[], None] | None = None,
) -> Iterator[Running]:
    """Start a command in a box; when the context ends, so do the command and all it started.

    The streams are as for `subprocess.Popen`. Call it in a thread that outlives the command: the
    kernel ends the sandbox with the thread that started it. ``prepare`` runs in the child and only
    single-threaded programs may use it.
    """
    environment = os.environ if environment is None else environment
    launch = box.launch(command, environment)
    with held(box.mounts):
        running = _spawn(box, launch, stdin, stdout, stderr, prepare)
        try:
            yield running
        finally:
            running.close()
            running.appeared = appeared(box.mounts)


@frozen
class Opened:
    """What starts a command in a box, for those who start processes themselves."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: str
    descriptors: tuple[int, ...]


@contextmanager
def opened(box: Box, command: tuple[str, ...], environment: Mapping[str, str]) -> Iterator[Opened]:
    """Open what a start needs; close it once the command has ended."""
    launch = box.launch(command, environment)
    numbers: dict[str, int] = {}
    with held(box.mounts), ExitStack() as stack:
        for name, data in launch.feeds.items():
            numbers[name] = _feed(name, data)
            stack.callback(os.close, numbers[name])
        if launch.status:
            numbers[launch.status] = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            stack.callback(os.close, numbers[launch.status])
        argv = tuple(_filled(word, numbers) for word in launch.argv)
        yield Opened(argv, launch.environment, box.cwd, tuple(numbers.values()))


def _spawn(
    box: Box,
    launch: Launch,
    stdin: int | IO[Any] | None,
    stdout: int | IO[Any] | None,
    stderr: int | IO[Any] | None,
    prepare: Callable[[], None] | None,
) -> Running:
    for number, stream in enumerate((stdin, stdout, stderr)):
        if stream is None:
            _check(number)
    numbers: dict[str, int] = {}
    status = None
    try:
        for name, data in launch.feeds.items():
            numbers[name] = _feed(name, data)
        if launch.status:
            status, numbers[launch.status] = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        popen = subprocess.Popen(
            [_filled(word, numbers) for word in launch.argv],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=dict(launch.environment),
            cwd=box.cwd,
            pass_fds=tuple(numbers.values()),
            # A key pressed at the terminal is ours to pass on; it must not end the starter.
            start_new_session=prepare is None,
            preexec_fn=prepare,
        )
    except OSError as error:
        if status is not None:
            os.close(status)
        raise SandboxError(
            Problem("sandbox-start", f"`{launch.argv[0]}` could not be started: {error.strerror}")
        ) from error
    finally:
        for fd in numbers.values():
            os.close(fd)
    return Running(popen, status)


def _check(number: int) -> None:
    """Refuse a folder or a disk as a standard stream: both lead out of any sandbox."""
    with suppress(OSError):
        mode = os.fstat(number).st_mode
        if stat.S_ISDIR(mode) or stat.S_ISBLK(mode):
            raise SandboxError(
                Problem(
                    "sandbox-stream",
                    f"descriptor {number} is a folder or a disk, which leads out of the sandbox",
                    "give it a file, a pipe or a terminal",
                )
            )


def _feed(name: str, data: bytes) -> int:
    fd = os.memfd_create(f"remit-{name}", os.MFD_CLOEXEC)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _filled(word: str, numbers: Mapping[str, int]) -> str:
    name = word[1:-1] if word.startswith("{") and word.endswith("}") else ""
    return str(numbers[name]) if name in numbers else word


def find(box: Box, name: str, environment: Mapping[str, str]) -> int:
    """Return 0 if a command can be started in a box, else the code that a shell would answer."""
    if "/" in name:
        path: str | None = os.path.join(box.cwd, name)
    else:
        path = shutil.which(name, path=environment.get("PATH"))
    if path is None or not os.path.exists(path):
        return NOT_FOUND
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        return NOT_RUNNABLE
    if box.holds and not inside(box.mounts, os.path.realpath(path)):
        return NOT_RUNNABLE
    return 0
