"""Proposals of orchestrations: read whole, cooled down, and made into what a platform does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.policy.cooldown import COOLDOWN, Proposed, cooldown, too_soon
from remit.policy.materialise import Act, actions, orchestration_pipeline, plan_pipeline
from remit.policy.orchestration import (
    MAX_ROLES,
    MAX_TICKETS,
    Drift,
    Orchestration,
    goal_key,
    orchestration_markdown,
    stored_orchestration,
)
from remit.policy.pipeline import pipeline_findings
from remit.policy.plan import NodeType, read_plan
from remit.policy.problems import CODES, InputError
from remit.policy.proposal import read_orchestration

GOLDEN = Path(__file__).parent / "orchestrations"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
#: Modes that nothing else is called.
MODES = {
    NodeType.RESEARCH: "m-look",
    NodeType.DISCUSSION: "m-look",
    NodeType.WORK: "m-do",
    NodeType.SYNTHESIS: "m-do",
}

SMALL: dict[str, Any] = {
    "goal": "Ship it",
    "roles": [{"key": "dev", "title": "Developer", "agent": "ada"}],
    "tickets": [{"key": "t", "title": "Do", "description": "all", "role": "dev"}],
    "synthesis": {"role": "dev", "prompt": "Say how it went."},
    "budget": {"steps": 4},
}
LARGE: dict[str, Any] = {
    "goal": "Payments in two currencies",
    "roles": [
        {"key": "lead", "title": "Lead", "agent": "ada"},
        {
            "key": "dev",
            "title": "Developer",
            "hire": {"name": "bo", "skills": ["python", "sql"], "instructions": "Small commits."},
        },
    ],
    "tickets": [
        {"key": "rates", "title": "Rates", "description": "Read.", "role": "dev", "parent": "all"},
        {"key": "all", "title": "Pay", "description": "Join.", "role": "lead"},
        {
            "key": "books",
            "title": "Books",
            "description": "Write.",
            "role": "dev",
            "parent": "all",
            "depends_on": ["rates"],
        },
    ],
    "research": {"role": "lead", "prompt": "Which banks?"},
    "discussion": {"roles": ["lead", "dev"], "prompt": "What can go wrong?"},
    "synthesis": {"role": "lead", "prompt": "Report."},
    "budget": {"steps": 12, "minutes": 90},
    "drift": "stop-and-ask",
}


def read(args: Mapping[str, Any]) -> Orchestration:
    return read_orchestration(args)[0]


def problems(args: Mapping[str, Any]) -> dict[str, str]:
    """Codes by path."""
    with pytest.raises(InputError) as caught:
        read_orchestration(args)
    assert {p.code for p in caught.value.problems} <= set(CODES)
    return {p.path: p.code for p in caught.value.problems}


def small(**more: Any) -> dict[str, Any]:
    return {**SMALL, **more}


def ticket(key: str = "t", **more: Any) -> dict[str, Any]:
    return {"key": key, "title": "Do", "description": "all", "role": "dev", **more}


def role(key: str = "dev", **more: Any) -> dict[str, Any]:
    return {"key": key, "title": "Developer", **(more or {"agent": "ada"})}


@pytest.mark.parametrize("args", [SMALL, LARGE], ids=["small", "large"])
def test_a_proposal_is_kept_whole(args: dict[str, Any]) -> None:
    """S003-15: goal, roles, tree, synthesis and budget come back from a store as they went in."""
    made = read(args)
    kept = stored_orchestration(json.loads(json.dumps(made.value())))

    assert kept == made
    assert kept.digest == made.digest
    assert read({k: v for k, v in made.value().items() if v is not None}).digest == made.digest


TICKET = ("key", "title", "description", "role")
WRONG: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "nothing": (
        {},
        {
            "goal": "proposal-missing",
            "roles": "proposal-type",
            "tickets": "proposal-type",
            "synthesis": "proposal-type",
            "budget": "proposal-type",
        },
    ),
    "no role": (small(roles=[]), {
        "roles": "proposal-roles", "tickets[0].role": "proposal-role",
        "synthesis.role": "proposal-role",
    }),
    "an empty role": (
        small(roles=[{}, role()]),
        {
            "roles[0]": "proposal-agent",
            "roles[0].key": "proposal-missing",
            "roles[0].title": "proposal-missing",
        },
    ),
    "a role as text": (small(roles=["dev", role()]), {"roles[0]": "proposal-type"}),
    "an agent and a hire": (
        small(roles=[role(agent="a", hire={"name": "b"})]), {"roles[0]": "proposal-agent"}
    ),
    "a hire as text": (small(roles=[role(hire="bo")]), {"roles[0].hire": "proposal-type"}),
    "a hire of nobody": (
        small(roles=[role(hire={})]), {"roles[0].hire.name": "proposal-missing"}
    ),
    "skills as text": (
        small(roles=[role(hire={"name": "b", "skills": "all"})]),
        {"roles[0].hire.skills": "proposal-type"},
    ),
    "two roles of one key": (small(roles=[role(), role()]), {"roles[1].key": "proposal-duplicate"}),
    "no ticket": (small(tickets=[]), {"tickets": "proposal-tickets"}),
    "an empty ticket": (
        small(tickets=[{}]),
        dict.fromkeys((f"tickets[0].{k}" for k in TICKET), "proposal-missing"),
    ),
    "a key of two lines": (
        small(tickets=[ticket("a\nb")]), {"tickets[0].key": "proposal-key-text"}
    ),
    "a long key": (small(tickets=[ticket("a" * 49)]), {"tickets[0].key": "proposal-key-text"}),
    "an unknown role": (
        small(tickets=[ticket(role="devs")]), {"tickets[0].role": "proposal-role"}
    ),
    "an unknown parent": (
        small(tickets=[ticket(parent="x")]), {"tickets[0].parent": "proposal-parent"}
    ),
    "its own parent": (
        small(tickets=[ticket(parent="t")]), {"tickets[0].parent": "proposal-parent"}
    ),
    "an unknown ticket": (
        small(tickets=[ticket(depends_on=["x"])]), {"tickets[0].depends_on[0]": "proposal-unknown"}
    ),
    "a ticket after itself": (
        small(tickets=[ticket(depends_on=["t"])]), {"tickets[0].depends_on[0]": "proposal-self"}
    ),
    "a circle": (
        small(tickets=[ticket("a", depends_on=["b"]), ticket("b", depends_on=["a"])]),
        {"tickets": "proposal-cycle"},
    ),
    "a part after its whole": (
        small(tickets=[ticket("a"), ticket("b", parent="a", depends_on=["a"])]),
        {"tickets": "proposal-cycle"},
    ),
    "parents in a circle": (
        small(tickets=[ticket("a", parent="b"), ticket("b", parent="a")]),
        {"tickets": "proposal-cycle"},
    ),
    "no synthesis": (
        small(synthesis={}),
        {"synthesis.role": "proposal-missing", "synthesis.prompt": "proposal-missing"},
    ),
    "research by nobody": (
        small(research={"role": "x", "prompt": "?"}), {"research.role": "proposal-role"}
    ),
    "a discussion of none": (
        small(discussion={"roles": [], "prompt": "?"}), {"discussion.roles": "proposal-missing"}
    ),
    "a discussion of strangers": (
        small(discussion={"roles": ["dev", "x"], "prompt": "?"}),
        {"discussion.roles[1]": "proposal-role"},
    ),
    "a budget without steps": (small(budget={"minutes": 3}), {"budget.steps": "proposal-budget"}),
    "a budget of true": (small(budget={"steps": True}), {"budget.steps": "proposal-budget"}),
    "no minutes": (
        small(budget={"steps": 9, "minutes": 0}), {"budget.minutes": "proposal-budget"}
    ),
    "a budget below its steps": (small(budget={"steps": 1}), {"budget.steps": "proposal-budget"}),
    "drift of an old spelling": (small(drift="stopAndAsk"), {"drift": "proposal-drift"}),
    "a key of old": (small(sub_tickets=[]), {"": "proposal-key"}),
    "too long": (small(goal="x" * 600_000), {"": "proposal-size"}),
}  # fmt: skip


@pytest.mark.parametrize(("args", "wanted"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_by_path(args: dict[str, Any], wanted: dict[str, str]) -> None:
    """Each problem has the path of what has it, and nothing else is told besides."""
    assert problems(args) == wanted


def test_all_problems_come_at_once() -> None:
    """S003-15: one answer tells everything, so that a proposal is mended in one go."""
    found = problems(
        small(goal="", tickets=[ticket(role="x"), ticket(parent="y")], drift="no", extra=1)
    )
    assert found == {
        "": "proposal-key",
        "goal": "proposal-missing",
        "tickets[0].role": "proposal-role",
        "tickets[1].key": "proposal-duplicate",
        "tickets[1].parent": "proposal-parent",
        "drift": "proposal-drift",
    }


@pytest.mark.parametrize(("args", "word"), [
    (small(sub_tickets=[], ticket=[]), "tickets"),
    (small(drift="stop-and-aks"), "stop-and-ask"),
    (small(tickets=[ticket(role="deb")]), "dev"),
    (small(tickets=[ticket("all"), ticket("b", parent="al")]), "all"),
])  # fmt: skip
def test_near_misses_are_named(args: dict[str, Any], word: str) -> None:
    """A slip is answered with what was probably meant."""
    with pytest.raises(InputError) as caught:
        read_orchestration(args)
    assert any(word in p.hint for p in caught.value.problems)


@pytest.mark.parametrize(("most", "name", "make"), [
    (MAX_ROLES, "roles", lambda i: role("dev" if not i else f"r{i}")),
    (MAX_TICKETS, "tickets", lambda i: ticket(f"t{i}")),
])  # fmt: skip
def test_how_many_there_may_be(most: int, name: str, make: Any) -> None:
    """At most 16 roles and 64 tickets; one more is refused by number."""
    assert (MAX_ROLES, MAX_TICKETS) == (16, 64)
    enough = small(**{name: [make(i) for i in range(most)]}, budget={"steps": 70})
    assert len(getattr(read(enough), name)) == most

    too_many = small(**{name: [make(i) for i in range(most + 1)]}, budget={"steps": 70})
    assert problems(too_many)[name] == f"proposal-{name}"


def test_the_operator_is_shown_all_of_it() -> None:
    """What is approved is what is shown: each text, who does it, and what it may cost."""
    text = orchestration_markdown(read(LARGE), id="o1", revision=2)

    for word in ("Payments in two currencies", "`o1`, revision 2", "12 attempts of 7 steps within",
                 "90 minutes", "stop-and-ask", "agent `ada`", "hires `bo` (python, sql)",
                 "Small commits.", "Which banks?", "What can go wrong?", "part of `all`",
                 "after `rates`", "Report."):  # fmt: skip
        assert word in text
    assert "\x1b" not in orchestration_markdown(read(small(goal="a\x1b[2Jb")))


class TestCooldown:
    """S003-17: two minutes between an agent's proposals of one goal in one space."""

    BEFORE = Proposed("o1", "s", "Ship it, now", NOW)

    @pytest.mark.parametrize("goal", [
        "Ship it, now", "ship  IT,\tnow ", "Ship it now!", "SHIP\u00a0it\u200b, now",
        "\uff33hip it, now", "shi\u0301p it, now", "Sh-ip it, now",
    ])  # fmt: skip
    def test_no_spelling_is_a_way_around(self, goal: str) -> None:
        """S003-17: fault 10: neither another spelling nor an id left out gets around it."""
        found = too_soon([self.BEFORE], "s", goal, NOW + timedelta(seconds=30))

        assert found is not None
        assert found.code == "proposal-cooldown"
        assert "at 12:02:00 UTC, in 90 s" in found.message
        assert "as one revision" in found.hint

    def test_it_ends(self) -> None:
        """From two minutes on it is over, not a moment before."""
        end = NOW + COOLDOWN
        assert timedelta(minutes=2) == COOLDOWN
        assert too_soon([self.BEFORE], "s", "ship it now", end) is None
        early = too_soon([self.BEFORE], "s", "ship it now", end - timedelta(milliseconds=1))
        assert early is not None
        assert "in 1 s" in early.message

    @pytest.mark.parametrize(("space", "goal", "revises", "cooled"), [
        ("s", "Another", None, False),
        ("t", "Ship it, now", None, False),
        ("s", "Another", "o1", True),
        ("s", "Another", "o2", False),
    ])  # fmt: skip
    def test_what_it_is_for(self, space: str, goal: str, revises: str | None, cooled: bool) -> None:
        """It is for one goal in one space, and for whatever takes the place of a proposal."""
        assert (cooldown([self.BEFORE], space, goal, revises) is not None) is cooled

    @pytest.mark.parametrize("more", [{"by_agent": False}, {"answered": True}])
    def test_who_is_not_cooled(self, more: dict[str, bool]) -> None:
        """What an operator proposed, or rejected, keeps no agent waiting: that is their answer."""
        before = Proposed("o1", "s", "Ship it", NOW, **more)
        assert cooldown([before], "s", "Ship it") is None

    @given(st.text(min_size=1), st.text(min_size=1))
    @settings(max_examples=100)
    def test_a_key_is_stable(self, one: str, other: str) -> None:
        """A goal's key is that of its own key, whatever was blank in it."""
        assert goal_key(goal_key(one)) == goal_key(one)
        assert goal_key(f"{one} {other}") == goal_key(f" {one}\n{other} ")

    def test_goals_in_every_script_differ(self) -> None:
        """Goals of other letters, or of signs alone, are other goals."""
        keys = [goal_key(g) for g in ("支払い", "доставка", "ship", "!!!", "???", "1")]
        assert len(set(keys)) == len(keys)


