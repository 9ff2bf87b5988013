"""The verb of orchestrating, called as a model calls it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from remit.harness.carrying import carry_out
from remit.harness.engine import Engine
from remit.harness.session import Answer
from remit.harness.store import ApprovalState, Store
from remit.policy.vocabulary import Dial
from remit.profiles.steps import step_modes
from tests.harness.desk import Clock, Desk

PROPOSAL: dict[str, Any] = {
    "goal": "Ship it",
    "roles": [{"key": "dev", "title": "Developer", "hire": {"name": "bo"}}],
    "tickets": [{"key": "t", "title": "Do", "description": "all", "role": "dev"}],
    "synthesis": {"role": "dev", "prompt": "Report."},
    "budget": {"steps": 4},
}


@pytest.fixture
def desk(engine: Engine, store: Store, clock: Clock, tmp_path: Path) -> Desk:
    return Desk(engine, store, clock, "orchestrate", tmp_path)


def propose(desk: Desk, **more: Any) -> Answer:
    return desk.said(desk.call("propose_orchestration", **{**PROPOSAL, **more}))


@pytest.mark.parametrize("dial", Dial)
def test_it_is_proposed_under_every_dial(desk: Desk, dial: Dial) -> None:
    """S003-15: the verb passes in its own mode whatever the dial, and waits for the operator."""
    desk.dial(dial)
    answer = propose(desk)

    assert not answer.error
    assert "nothing of it runs before" in answer.text
    assert answer.data is not None
    assert answer.data["state"] == "proposed"
    (asked,) = desk.store.approvals.list(now=desk.clock(), state=ApprovalState.PENDING)
    assert (asked.id, asked.kind) == (answer.data["approval"], "orchestration")
    assert desk.store.items.list() == ()


def test_every_problem_is_in_one_answer(desk: Desk) -> None:
    """S003-15: what is wrong is told with paths, all of it, and nothing is recorded."""
    answer = propose(desk, goal=" ", drift="stop", extra=1, budget={"steps": 1})

    assert answer.error
    for word in ("goal:", "drift:", "budget.steps:", "unknown key `extra`"):
        assert word in answer.text
    assert desk.store.orchestrations.list() == ()


def test_the_cooldown_says_when(desk: Desk) -> None:
    """S003-17: fault 10: refused within two minutes, told when and to gather, then taken."""
    first = propose(desk)
    again = propose(desk, goal="ship  it", drift="stop-and-ask")

    assert again.error
    assert "12:02:00 UTC" in again.text
    assert "propose it once" in again.text
    desk.clock.now += timedelta(minutes=2)
    later = propose(desk, goal="ship  it", drift="stop-and-ask")
    assert later.data is not None
    assert first.data is not None
    assert (later.data["revision"], later.error) == (2, False)


@pytest.mark.parametrize("yes", [True, False])
def test_what_became_of_it_is_read_by_the_same_call(desk: Desk, yes: bool) -> None:
    """A model that proposes the same again reads what the operator decided, and why."""
    propose(desk)
    desk.decide(yes, feedback="too dear")
    answer = propose(desk)

    assert answer.data is not None
    assert answer.data["state"] == ("approved" if yes else "rejected")
    assert ("too dear" in answer.text) is not yes
    if yes:
        carry_out(desk.store, answer.data["orchestration"], desk.clock)
        assert "carries it out" in propose(desk).text


def test_no_other_mode_has_it(engine: Engine, store: Store, clock: Clock, tmp_path: Path) -> None:
    """S003-15: the verb is orchestrate's alone; elsewhere the call is refused."""
    elsewhere = Desk(engine, store, clock, "plan", tmp_path)
    assert propose(elsewhere).error
    assert store.orchestrations.list() == ()


def test_the_work_runs_in_modes_that_there_are(engine: Engine) -> None:
    """S003-16: research and discussion are pinned to one that changes nothing, work is not."""
    modes = {kind.value: engine.profile(mode) for kind, mode in step_modes().items()}
    assert {k for k, p in modes.items() if p.ceiling.posture == "read-only"} == {
        "research", "discussion",
    }  # fmt: skip
