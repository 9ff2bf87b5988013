"""Seeded faults of conversations, one line each: a walk beside the reference has to catch each.

A fault is made in the running process, in the code of one function, and taken back afterwards.
"""

from __future__ import annotations
import __future__

import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from attrs import frozen

from remit.harness import frames, inforce, session, turns
from remit.harness.store import approvals, conversations, fold, spaces
from remit.policy import boundary

__all__ = ["FAULTS", "Fault", "made"]


@frozen
class Fault:
    """What it breaks, and in which function which text becomes which."""

    what: str
    where: Any
    old: str
    new: str


def _get(kind: Any, name: str) -> FunctionType:
    """Return the function behind a property."""
    getter = vars(kind)[name].fget
    assert isinstance(getter, FunctionType)
    return getter


FAULTS = (
    Fault("a step takes whatever the space was given", boundary.crosses,
          "(newer and (at is Boundary.TURN or granted))", "newer"),
    Fault("what narrows waits for the next turn", boundary.crosses,
          "narrows(wanted, held) or (", "("),
    Fault("a mode that was left behind with its branch comes back", boundary.crosses,
          "(newer and (", "(("),
    Fault("a call is judged by its frame alone", frames.judge,
          "if now.projection is not frame.projection or len(gates) > 1:", "if False:"),
    Fault("a call is judged by what holds now alone", frames.judge,
          "max(views,", "max(views[:1],"),
    Fault("a wider dial helps the running turn", frames.judge,
          "spaces = (now.space, frame.space, *(f.space for f in frame.floors))",
          "spaces = (now.space,)"),
    Fault("a child is not under what narrows its parents", _get(inforce.InForce, "_overlays"),
          "for link in self.line:", "for link in self.line[:1]:"),
    Fault("an overlay of a turn is lost", _get(inforce.InForce, "_overlays"),
          "found += (link.overlay, link.turn)", "found += (link.overlay,)"),
    Fault("what widens the parent helps its child's turn", turns.Turn._begin,
          "(self._force(), *above)", "(self._force(),)"),
    Fault("a change is told again with each request", fold._step_framed,
          'telling=_text(e.body["telling"])', "telling=None"),
    Fault("what a lost request told counts as told", conversations.Conversations._close,
          "outcome is Outcome.ENDED or self._called(there)", "True"),
    Fault("what a request told is forgotten with its turn", fold._turn_closed,
          'if e.body["came"]:', "if False:"),
    Fault("the result of an exit and a notice tell the same", turns.Turn._framed,
          "narrated=granted or self._narrated(", "narrated=False and self._narrated("),
    Fault("a fork loses what an operator narrowed", conversations.Conversations.fork,
          "overlay=there.overlay", "overlay=None"),
    Fault("a move takes a waiting switch for seen", conversations.Conversations.move,
          "revision = there.revision if waits and not there.child else space.revision",
          "revision = space.revision"),
    Fault("one approval lets a call run twice", session.Session._leave,
          "approvals.consume(writer, there)", "pass"),
    Fault("a step that failed leaves what it was granted", turns.Turn.step,
          "self._seq, self.floors = began", "pass"),
    Fault("a switch is answered as if no turn were open", spaces.Spaces.set_mode,
          "answer = ", "answer = Answer.COMMITTED or "),
    Fault("an approval outlives the mode that it was asked for in", approvals.Approvals.find,
          " ORDER BY seq DESC LIMIT 1", " ORDER BY seq LIMIT 1"),
)  # fmt: skip


@contextmanager
def made(fault: Fault) -> Iterator[None]:
    """Have the fault while in the block; `AssertionError` if its line is not there once."""
    where: FunctionType = fault.where
    source = textwrap.dedent(inspect.getsource(where))
    assert source.count(fault.old) == 1, f"`{fault.old}` is there {source.count(fault.old)} times"
    flags = __future__.annotations.compiler_flag
    code = compile(source.replace(fault.old, fault.new), "<fault>", "exec", flags)
    space: dict[str, Any] = {"property": lambda function: function}
    exec(code, {**where.__globals__, **space}, space)
    before, where.__code__ = where.__code__, space[where.__name__].__code__
    try:
        yield
    finally:
        where.__code__ = before
