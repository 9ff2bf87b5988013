"""The desk: what a tool has to work with, and nothing else of the host."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping

from attrs import field, frozen

from remit.harness.sandbox.box import Box
from remit.harness.tools.todos import Todos
from remit.policy.problems import Problem, RemitError

__all__ = ["Desk", "Halted", "Refused"]


class Refused(Exception):
    """A tool does not do what was asked; the message says why, ``why`` in one word."""

    def __init__(self, message: str, why: str = "refused") -> None:
        self.why = why
        super().__init__(message)


class Halted(Exception):
    """The call was cancelled while it ran."""


class _NoBox(RemitError):
    of_machine = True


def _no_box() -> Box:
    raise _NoBox(Problem("sandbox-missing", "this host starts no commands"))


def _root(path: str) -> str:
    return os.path.realpath(path)


def _real(path: str | None) -> str | None:
    return os.path.realpath(path) if path else None


@frozen
class Desk:
    """What one call is served with. Folders are absolute; links in them are resolved here.

    ``cwd`` is where relative paths start, the worktree unless said; whoever judges a call must
    judge it from the same folder. ``scratch`` is the space's own folder, the one place that is
    written besides the worktree. ``box`` makes the sandbox of the mode in force, just before a
    command starts. ``protected`` and ``secret`` are those of the `Host`: what no tool may change,
    and what none may even read. ``clock`` counts seconds and never goes back.
    """

    worktree: str = field(converter=_root)
    #: Required, because a desk without them would guard less than its host says.
    protected: tuple[str, ...]
    secret: tuple[str, ...]
    cwd: str | None = field(default=None, converter=_real)
    scratch: str | None = field(default=None, converter=_real)
    box: Callable[[], Box] = _no_box
    cancelled: threading.Event = field(factory=threading.Event)
    environment: Mapping[str, str] = field(factory=lambda: dict(os.environ))
    todos: Todos = field(factory=Todos)
    clock: Callable[[], float] = time.monotonic

    @property
    def folder(self) -> str:
        """Where relative paths start."""
        return self.cwd or self.worktree

    def halt(self) -> None:
        """Raise `Halted` if the call was cancelled."""
        if self.cancelled.is_set():
            raise Halted