def golden(name: str, args: dict[str, Any]) -> dict[str, Any]:
    made = read(args)
    return {
        "actions": [a.value() for a in actions(made, name)],
        "pipeline": orchestration_pipeline(made, name, MODES).value(),
    }


@pytest.mark.parametrize(("name", "args"), [("small", SMALL), ("large", LARGE)])
def test_golden(name: str, args: dict[str, Any]) -> None:
    """S003-16: a proposal materialises into these actions and this pipeline, byte for byte."""
    text = json.dumps(golden(name, args), indent=1, ensure_ascii=False) + "\n"
    assert text == (GOLDEN / f"{name}.json").read_text("utf-8")


def test_a_pipeline_follows_from_the_proposal_and_who_does_it() -> None:
    """S003-16: a fresh object gives the same bytes; other agents give another pipeline."""
    one, other = (
        orchestration_pipeline(read(json.loads(json.dumps(LARGE))), "o", MODES, {"dev": "a7"})
        for _ in range(2)
    )
    assert one.digest == other.digest
    assert one.digest != orchestration_pipeline(read(LARGE), "o", MODES, {"dev": "a8"}).digest


@st.composite
def proposals(draw: st.DrawFn) -> dict[str, Any]:
    """Sound proposals: tickets wait for earlier ones, and are part of later ones."""
    agent: dict[str, Any] = {"agent": "a"}
    hire: dict[str, Any] = {"hire": {"name": "h"}}
    filled = draw(st.lists(st.sampled_from([agent, hire]), min_size=1, max_size=4))
    roles = [role(f"r{i}", **one) for i, one in enumerate(filled)]
    keys = [r["key"] for r in roles]
    count = draw(st.integers(1, 8))
    tickets: list[dict[str, Any]] = []
    for i in range(count):
        before = [f"t{k}" for k in range(i)]
        after = [f"t{k}" for k in range(i + 1, count)]
        one = ticket(f"t{i}", role=draw(st.sampled_from(keys)))
        if before:
            waits = draw(st.lists(st.sampled_from(before), unique=True))
            one["depends_on"] = waits
        if draw(st.booleans()) and after:
            one["parent"] = draw(st.sampled_from(after))
        tickets.append(one)
    made = small(roles=roles, tickets=draw(st.permutations(tickets)), budget={"steps": 99},
                 synthesis={"role": keys[0], "prompt": "p"})  # fmt: skip
    if draw(st.booleans()):
        made["research"] = {"role": keys[-1], "prompt": "p"}
    if draw(st.booleans()):
        made["discussion"] = {"roles": keys, "prompt": "p"}
    return made


