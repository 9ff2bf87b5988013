"""Findings weigh by priority and confidence; axes only harden a verdict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.problems import InputError
from remit.policy.review import (
    Anchor,
    Axis,
    AxisVerdict,
    NodeKind,
    NodeStatus,
    Priority,
    ReviewNode,
    ReviewVerdict,
    read_axes,
    read_finding,
    stored_finding,
    verdict_of,
)

SAID = {"kind": "bug", "priority": "P1", "confidence": 0.5, "text": "it breaks"}
ORDER = list(ReviewVerdict)


def node(priority: str, confidence: float = 1) -> ReviewNode:
    return ReviewNode(NodeKind.BUG, Priority(priority), confidence, "x")


nodes = st.lists(
    st.tuples(
        st.builds(
            ReviewNode,
            st.sampled_from(NodeKind),
            st.sampled_from(Priority),
            st.floats(0, 1),
            st.just("x"),
        ),
        st.sampled_from(NodeStatus),
    ),
    max_size=6,
)
axes = st.lists(
    st.builds(Axis, st.just("a"), st.sampled_from(AxisVerdict), st.booleans()), max_size=5
)


class TestVerdict:
    @pytest.mark.parametrize(
        ("priority", "confidence", "verdict"),
        [("P0", 0.7, "block"), ("P0", 0.69, "hold"), ("P1", 1, "hold"), ("P1", 0, "hold"),
         ("P2", 1, "ship"), ("P3", 1, "ship")],
    )  # fmt: skip
    def test_of_one_finding(self, priority: str, confidence: float, verdict: str) -> None:
        """The highest priority blocks from 0.7 on, the two highest hold (S003-12)."""
        assert verdict_of([(node(priority, confidence), NodeStatus.OPEN)]) == verdict

    @pytest.mark.parametrize("status", [NodeStatus.DISMISSED, NodeStatus.RESOLVED])
    def test_what_is_settled_weighs_nothing(self, status: NodeStatus) -> None:
        """A finding that is dismissed or resolved counts for nothing."""
        assert verdict_of([(node("P0"), status)]) == "ship"

    @pytest.mark.parametrize(
        ("axis", "verdict"),
        [("pass", "ship"), ("warn", "ship"), ("fail", "block"), ("partial", "hold"),
         ("unavailable", "hold")],
    )  # fmt: skip
    def test_of_a_gated_axis(self, axis: str, verdict: str) -> None:
        """One that failed blocks, one that could not run holds at least (S003-13)."""
        assert verdict_of([], [Axis("tests", AxisVerdict(axis))]) == verdict
        assert verdict_of([], [Axis("tests", AxisVerdict(axis), gated=False)]) == "ship"

    @given(nodes, axes, nodes, axes)
    def test_only_ever_harder(self, one: Any, two: Any, more: Any, others: Any) -> None:
        """No finding, no axis and no order makes a verdict milder (S003-13)."""
        before = verdict_of(one, two)
        after = verdict_of([*one, *more], [*two, *others])

        assert ORDER.index(after) >= ORDER.index(before)
        assert after == verdict_of([*more, *one][::-1], [*others, *two])

    def test_absence_of_evidence_is_none(self) -> None:
        """An axis without a verdict, or with a word for one that means nothing, did not run."""
        found = read_axes([{"name": "tests"}, {"name": "security", "verdict": "fine"}])

        assert {a.verdict for a in found} == {AxisVerdict.UNAVAILABLE}
        assert verdict_of([], found) == "hold"


class TestReading:
    @given(
        st.builds(
            ReviewNode,
            st.sampled_from(NodeKind),
            st.sampled_from(Priority),
            st.floats(0, 1),
            st.just("x"),
            st.sampled_from([None, Anchor("a.py", 1, 1), Anchor("b/c", 3, 7)]),
        )
    )
    def test_comes_back_as_it_was(self, given: ReviewNode) -> None:
        """What is stored is read as an equal finding."""
        assert stored_finding(given.value()) == given

    @pytest.mark.parametrize(
        "wrong",
        [{"priority": None}, {"priority": "P4"}, {"priority": 0}, {"confidence": None},
         {"confidence": float("nan")}, {"confidence": -0.1}, {"confidence": 1.1},
         {"confidence": True}, {"confidence": "1"}],
    )  # fmt: skip
    def test_what_cannot_be_weighed_is_dropped(self, wrong: dict[str, Any]) -> None:
        """A stored finding without a priority or a confidence in range is none (S003-12)."""
        assert stored_finding({**SAID, **wrong}) is None
        with pytest.raises(InputError):
            read_finding({**SAID, **wrong})

    def test_all_problems_at_once(self) -> None:
        """Whoever calls the verb mends everything in one go."""
        with pytest.raises(InputError) as caught:
            read_finding({"kind": "bgu", "file": "../x", "last_line": 3, "txt": "", "text": " "})

        assert [p.path for p in caught.value.problems] == [
            "txt", "kind", "priority", "confidence", "text", "file", "last_line",
        ]  # fmt: skip

    @pytest.mark.parametrize("file", ["/etc/passwd", "a/../../b", "", "a\\b", "a\nb", 3])
    def test_a_place_is_within_the_worktree(self, file: object) -> None:
        """A file is named relative to the worktree, and stays in it."""
        with pytest.raises(InputError):
            read_finding({**SAID, "file": file})

    def test_a_word_of_another_case_is_the_same_priority(self) -> None:
        """Priorities are read in either case, an unknown kind of the store as a suggestion."""
        found = stored_finding({**SAID, "priority": "p1", "kind": "rant"})

        assert found is not None
        assert (found.priority, found.kind) == ("P1", "suggestion")

    @pytest.mark.parametrize("wrong", ["x", [3], [{"verdict": "pass"}], [{"name": "a", "gate": 1}]])
    def test_axes_are_read_strictly(self, wrong: object) -> None:
        """What is no list of axes is a problem, not an empty one."""
        with pytest.raises(InputError):
            read_axes(wrong)
