"""Tasks of a plan: read from its text once, then tracked by records of the log alone.

The text is what people and models edit by hand; whether a task is done is what the records say,
so an edit changes the body of a plan and never its progress (S001-R10).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from remit.policy.digest import digest
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem, near

__all__ = [
    "ACTIVATED",
    "CLEARED",
    "MAX_TASKS",
    "MAX_TASK_ID",
    "SECTION",
    "TICKED",
    "ActivePlan",
    "Task",
    "Tracker",
    "activated",
    "fold_plan",
    "read_tasks",
]

#: The kinds of records that say which plan is active and what of it is done.
ACTIVATED, TICKED, CLEARED = "plan.activated", "plan.ticked", "plan.cleared"

#: The heading of the section whose boxes are tasks; its case does not matter.
SECTION = "Tasks"
MAX_TASKS = 1000
#: Characters of a task's id, and of a plan's.
MAX_TASK_ID, _MAX_PLAN_ID = 128, 255

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_BOX = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)")


@frozen
class Task:
    """One thing to do; ``done`` says that it was so when its plan became active."""

    id: str
    title: str
    done: bool = False


@frozen
class ActivePlan:
    """How the active plan stands; ``next`` is the first task that is not done, None if all are."""

    id: str
    done: int
    total: int
    next: Task | None


@frozen
class Tracker:
    """The plan that is active on a branch, its tasks as they were then, and those ticked since."""

    plan: str
    tasks: tuple[Task, ...]
    ticked: frozenset[str] = frozenset()

    @property
    def active(self) -> ActivePlan:
        """The same in short, as a conversation is told it."""
        left = [t for t in self.tasks if not (t.done or t.id in self.ticked)]
        total = len(self.tasks)
        return ActivePlan(self.plan, total - len(left), total, left[0] if left else None)

    def tick(self, task: str) -> bool:
        """Say whether ticking a task is news, so that a record of it is to be written.

        Ticking what is done succeeds and changes nothing. `InputError` where no task has that id.
        """
        if len(task) > MAX_TASK_ID:
            said = f"a task's id has at most {MAX_TASK_ID} characters, got {len(task)}"
            raise InputError(Problem("bad-task-id", said))
        for one in self.tasks:
            if one.id == task:
                return not (one.done or task in self.ticked)
        upcoming = self.active.next
        hint = near(task, (t.id for t in self.tasks))
        if not hint and upcoming is not None:
            hint = f"the next one is `{upcoming.id}`"
        said = f"plan {quoted(self.plan)} has no task {quoted(task)}"
        raise InputError(Problem("unknown-task", said, hint))


def read_tasks(text: str, section: str = SECTION) -> tuple[Task, ...]:
    """Return the tasks of a plan's text: the top-level boxes of the first section of that name.

    A section ends at the next heading that is not below its own. An id is made of the title, with
    an index where titles are alike, so it survives edits elsewhere and a box ticked by hand.
    `InputError` where there are more than `MAX_TASKS`.
    """
    alike: Counter[str] = Counter()
    tasks = []
    for line in _section(text, section):
        if box := _BOX.fullmatch(line):
            title = " ".join(box[2].split())
            id = f"t{digest(title)[:12]}"
            alike[id] += 1
            id = id if alike[id] == 1 else f"{id}-{alike[id]}"
            tasks.append(Task(id, title, box[1] != " "))
    if len(tasks) > MAX_TASKS:
        said = f"a plan has at most {MAX_TASKS} tasks, got {len(tasks)}"
        raise InputError(Problem("plan-tasks", said, "join what belongs together"))
    return tuple(tasks)


def _section(text: str, section: str) -> Iterator[str]:
    """Yield the lines of a section, without those of code blocks."""
    depth, fence = 0, ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if found := _FENCE.fullmatch(line):
            mark, rest = found.groups()
            if not fence and not (mark[0] == "`" and "`" in rest):
                fence = mark
            elif mark.startswith(fence) and not rest.strip():
                fence = ""
        elif fence:
            continue
        elif heading := _HEADING.fullmatch(line):
            level = len(heading[1])
            if depth and level <= depth:
                return
            if not depth and heading[2].strip().casefold() == section.casefold():
                depth = level
        elif depth:
            yield line


def activated(plan: str, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return the body of the record that makes a plan active: all that its progress needs."""
    return {"plan": plan, "tasks": [{"id": t.id, "title": t.title, "done": t.done} for t in tasks]}


def fold_plan(
    records: Sequence[tuple[str, object]], since: Tracker | None = None
) -> Tracker | None:
    """Return the plan that is active after records of one branch, None where there is none.

    A record is its kind and body; records of other kinds, and those that cannot be read or that
    name no task of the plan, count for nothing (S001-R5). ``since`` is what held before them.
    """
    start, plan = 0, since
    # From the end, so that what a later plan replaced is never read.
    for at in range(len(records) - 1, -1, -1):
        kind, body = records[at]
        if kind == CLEARED and isinstance(body, Mapping):
            start, plan = at, None
        elif kind == ACTIVATED and (read := _tracker(body)):
            start, plan = at, read
        else:
            continue
        break
    if plan is None:
        return None
    known = {t.id for t in plan.tasks}
    named = (
        body.get("task")
        for kind, body in records[start:]
        if kind == TICKED and isinstance(body, Mapping)
    )
    ticked = {task for task in named if isinstance(task, str) and task in known}
    return evolve(plan, ticked=plan.ticked | ticked)


def _tracker(body: object) -> Tracker | None:
    """Read the body of an activation; None where it is not whole."""
    if not isinstance(body, Mapping):
        return None
    plan: Any = body.get("plan")
    raw = body.get("tasks")
    if not _is_text(plan, _MAX_PLAN_ID) or not isinstance(raw, list) or len(raw) > MAX_TASKS:
        return None
    tasks = []
    for one in raw:
        if not isinstance(one, Mapping):
            return None
        id: Any = one.get("id")
        title, done = one.get("title"), one.get("done", False)
        if not (_is_text(id, MAX_TASK_ID) and isinstance(title, str) and isinstance(done, bool)):
            return None
        tasks.append(Task(id, title, done))
    return Tracker(plan, tuple(tasks)) if len({t.id for t in tasks}) == len(tasks) else None


def _is_text(value: Any, limit: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= limit
