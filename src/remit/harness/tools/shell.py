"""`shell`: a command line in the sandbox of the mode in force."""

from __future__ import annotations

import os
import selectors
import subprocess
from collections import deque

from attrs import define, evolve, field, frozen

from remit.harness.sandbox.box import Box
from remit.harness.sandbox.process import Running, find, start
from remit.harness.tools.declaration import HarnessTool, Result, says
from remit.harness.tools.desk import Desk, Refused
from remit.harness.tools.files import spill
from remit.harness.tools.tree import Tree

__all__ = ["SHELL", "Shell", "run_shell"]

#: Bytes that a result shows of the beginning and of the end, and that are kept at all.
_HEAD, _TAIL, _KEPT = 20_000, 20_000, 8 * 1024 * 1024
_POLL, _LAST_WORDS = 0.05, 0.3


@frozen
class Shell:
    """Run a command."""

    command: str = says("The command line, as bash reads it.", least=1, most=100_000)
    cwd: str | None = says(
        "The folder to run it in; else where relative paths start.", default=None
    )
    timeout: int = says("Seconds until it is ended.", default=120, least=1, most=600)


@define
class _Output:
    """What a command wrote: the first bytes and the last, and as much as can be kept."""

    parts: list[bytes] = field(factory=list)
    tail: deque[bytes] = field(factory=deque)
    size: int = 0
    _kept: int = 0
    _last: int = 0

    def take(self, part: bytes) -> None:
        self.size += len(part)
        room = _KEPT - self._kept
        if room > 0:
            self.parts.append(part[:room])
            self._kept += len(part[:room])
        self.tail.append(part)
        self._last += len(part)
        while self._last - len(self.tail[0]) >= _TAIL:
            self._last -= len(self.tail.popleft())

    def shown(self, desk: Desk) -> str:
        kept = b"".join(self.parts)
        if self.size <= _HEAD + _TAIL:
            return kept.decode("utf-8", "backslashreplace")
        path = spill(desk, "shell", kept)
        where = f"; `read` shows it: `{path}`" if path else ""
        where += f", of which {_KEPT} are kept" if self.size > _KEPT and path else ""
        left = self.size - _HEAD - _TAIL
        head = kept[:_HEAD].decode("utf-8", "backslashreplace")
        tail = b"".join(self.tail)[-_TAIL:].decode("utf-8", "backslashreplace")
        return f"{head}\n… {left} bytes of {self.size} are left out{where} …\n{tail}"


def run_shell(args: Shell, desk: Desk) -> Result:
    """Run a command; ``timeout`` may be longer than a model's own call takes."""
    if "\0" in args.command:
        raise Refused("the command holds a NUL", "bad-arguments")
    box = _in_folder(desk.box(), args.cwd, desk)
    words = ("bash", "-c", args.command)
    if find(box, "bash", desk.environment):
        words = ("sh", *words[1:])
    output = _Output()
    began = desk.clock()
    with start(
        box, words, desk.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as running:  # fmt: skip
        ended = _listen(running, output, desk, began + args.timeout)
        code = running.wait() if ended == "ended" else None
        if code is None:
            running.stop()
    desk_said = {
        "ended": f"exit code {code}",
        "late": f"ended after {args.timeout} s, which was its time",
        "interrupted": "interrupted",
    }[ended]
    made = running.appeared
    said = "".join(f"\nIt made the protected `{p}`, which no mount could prevent." for p in made)
    text = f"{desk_said}\n{output.shown(desk)}".rstrip("\n") + said
    data = {"exit_code": code, "bytes": output.size, "sandbox": box.backend.name, "ended": ended}
    return Result(text, code != 0, data)


def _in_folder(box: Box, cwd: str | None, desk: Desk) -> Box:
    if cwd is None:
        return evolve(box, cwd=desk.folder)
    tree = Tree(desk)
    spot = tree.spot(cwd)
    with tree.opened(spot) as (_, real):
        if not os.path.isdir(real.path):
            raise Refused(f"`{spot.name}` is no folder", "not-folder")
        return evolve(box, cwd=real.path)


def _listen(running: Running, output: _Output, desk: Desk, until: float) -> str:
    """Read until the command has ended, its time is over, or the call is cancelled."""
    stream = running.stdout
    assert stream is not None, "it is a pipe"
    os.set_blocking(stream.fileno(), False)
    over = None
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if desk.cancelled.is_set():
                return "interrupted"
            if desk.clock() >= until:
                return "late"
            if selector.select(_POLL):
                part = os.read(stream.fileno(), 65536)
                if part:
                    output.take(part)
                    continue
                return _closed(running, desk, until)
            # A child that holds the pipe open keeps nobody waiting.
            if running.popen.poll() is not None:
                over = over if over is not None else desk.clock() + _LAST_WORDS
                if desk.clock() >= over:
                    return "ended"


def _closed(running: Running, desk: Desk, until: float) -> str:
    """Wait for a command that closed its output."""
    while True:
        try:
            running.popen.wait(_POLL)
            return "ended"
        except subprocess.TimeoutExpired:
            if desk.cancelled.is_set():
                return "interrupted"
            if desk.clock() >= until:
                return "late"


SHELL = HarnessTool(
    "shell",
    "Run a command line in the sandbox of the mode in force. It gets no input, and all that it "
    "started ends with it.",
    Shell,
    run_shell,
)
