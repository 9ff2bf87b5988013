"""Tasks of a plan: read once from its text, then moved by records alone."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.problems import InputError
from remit.policy.tasks import (
    ACTIVATED,
    CLEARED,
    MAX_TASKS,
    TICKED,
    ActivePlan,
    Task,
    Tracker,
    activated,
    fold_plan,
    read_tasks,
)

TEXT = """\
# Ship it

- [ ] not in the section

## Tasks ##

- [ ] Write   the parser
  - [ ] below another
- [x] Read the grammar
* [X] Ask
1. [ ] Write the parser
- no box
- [] none either
- [ ]
```md
- [ ] in a code block
```
### Later

+ [ ] Tell

## After

- [ ] not in it

## Tasks

- [ ] nor in a second one
"""
A, B = Task("a", "first"), Task("b", "second")


def titles(text: str) -> list[tuple[str, bool]]:
    return [(t.title, t.done) for t in read_tasks(text)]


class TestRead:
    def test_the_top_level_boxes_of_one_section(self) -> None:
        """S001-R10: what is nested, in code, elsewhere or no box is no task."""
        assert titles(TEXT) == [
            ("Write the parser", False),
            ("Read the grammar", True),
            ("Ask", True),
            ("Write the parser", False),
            ("Tell", False),
        ]

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("", []),
            ("- [ ] a", []),
            ("# tasks\n- [ ] a\r\n", [("a", False)]),
            ("# TASKS\n~~~\n```\n- [ ] a\n~~~\n- [ ] b", [("b", False)]),
            ("# Tasks\n````\n```\n- [ ] a\n````\n- [ ] b", [("b", False)]),
            ("```\n# Tasks\n- [ ] a\n```", []),
            ("# Tasks of others\n- [ ] a", []),
            ("## Tasks\n- [ ] a\n# Up\n- [ ] b", [("a", False)]),
            ("# Tasks\n## Tasks\n- [ ] a\n## More\n- [ ] b", [("a", False), ("b", False)]),
        ],
    )
    def test_what_a_section_is(self, text: str, found: list[tuple[str, bool]]) -> None:
        """It has the heading's words, and ends at the next heading that is not below its own."""
        assert titles(text) == found

    def test_an_id_survives_what_happens_elsewhere(self) -> None:
        """S001-R10: stable ids with an index for titles that are alike."""
        first = {t.id for t in read_tasks(TEXT)}
        edited = TEXT.replace("- [ ] Write   the", "- [x] Write the").replace("* [X] Ask\n", "")
        second = {t.id for t in read_tasks(edited)}

        assert len(first) == 5
        assert first > second
        assert len(second) == 4
        assert sorted(i.partition("-")[2] for i in first) == ["", "", "", "", "2"]

    def test_has_an_end(self) -> None:
        """S001-R10: at most 1000, and none dropped in silence."""
        text = "# Tasks\n" + "- [ ] a\n" * MAX_TASKS
        assert len({t.id for t in read_tasks(text)}) == MAX_TASKS

        with pytest.raises(InputError) as caught:
            read_tasks(text + "- [x] b\n")
        assert [p.code for p in caught.value.problems] == ["plan-tasks"]


class TestTick:
    tracker = Tracker("p1", (A, B, Task("c", "third", done=True)), frozenset({"a"}))

    @pytest.mark.parametrize(("task", "news"), [("a", False), ("b", True), ("c", False)])
    def test_what_is_done_is_no_news(self, task: str, news: bool) -> None:
        """S001-R10, 001-015: ticking again succeeds, and writes no second record."""
        assert self.tracker.tick(task) is news

    @pytest.mark.parametrize(
        ("task", "code", "hint"),
        [
            ("nope", "unknown-task", "the next one is `b`"),
            ("", "unknown-task", "the next one is `b`"),
            ("B", "unknown-task", "did you mean `b`"),
            ("b" * 129, "bad-task-id", ""),
        ],
    )
    def test_an_unknown_task_is_an_error(self, task: str, code: str, hint: str) -> None:
        """S001-R10: with near misses, and never a tick of something else."""
        with pytest.raises(InputError) as caught:
            self.tracker.tick(task)

        assert [(p.code, p.hint) for p in caught.value.problems] == [(code, hint)]


def made(plan: str = "p1", *tasks: Task) -> tuple[str, object]:
    return ACTIVATED, activated(plan, tasks or (A, B))


def tick(task: object) -> tuple[str, object]:
    return TICKED, {"task": task}


