"""Plans as they are read from a call: nothing dropped in silence, every problem in one answer."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.policy.plan import MAX_NODES, NodeType, Plan, PlanNode, markdown, read_plan
from remit.policy.problems import InputError


def node(key: str = "a", **more: Any) -> dict[str, Any]:
    return {"key": key, "title": "do it", "description": "", **more}


def problems(args: Mapping[str, Any]) -> dict[str, str]:
    """Codes by path."""
    with pytest.raises(InputError) as caught:
        read_plan(args)
    return {p.path: p.code for p in caught.value.problems}


def test_a_plan_is_a_goal_and_a_typed_graph() -> None:
    """S003-7: nodes have key, title, description and what they depend on; a type is optional."""
    plan = read_plan(
        {
            "goal": " ship it ",
            "nodes": [
                node("a", type="research", role="scout"),
                node("b", description="how", depends_on=["a", "a"]),
            ],
        }
    )
    assert plan == Plan(
        "ship it",
        (
            PlanNode("a", "do it", "", NodeType.RESEARCH, "scout"),
            PlanNode("b", "do it", "how", depends_on=("a",)),
        ),
    )


@pytest.mark.parametrize("given", ["epic", "", "WORK"])
def test_an_unknown_type_is_work(given: str) -> None:
    """What kind of work it is, is never a reason to lose a plan."""
    assert read_plan({"goal": "g", "nodes": [node(type=given)]}).nodes[0].type is NodeType.WORK


WRONG: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "nothing": ({}, {"goal": "plan-missing", "nodes": "plan-type"}),
    "empty goal": ({"goal": " \n", "nodes": [node()]}, {"goal": "plan-missing"}),
    "no nodes": ({"goal": "g", "nodes": []}, {"nodes": "plan-empty"}),
    "nodes as text": ({"goal": "g", "nodes": "a, b"}, {"nodes": "plan-type"}),
    "nodes as table": ({"goal": "g", "nodes": {"a": "b"}}, {"nodes": "plan-type"}),
    "a node as text": ({"goal": "g", "nodes": ["a"]}, {"nodes[0]": "plan-type"}),
    "goal of a type": ({"goal": 3, "nodes": [node()]}, {"goal": "plan-type"}),
    "empty title": ({"goal": "g", "nodes": [node(title=" ")]}, {"nodes[0].title": "plan-missing"}),
    "no description": (
        {"goal": "g", "nodes": [{"key": "a", "title": "t"}]},
        {"nodes[0].description": "plan-missing"},
    ),
    "no key": ({"goal": "g", "nodes": [node("")]}, {"nodes[0].key": "plan-missing"}),
    "a key of two lines": (
        {"goal": "g", "nodes": [node("a\nb")]},
        {"nodes[0].key": "plan-key-text"},
    ),
    "a type of a type": ({"goal": "g", "nodes": [node(type=3)]}, {"nodes[0].type": "plan-type"}),
    "depends on text": (
        {"goal": "g", "nodes": [node(depends_on="a")]},
        {"nodes[0].depends_on": "plan-type"},
    ),
    "depends on a number": (
        {"goal": "g", "nodes": [node(depends_on=[1])]},
        {"nodes[0].depends_on[0]": "plan-type"},
    ),
    "a key misspelled": (
        {"goal": "g", "nodes": [node(dependsOn=["a"])]},
        {"nodes[0]": "plan-key"},
    ),
    "duplicate": ({"goal": "g", "nodes": [node(), node()]}, {"nodes[1].key": "plan-duplicate"}),
    "itself": (
        {"goal": "g", "nodes": [node(depends_on=["a"])]},
        {"nodes[0].depends_on": "plan-self"},
    ),
    "unknown": (
        {"goal": "g", "nodes": [node(depends_on=["b"])]},
        {"nodes[0].depends_on": "plan-unknown"},
    ),
    "cycle": (
        {"goal": "g", "nodes": [node("a", depends_on=["b"]), node("b", depends_on=["a"])]},
        {"nodes": "plan-cycle"},
    ),
    "65 nodes": (
        {"goal": "g", "nodes": [node(f"n{n}") for n in range(MAX_NODES + 1)]},
        {"nodes": "plan-nodes"},
    ),
    "too long": (
        {"goal": "g", "nodes": [node(description="x" * 600_000)]},
        {"nodes": "plan-size"},
    ),
    "all at once": (
        {
            "goal": "",
            "extra": 1,
            "nodes": [node("a", title="", depends_on=["z"]), node("a", type=1), 7],
        },
        {
            "": "plan-key",
            "goal": "plan-missing",
            "nodes[0].title": "plan-missing",
            "nodes[0].depends_on": "plan-unknown",
            "nodes[1].key": "plan-duplicate",
            "nodes[1].type": "plan-type",
            "nodes[2]": "plan-type",
        },
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told_with_its_place(name: str) -> None:
    """Every problem in one answer, so that a model mends a plan in one go."""
    args, wanted = WRONG[name]
    assert problems(args) == wanted


def test_as_many_nodes_as_are_allowed_are_read() -> None:
    """64 in one chain: the bound itself is in."""
    nodes = [node(f"n{n}", depends_on=[f"n{n - 1}"] if n else []) for n in range(MAX_NODES)]
    assert len(read_plan({"goal": "g", "nodes": nodes}).nodes) == MAX_NODES


def test_a_cycle_and_a_near_miss_are_named() -> None:
    """The message says which nodes, the hint which key was meant."""
    with pytest.raises(InputError) as caught:
        read_plan(
            {
                "goal": "g",
                "nodes": [
                    node("start"),
                    node("build", depends_on=["test", "strat"]),
                    node("test", depends_on=["ship"]),
                    node("ship", depends_on=["build"]),
                ],
            }
        )
    told = {p.code: p for p in caught.value.problems}
    assert "build -> test -> ship -> build" in told["plan-cycle"].message
    assert told["plan-unknown"].hint == "did you mean `start`"


def test_a_plan_as_text_shows_everything() -> None:
    """Titles stay on their line, what cannot be seen is escaped, equal plans give equal bytes."""
    plan = Plan(
        "ship\n# fake",
        (
            PlanNode("a", "look\n\n## fake", "line\nline \u202e", NodeType.RESEARCH, "scout"),
            PlanNode("b", "build", depends_on=("a",)),
        ),
    )
    assert markdown(plan, id="p1", revision=2) == (
        "# ship # fake\n\nPlan `p1`, revision 2.\n\n"
        "## 1. look ## fake\n\n`a`, research, role scout.\n\nline\nline \\u202e\n\n"
        "## 2. build\n\n`b`, work, after `a`.\n"
    )


keys = st.sampled_from("abcd")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
nodes = st.fixed_dictionaries(
    {"key": keys | values, "title": st.text(max_size=3) | values, "description": st.text()},
    optional={"type": values, "depends_on": st.lists(keys, max_size=3) | values},
)


@settings(max_examples=50)
@given(
    st.dictionaries(st.sampled_from(("goal", "x")), values), st.lists(nodes | values, max_size=5)
)
def test_any_arguments_are_a_plan_or_problems(args: dict[str, Any], nodes: list[Any]) -> None:
    """No arguments make it fail in another way, and what it reads is an order of work."""
    try:
        plan = read_plan({"goal": "g", **args, "nodes": nodes})
    except InputError as error:
        codes = [p.code for p in error.problems]
        assert all(code.startswith("plan-") for code in codes)
        return
    assert read_plan(plan.value()) == plan
    assert read_plan(plan.value()).digest == plan.digest
    done: set[str] = set()
    while len(done) < len(plan.nodes):
        ready = {n.key for n in plan.nodes if n.key not in done and done.issuperset(n.depends_on)}
        assert ready, "nodes wait for each other"
        done |= ready
