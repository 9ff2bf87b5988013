"""`todo`: the list of what is to do here. `task`: declared, for the loop to serve."""

from __future__ import annotations

from attrs import frozen

from remit.harness.tools.declaration import HarnessTool, Result, says
from remit.harness.tools.desk import Desk, Refused
from remit.harness.tools.todos import State, Todo

__all__ = ["TASK", "TODO"]


@frozen
class Item:
    """One piece of work."""

    text: str = says("What is to be done.", least=1, most=500)
    state: State = says("How far it is.", default=State.OPEN)  # noqa: RUF009


@frozen
class SetTodos:
    """Read or replace the list."""

    items: tuple[Item, ...] | None = says(
        "The whole list as it is to be; left out, the list is only read.", default=None, most=200
    )


_MARKS = {State.OPEN: "[ ]", State.ACTIVE: "[>]", State.DONE: "[x]"}


def _todo(args: SetTodos, desk: Desk) -> Result:
    if args.items is not None:
        desk.todos.items = tuple(Todo(i.text, i.state) for i in args.items)
    items = desk.todos.items
    lines = [f"{_MARKS[i.state]} {' '.join(i.text.split())}" for i in items]
    data = {"items": [{"text": i.text, "state": i.state.value} for i in items]}
    return Result("\n".join(lines) or "nothing is to do", data=data)


@frozen
class Task:
    """Give work to a subagent."""

    prompt: str = says(
        "All that it is to know and do; it sees nothing else.", least=1, most=100_000
    )
    title: str = says("One line: what it is for.", least=1, most=200)
    mode: str | None = says("The mode that it has, among those this mode allows.", default=None)


def _task(args: Task, desk: Desk) -> Result:
    raise Refused("this host starts no subagents", "not-served")


TODO = HarnessTool(
    "todo",
    "Keep a list of what is to do in this conversation. Keep one item active, and mark it done "
    "when it is.",
    SetTodos,
    _todo,
)
#: Declared here, so that its schema has one home; whoever runs the loop serves it.
TASK = HarnessTool(
    "task",
    "Let a subagent do a piece of work in a mode that is no wider than this one; returns what it "
    "answers.",
    Task,
    _task,
)