CLEAR: tuple[str, object] = (CLEARED, {})
#: Records that count for nothing, whatever stands around them.
INVALID: list[tuple[str, object]] = [
    ("mode.flushed", {"mode": "x"}),
    (ACTIVATED, None),
    (ACTIVATED, "p2"),
    (ACTIVATED, {}),
    (ACTIVATED, {"plan": "", "tasks": []}),
    (ACTIVATED, {"plan": "p" * 256, "tasks": []}),
    (ACTIVATED, {"plan": "p2"}),
    (ACTIVATED, {"plan": "p2", "tasks": ["a"]}),
    (ACTIVATED, {"plan": "p2", "tasks": [{"id": 1, "title": "x"}]}),
    (ACTIVATED, {"plan": "p2", "tasks": [{"id": "a", "title": "x", "done": "yes"}]}),
    (ACTIVATED, {"plan": "p2", "tasks": [{"id": "i" * 129, "title": "x"}]}),
    (ACTIVATED, {"plan": "p2", "tasks": [{"id": "a", "title": "x"}] * 2}),
    (ACTIVATED, {"plan": "p2", "tasks": [{"id": str(i), "title": ""} for i in range(1001)]}),
    (TICKED, None),
    (TICKED, {}),
    tick(["a"]),
    tick("unknown"),
    (CLEARED, None),
]


RECORDS = [made(), made("p2", B), tick("a"), tick("b"), CLEAR, *INVALID]


class TestFold:
    @pytest.mark.parametrize(
        ("records", "active"),
        [
            ([], None),
            ([tick("a")], None),
            ([made()], ActivePlan("p1", 0, 2, A)),
            ([made(), tick("a")], ActivePlan("p1", 1, 2, B)),
            ([made(), tick("b"), tick("b")], ActivePlan("p1", 1, 2, A)),
            ([made(), tick("a"), tick("b")], ActivePlan("p1", 2, 2, None)),
            ([made(), tick("a"), made()], ActivePlan("p1", 0, 2, A)),
            ([made(), tick("a"), made("p2", B)], ActivePlan("p2", 0, 1, B)),
            ([made("p2", Task("a", "", done=True), B)], ActivePlan("p2", 1, 2, B)),
            ([made(), CLEAR], None),
            ([made(), CLEAR, tick("a")], None),
            ([made(), CLEAR, made("p2")], ActivePlan("p2", 0, 2, A)),
        ],
    )
    def test_the_last_plan_with_its_ticks(
        self, records: list[tuple[str, object]], active: ActivePlan | None
    ) -> None:
        """S001-R9: activated, ticked, cleared; each plan begins with what was done in it."""
        plan = fold_plan(records)

        assert (plan and plan.active) == active

    @pytest.mark.parametrize("record", INVALID, ids=lambda r: str(r)[:60])
    def test_what_cannot_be_read_is_skipped(self, record: tuple[str, object]) -> None:
        """S001-R5: an invalid record neither hides what was before nor stops what follows."""
        whole = [made(), tick("a")]

        assert fold_plan([*whole, record]) == fold_plan(whole)
        assert fold_plan([record, *whole, record, tick("b")]) == fold_plan([*whole, tick("b")])

    def test_a_fork_has_what_was_before_it(self) -> None:
        """S001-R9, 001-016: a tick after the fork is not the fork's."""
        branch = [made(), tick("a")]

        assert [(p and p.active.done) for p in (fold_plan(branch), fold_plan(branch[:1]))] == [1, 0]

    @given(st.lists(st.sampled_from(RECORDS)), st.integers(0, 20))
    def test_may_go_on_from_anywhere(self, records: list[tuple[str, object]], at: int) -> None:
        """A branch folded in two parts is the branch folded whole, and as a slow walk has it."""
        slow: Tracker | None = None
        for kind, body in records:
            if (kind, body) in INVALID:
                continue
            read: Any = body
            if kind == ACTIVATED:
                slow = Tracker(read["plan"], tuple(Task(**t) for t in read["tasks"]))
            elif kind == CLEARED:
                slow = None
            elif slow is not None and read["task"] in {t.id for t in slow.tasks}:
                slow = Tracker(slow.plan, slow.tasks, slow.ticked | {read["task"]})

        assert fold_plan(records) == slow
        assert fold_plan(records[at:], fold_plan(records[:at])) == slow

    def test_ten_thousand_records_are_no_matter(self) -> None:
        """S001-R5: not more work than a few looks at each, though each is a plan of many tasks."""
        many = made("p1", *(Task(str(i), "") for i in range(MAX_TASKS)))
        records = [many, tick("1")] * 5_000

        def spent(count: int) -> float:
            start = time.process_time()
            assert fold_plan(records[-count:]) is not None
            return time.process_time() - start

        few, all_of_them = min(spent(20) for _ in range(5)), min(spent(10_000) for _ in range(5))
        assert all_of_them < few + 0.05

    def test_a_cleared_plan_is_missed_once(self) -> None:
        """S001-R11, 001-014: the record that goes with the notice leaves no plan to miss."""
        turns, notices = [made(), tick("a")], 0
        for _ in range(2):
            if fold_plan(turns) is not None:  # and its text is gone
                turns.append(CLEAR)
                notices += 1

        assert (notices, fold_plan(turns)) == (1, None)
