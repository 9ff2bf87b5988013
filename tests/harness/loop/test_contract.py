"""The completion contract: delivered, declined, left or unmet; never green by silence."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from remit.harness.loop.events import What
from remit.harness.loop.scripted import ScriptedTurn
from remit.harness.store import ApprovalKind
from tests.harness.loop.driver import Chat, call, says

PLAN = call(
    "submit_plan",
    goal="A file b.txt",
    nodes=[{"key": "b", "title": "b", "description": "write it"}],
)
DECLINE = call("nothing_to_deliver", reason="it is a question")
LEAVE = call("exit_plan_mode", reason="the plan is there")
WRITE = call("write", path="b.txt", content="x")


@pytest.fixture
def plan(chat: Chat) -> Chat:
    chat.space.set("plan", by="operator")
    return chat


def contracts(chat: Chat) -> list[str]:
    return [str(e.body["outcome"]) for e in chat.at.store.log.read(kinds=("contract",))]


def test_one_nudge_then_unmet(plan: Chat) -> None:
    """contract-01, S003-9: a plan that only reads is nudged exactly once, then it is unmet."""
    ended = plan.run(says(call("read", path="a.txt")), says("I think…"), says("That is all."))
    assert len(plan.said(What.NUDGE)) == 1
    assert (ended.reason, ended.contract, ended.outcome) == ("stopped", "plan.delivered", "unmet")
    assert not ended.ok
    assert contracts(plan) == ["unmet"]


def test_a_plan_delivers(plan: Chat) -> None:
    """contract-05: what is delivered needs no nudge."""
    plan.operator["plan"] = plan.decide(False, "smaller")
    ended = plan.run(says(PLAN), says("There it is."))
    assert (ended.outcome, ended.ok, plan.said(What.NUDGE)) == ("delivered", True, [])
    assert contracts(plan) == ["delivered"]


def test_a_failed_verb_delivers_nothing(plan: Chat) -> None:
    """One call that is no error is asked for."""
    ended = plan.run(says(call("submit_plan", goal="", nodes=[])), says("There."), says("Really."))
    assert ended.outcome == "unmet"


def test_declining_is_honest(plan: Chat) -> None:
    """S003-9: "no plan is needed" is allowed, and is told apart from a plan."""
    ended = plan.run(says("Four."), says(DECLINE), says("As I said."))
    assert (ended.outcome, ended.ok) == ("declined", True)
    assert contracts(plan) == ["declined"]


def test_what_is_queued_goes_before_the_nudge(plan: Chat) -> None:
    """contract-04: a queued message of the user is used first, the nudge later."""
    loop = plan.loop(says("Hm."), says("Still."), says(DECLINE), says("."))
    plan.on(What.STEP, lambda _: loop.queue.append("a word more"))
    asyncio.run(loop.turn("go"))
    prompts = [
        "nudge" if "submit_plan" in str(m) else "user"
        for m in loop.history.messages
        if "a word more" in str(m) or "exists only once" in str(m)
    ]
    assert prompts == ["user", "nudge"]


def test_leaving_is_no_delivery_unless_it_is_approved(plan: Chat) -> None:
    """contract-10: a run that only asks to leave is unmet."""
    plan.operator["plan_exit"] = plan.decide(False, "plan first")
    ended = plan.run(says(LEAVE), says("Well."), says("Well!"))
    assert (ended.contract, ended.outcome) == ("plan.delivered", "unmet")
    assert "plan first" in plan.results()[0]
    assert plan.space.mode == "plan"


def test_an_approved_exit_leaves_the_contract(plan: Chat, worktree: Path) -> None:
    """After an approved exit the outcome is `left`, without a nudge, and the turn goes on wide."""
    plan.operator["plan_exit"] = plan.decide()
    ended = plan.run(says(LEAVE), says(WRITE), says("Done."))
    assert (ended.contract, ended.outcome, ended.ok) == ("plan.delivered", "left", True)
    assert plan.said(What.NUDGE) == []
    assert (worktree / "b.txt").read_text() == "x"
    assert contracts(plan) == ["left"]


def test_no_contract_changes_nothing(chat: Chat) -> None:
    """contract-08, contract-09: without a contract there is no nudge and no record."""
    ended = chat.run(says("Hello."))
    assert (ended.contract, ended.outcome, ended.ok) == (None, None, True)
    assert {e.what for e in chat.events} == {What.TURN, What.STEP, What.TEXT, What.ENDED}
    assert contracts(chat) == []


def test_a_failed_run_carries_what_it_owes(plan: Chat) -> None:
    """Other endings keep their own reason and carry the unmet id."""
    ended = plan.run(says(call("list")), ScriptedTurn(fail="too many requests"))
    assert (ended.reason, ended.contract, ended.outcome) == ("failed", "plan.delivered", "unmet")


def test_plan_to_work_in_one_turn(plan: Chat, worktree: Path) -> None:
    """S004-5: plan reads, is nudged, submits, leaves as approved, and implements in one turn."""
    plan.operator["plan_exit"] = plan.decide()
    loop = plan.loop(
        says(call("read", path="a.txt")),
        says("I would write b.txt."),
        says(PLAN),
        says(LEAVE),
        says(WRITE),
        says("Written."),
    )
    loop.waits = frozenset({ApprovalKind.PLAN_EXIT})
    ended = asyncio.run(loop.turn("plan it, then do it"))
    assert (ended.text, ended.outcome) == ("Written.", "delivered")
    assert len(plan.said(What.NUDGE)) == 1
    assert (worktree / "b.txt").read_text() == "x"
    modes = [e.data["mode"] for e in plan.events if e.what is What.STEP]
    assert modes == ["plan"] * 4 + ["chat"] * 2


def test_an_approved_plan_is_carried_out_in_the_same_turn(plan: Chat, worktree: Path) -> None:
    """004-006: the operator approves the plan; the mode is left, and the turn goes on with it."""
    plan.operator["plan"] = plan.decide()
    ended = plan.run(says(PLAN), says(WRITE), says("Written."))
    assert "approved" in plan.results()[0]
    assert (ended.outcome, plan.space.mode) == ("delivered", "chat")
    assert (worktree / "b.txt").exists()