@given(proposals())
@settings(max_examples=80)
def test_every_sound_proposal_materialises(args: dict[str, Any]) -> None:
    """S003-16: no proposal that is taken fails later: each action can be done when its turn is."""
    made = read(args)
    done: dict[str, str] = {}
    todo = actions(made, "o")
    for action in todo:
        action.filled(done)
        assert action.key not in done
        done[action.key] = f"id-{len(done)}"
    pipeline = orchestration_pipeline(made, "o", MODES)

    assert list(pipeline_findings(pipeline, set(MODES.values()))) == []
    assert len(pipeline.nodes) == made.steps
    assert [a.act for a in todo].count(Act.CREATE_TICKET) == len(made.tickets)
    assert todo[-1].act is Act.START_PIPELINE
    assert all(made.drift is Drift.ANNOTATE and "go on" in n.prompt for n in pipeline.nodes)


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Plans of every type of node, some with roles, each waiting for earlier ones."""
    nodes: list[dict[str, Any]] = []
    for i in range(draw(st.integers(1, 20))):
        before = [n["key"] for n in nodes]
        kind = draw(st.sampled_from(["research", "work", "discussion", "synthesis", "other"]))
        waits = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
        nodes.append(
            {"key": f"n {i}", "title": "Do", "description": "", "type": kind, "role": f"r{i % 3}",
             "depends_on": waits}
        )  # fmt: skip
    return {"goal": "g", "nodes": nodes}


@given(plans())
@settings(max_examples=50)
def test_every_plan_becomes_a_pipeline(args: dict[str, Any]) -> None:
    """S003-8: fault 9: no plan that is taken fails at approval: types pin modes, roles are kept."""
    plan = read_plan(args)
    made = plan_pipeline(plan, "p", MODES)

    assert list(pipeline_findings(made, set(MODES.values()))) == []
    assert made == plan_pipeline(read_plan(plan.value()), "p", MODES)
    for node, step in zip(plan.nodes, made.nodes, strict=True):
        assert step.extras == {"mode": MODES[node.type]}
        assert (step.key, step.role, step.depends_on) == (node.key, node.role, node.depends_on)
