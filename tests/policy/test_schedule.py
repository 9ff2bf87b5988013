"""Scheduling: what may begin follows from what was recorded, and nothing waits for ever."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.pipeline import Pipeline, PipelineNode
from remit.policy.schedule import (
    PipelineLimit,
    PipelineState,
    StepState,
    barred,
    outcome,
    ready,
    step_prompt,
)

DONE, FAILED, RUNNING = StepState.DONE, StepState.FAILED, StepState.RUNNING


def pipeline(**after: str) -> Pipeline:
    nodes = (PipelineNode(k, f"Do {k}", depends_on=tuple(v.split())) for k, v in after.items())
    return Pipeline("p", tuple(nodes), "x")


DIAMOND = pipeline(a="", b="a", c="a", d="b c")


def test_what_waits_for_nothing_begins() -> None:
    """A step begins when all that it depends on is done, in the order of the pipeline."""
    assert ready(DIAMOND, {}) == ("a",)
    assert ready(DIAMOND, {"a": RUNNING}) == ()
    assert ready(DIAMOND, {"a": DONE}) == ("b", "c")
    assert ready(DIAMOND, {"a": DONE, "b": DONE, "c": RUNNING}) == ()
    assert ready(DIAMOND, dict.fromkeys("abc", DONE)) == ("d",)


def test_a_failure_bars_what_follows_and_nothing_else() -> None:
    """What does not wait for the failed step goes on; the pipeline fails when that is over."""
    states = {"a": DONE, "b": FAILED}

    assert ready(DIAMOND, states) == ("c",)
    assert barred(DIAMOND, states) == {"d"}
    assert outcome(DIAMOND, states) is PipelineState.RUNNING
    assert outcome(DIAMOND, {**states, "c": RUNNING}) is PipelineState.RUNNING
    assert outcome(DIAMOND, {**states, "c": DONE}) is PipelineState.FAILED
    assert outcome(DIAMOND, dict.fromkeys("abcd", DONE)) is PipelineState.DONE


@given(
    st.lists(st.frozensets(st.integers(0, 30), max_size=3), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
def test_every_order_comes_to_an_end(edges: list[frozenset[int]], random: Random) -> None:
    """Whatever ends next and however, each step begins once, after all that it waits for."""
    nodes = {f"k{i}": " ".join(f"k{j}" for j in before if j < i) for i, before in enumerate(edges)}
    made, states = pipeline(**nodes), dict[str, StepState]()
    begun: list[str] = []
    while outcome(made, states) is PipelineState.RUNNING:
        for key in ready(made, states):
            assert all(states[k] is DONE for k in nodes[key].split())
            begun.append(key)
            states[key] = RUNNING
        running = [k for k, state in states.items() if state is RUNNING]
        states[random.choice(running)] = random.choice((DONE, DONE, FAILED))

    assert len(begun) == len(set(begun))
    never = set(nodes) - set(begun)
    assert never == barred(made, states)
    assert (outcome(made, states) is PipelineState.DONE) == (FAILED not in states.values())


def test_a_step_is_told_what_came_before_it() -> None:
    """Its task comes first, then the outputs of what it waited for, none of them endless."""
    node = PipelineNode("d", "Sum up", "In one line.", ("b", "c"), role="writer")
    said = step_prompt(DIAMOND, node, {"b": "B" * 20_000, "a": "not handed on"}, "the goal")

    assert said.startswith("All of this serves one goal: the goal\n\nSum up\n\nIn one line.")
    assert "Your role: writer." in said
    assert "What came of `b` (Do b):\n\nBBB" in said
    assert "… (20000 characters in all)" in said
    assert "What came of `c` (Do c):\n\nnothing was said" in said
    assert "not handed on" not in said


@pytest.mark.parametrize(
    ("attempts", "at", "why"),
    [(0, "2026-11-30T12:00", ""), (2, "2026-11-30T12:59", ""),
     (3, "2026-11-30T12:00", "3 attempts"), (0, "2026-11-30T13:00", "time was over"),
     (9, "2026-12-01T00:00", "3 attempts")],
)  # fmt: skip
def test_a_limit_ends_attempts_and_time(attempts: int, at: str, why: str) -> None:
    """No attempt begins beyond a pipeline's attempts, nor from its time on."""
    said = PipelineLimit(3, "2026-11-30T13:00").spent(attempts, at)
    assert why in said
    assert bool(said) is bool(why)
