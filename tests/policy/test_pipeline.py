"""A step's mode is pinned by one key, and what looks like it is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.ceiling import Ceiling
from remit.policy.graph import knots
from remit.policy.pipeline import (
    ModeFrom,
    Pipeline,
    PipelineNode,
    StepMode,
    looks_like_pin,
    pipeline_findings,
    resolve_step_mode,
    step_profile,
)
from remit.policy.problems import InputError
from remit.policy.profile import Brief, Profile, Side
from remit.policy.vocabulary import Tier

MODES = ("wide", "narrow", "other")


def codes(extras: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        resolve_step_mode(extras, "narrow", MODES)
    return [(p.code, p.path) for p in caught.value.problems]


@pytest.mark.parametrize("mode", MODES)
def test_the_exact_key_pins(mode: str) -> None:
    """The key `mode` of a node's extras pins its step's mode, whichever is allowed (S003-22)."""
    assert resolve_step_mode({"mode": mode}, "narrow", MODES) == StepMode(mode, ModeFrom.PINNED)


def test_without_one_the_default_holds() -> None:
    """A step that pins no mode gets the default, and that is told."""
    other = {"timeout": 3, "model": "large", "models": [], "demo": 1, "node": "x", "code": {}}

    assert resolve_step_mode(other, "narrow", MODES) == StepMode("narrow", ModeFrom.DEFAULT)


@pytest.mark.parametrize(
    "key",
    ["Mode", "MODE", "modes", "mode ", " mode", "agent_mode", "agentMode", "conversationMode",
     "step-mode", "mod", "mdoe", "moed", "m\u043ede", "\uff4dode", "mode:", "mode_", "x.mode"],
)  # fmt: skip
def test_a_near_miss_is_a_problem(key: str) -> None:
    """A key that looks like the right one is a problem that names it (S003-22)."""
    with pytest.raises(InputError) as caught:
        resolve_step_mode({key: "wide"}, "narrow", MODES)
    (problem,) = caught.value.problems
    assert problem.code == "step-mode-key"
    assert "`mode`" in problem.hint


def test_one_level_deeper_is_a_problem() -> None:
    """The right key in a table within the extras pins nothing, and that is told (S003-22)."""
    assert codes({"agent": {"mode": "wide"}}) == [("step-mode-key", "agent.mode")]
    assert codes({"agents": [{"Mode": "wide"}]}) == [("step-mode-key", "agents[0].Mode")]


def test_all_problems_come_at_once() -> None:
    """A wrong mode and wrong keys are told in one answer."""
    found = codes({"mode": "wlde", "Mode": "wide", "x": {"mode": 1}})

    assert [c for c, _ in found] == ["step-mode-unknown", "step-mode-key", "step-mode-key"]


@pytest.mark.parametrize("value", [None, 3, True, ["wide"], {}])
def test_a_mode_is_a_name(value: object) -> None:
    """What is no text pins no mode."""
    assert codes({"mode": value}) == [("step-mode", "mode")]


def test_an_unknown_mode_has_near_misses() -> None:
    """No mode stands in for one that is not known."""
    with pytest.raises(InputError, match="did you mean `wide`"):
        resolve_step_mode({"mode": "wied"}, "narrow", MODES)
    with pytest.raises(InputError, match="unknown default mode `nrrow`"):
        resolve_step_mode({}, "nrrow", MODES)


@given(st.text(max_size=12))
def test_no_key_but_the_exact_one_pins(key: str) -> None:
    """Whatever a key is, either it pins, or the default holds or there is a problem."""
    try:
        found = resolve_step_mode({key: "wide"}, "narrow", MODES)
    except InputError:
        assert key != "mode"
        assert looks_like_pin(key)
    else:
        assert (found.origin is ModeFrom.PINNED) == (key == "mode")


def test_a_step_is_under_its_space_too() -> None:
    """A step's ceiling is the meet of its mode and of the space; its brief is its mode's."""
    brief = Brief(noun="thing")
    pinned = Profile("wide", sides=(Side("wide", Ceiling(deny={"a"})),), brief=brief)
    space = Profile("narrow", sides=(Side("narrow", Ceiling(tier=Tier.READ, deny={"b"})),))

    step = step_profile(pinned, space)

    assert step.ceiling.tier is Tier.READ
    assert set(step.ceiling.deny) == {"a", "b"}
    assert (step.name, step.brief) == ("wide", brief)


def test_a_pipeline_is_checked_whole() -> None:
    """Nodes, graph, default, allowed and pins: all problems at once, each with its path."""
    pipeline = Pipeline(
        "p",
        (
            PipelineNode("a", "A", depends_on=("a", "zz")),
            PipelineNode("a", " ", depends_on=("c",)),
            PipelineNode("c", "C", depends_on=("b",), extras={"mode": "other"}),
            PipelineNode("b", "B", depends_on=("c",), extras={"mode": "wie"}),
        ),
        "narrow",
        ("wide", "nope"),
    )

    assert {(f.code, f.problem.path) for f in pipeline_findings(pipeline, MODES)} == {
        ("step-mode-unknown", "allowed[1]"),
        ("step-mode-not-allowed", "default"),
        ("step-self", "nodes[0].depends_on[0]"),
        ("step-unknown", "nodes[0].depends_on[1]"),
        ("step-duplicate", "nodes[1].key"),
        ("step-title", "nodes[1].title"),
        ("step-mode-not-allowed", "nodes[2].extras.mode"),
        ("step-mode-unknown", "nodes[3].extras.mode"),
        ("step-cycle", "nodes"),
    }


def test_a_chain_is_as_long_as_it_likes() -> None:
    """Nothing recurses over the nodes, forwards or backwards."""
    chain = [(str(i), [str(i - 1)] if i else []) for i in range(20_000)]

    assert list(knots(chain, "pipeline")) == []
    assert list(knots(chain[::-1], "pipeline")) == []
    (knot,) = knots([*chain[1:], ("0", ["19999"])], "pipeline")
    assert knot.what == "cycle"


@given(st.lists(st.lists(st.integers(0, 7), max_size=4), min_size=8, max_size=8))
def test_cycles_are_found_where_there_are_some(depends: list[list[int]]) -> None:
    """A cycle is named exactly where no order of the nodes exists."""
    from graphlib import CycleError, TopologicalSorter

    edges = {str(i): [str(d) for d in ds if d != i] for i, ds in enumerate(depends)}
    try:
        TopologicalSorter(edges).prepare()
        ordered = True
    except CycleError:
        ordered = False
    found = [k for k in knots(list(edges.items()), "plan") if k.what == "cycle"]
    assert (found == []) == ordered
