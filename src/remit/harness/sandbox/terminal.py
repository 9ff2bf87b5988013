"""Running one command in the foreground: its terminal, its signals, its exit code.

On a terminal the command gets one of its own, and bytes pass between the two: what it could inject
goes to its own alone, and window size and keys still reach it.
"""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import termios
import threading
import tty
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any

from remit.harness.sandbox.box import Box, SandboxError
from remit.harness.sandbox.process import Running, find, start
from remit.policy.problems import Problem

__all__ = ["OWN_FAILURE", "run"]

#: The code of a failure of the sandbox itself; 126 and 127 are those of a command not started.
OWN_FAILURE = 125

_PASSED = (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
    signal.SIGCONT,
)  # fmt: skip
_CHUNK = 65536


def run(box: Box, command: tuple[str, ...], environment: Mapping[str, str]) -> tuple[int, Running]:
    """Run a command on our own standard streams; returns its exit code as a shell has it.

    Raises `SandboxError` where the sandbox fails, or a standard stream would lead out of it.
    """
    if code := find(box, command[0], environment):
        why = "is not found" if code == 127 else "cannot be run in the sandbox"
        raise _NotStarted(code, Problem("sandbox-command", f"`{command[0]}` {why}"))
    if os.isatty(0) and os.isatty(1):
        return _on_terminal(box, command, environment)
    with start(box, command, environment, stdin=_input()) as running:
        feeder = _feed(running)
        with _passing(running):
            code = running.wait()
        if feeder is not None:
            feeder.join(0.1)
    return code, running


class _NotStarted(SandboxError):
    """A command that was not started; ``code`` is what a shell would answer."""

    def __init__(self, code: int, problem: Problem) -> None:
        self.code = code
        super().__init__(problem)


def _input() -> int | None:
    """Say how standard input passes: a file goes by a pipe, for its descriptor could be reopened.

    Opened again through `/proc/self/fd`, it would be as writable as it is outside.
    """
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return subprocess.DEVNULL
    return subprocess.PIPE if stat.S_ISREG(mode) else None


def _feed(running: Running) -> threading.Thread | None:
    target = running.stdin
    if target is None:
        return None

    def copy(to: IO[bytes]) -> None:
        with suppress(BrokenPipeError, ValueError), to:
            while data := os.read(0, _CHUNK):
                to.write(data)
                to.flush()

    thread = threading.Thread(target=copy, args=(target,), daemon=True)
    thread.start()
    return thread


@contextmanager
def _passing(running: Running) -> Iterator[None]:
    """Pass signals that reach us on to the command."""

    def deliver(number: int, _: object) -> None:
        running.signal(number)

    with ExitStack() as stack:
        for number in _PASSED:
            before = signal.signal(number, deliver)
            stack.callback(signal.signal, number, before)
        yield


def _on_terminal(
    box: Box, command: tuple[str, ...], environment: Mapping[str, str]
) -> tuple[int, Running]:
    master, slave = os.openpty()
    prepare = None
    if box.backend.namespaces:
        if helper := shutil.which("setsid", path="/usr/bin:/bin"):
            # Only whoever leads a session can take a terminal for it.
            command = (helper, "-c", *command)
    else:
        prepare = _lead
    try:
        termios.tcsetattr(slave, termios.TCSANOW, termios.tcgetattr(0))
        _resize(master)
        err = slave if os.isatty(2) else None
        with start(
            box, command, environment, stdin=slave, stdout=slave, stderr=err, prepare=prepare
        ) as running:
            os.close(slave)
            slave = -1
            with _passing(running), _raw():
                code = _relay(running, master)
        return code, running
    finally:
        os.close(master)
        if slave >= 0:
            os.close(slave)


def _lead() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _resize(master: int) -> None:
    size = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
    fcntl.ioctl(master, termios.TIOCSWINSZ, size)


@contextmanager
def _raw() -> Iterator[None]:
    before = termios.tcgetattr(0)
    # Keys that were typed ahead are not thrown away.
    tty.setraw(0, termios.TCSANOW)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextmanager
def _waking() -> Iterator[int]:
    """Yield a descriptor that can be read once a child ended or the window changed."""
    ours, theirs = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    handlers = {n: signal.signal(n, lambda *_: None) for n in (signal.SIGCHLD, signal.SIGWINCH)}
    try:
        yield ours
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.close(ours)
        os.close(theirs)


def _relay(running: Running, master: int) -> int:
    """Pass bytes both ways until the command has ended and all that it wrote is out."""
    os.set_blocking(master, False)
    waiting = b""
    keys = True
    with _waking() as wake:
        while running.popen.poll() is None:
            readable = [master, wake, *([0] if keys and not waiting else [])]
            ready, open_, _ = select.select(readable, [master] if waiting else [], [], 1.0)
            if wake in ready:
                with suppress(BlockingIOError):
                    os.read(wake, _CHUNK)
                _resize(master)
            if 0 in ready:
                waiting = os.read(0, _CHUNK)
                keys = bool(waiting)
            if open_:
                with suppress(OSError):
                    waiting = waiting[os.write(master, waiting) :]
            if master in ready and not _show(master):
                # The last one who could write has closed it, or nobody has opened it again yet.
                with suppress(subprocess.TimeoutExpired):
                    running.popen.wait(0.02)
        while _show(master):
            pass
    return running.wait()


def _show(master: int) -> bool:
    """Write out what there is; says whether there was anything."""
    try:
        data = os.read(master, _CHUNK)
    except OSError:
        return False
    rest: Any = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]
    sys.stdout.flush()
    return bool(data)
