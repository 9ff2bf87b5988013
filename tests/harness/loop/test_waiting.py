"""Asking the operator: the turn waits, wakes when it is decided, and runs the call once."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from remit.harness.loop.events import What
from remit.policy.vocabulary import Dial
from tests.harness.loop.driver import Chat, call, says

WRITE = call("write", path="b.txt", content="x")


@pytest.fixture
def asking(chat: Chat) -> Chat:
    chat.space.set_dial(Dial.ASK, by="operator")
    return chat


def test_an_approved_call_runs(asking: Chat, worktree: Path) -> None:
    """What asks is decided by the operator, and runs then, in the same turn."""
    asking.operator["call"] = asking.decide()
    asking.run(says(WRITE), says("Done."))
    assert (worktree / "b.txt").exists()
    assert asking.pending() == []


def test_a_rejected_call_comes_back_with_the_reason(asking: Chat, worktree: Path) -> None:
    """S004-6 for calls: a rejection is an answer that carries what the operator said."""
    asking.operator["call"] = asking.decide(False, "not there")
    asking.run(says(WRITE), says("I see."))
    assert "not there" in asking.results()[0]
    assert not (worktree / "b.txt").exists()


def test_it_wakes_within_a_second(asking: Chat, worktree: Path) -> None:
    """A decision made elsewhere, at any time, is heard of at once."""
    decided: list[float] = []
    done: list[float] = []

    def later(id: str) -> None:
        def decide() -> None:
            time.sleep(0.7)
            decided.append(time.monotonic())
            asking.decide()(id)

        threading.Thread(target=decide).start()

    asking.operator["call"] = later
    asking.on(What.DECIDED, lambda _: done.append(time.monotonic()))
    asking.run(says(WRITE), says("Done."))
    assert done[0] - decided[0] < 1


def test_a_question_is_answered(chat: Chat) -> None:
    """S003-19: `ask_user` runs in every mode, and the answer comes back in the same turn."""
    chat.operator["question"] = chat.decide(True, "the second")
    chat.run(says(call("ask_user", question="Which?")), says("Good."))
    assert chat.results() == ["The operator answered: the second"]


def test_a_message_of_the_user_ends_the_wait(asking: Chat, worktree: Path) -> None:
    """004-016, S004-R9: the waiting call gets an interrupted result, and the message is read."""
    loop = asking.loop(says(WRITE), says("As you wish."))
    asking.on(What.WAITING, lambda _: loop.queue.append("rather not"))
    ended = asyncio.run(loop.turn("go"))
    assert ended.ok
    assert asking.results()[0].startswith("Interrupted")
    assert "rather not" in str(loop.history.messages[2])
    assert not (worktree / "b.txt").exists()


def test_an_interrupt_closes_the_turn_and_the_approval_stands(asking: Chat, worktree: Path) -> None:
    """Ctrl-C loses nothing: the same call again uses what the operator decided meanwhile."""

    async def interrupted() -> None:
        task = asyncio.create_task(asking.loop(says(WRITE)).turn("go"))
        while not asking.pending():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
    record = asking.at.conversation("c").record
    assert not record.open
    closed = asking.at.store.log.read(kinds=("turn.closed",))
    assert closed[-1].body["outcome"] == "interrupted"
    (id,) = asking.pending()
    asking.decide()(id)
    assert not (worktree / "b.txt").exists()
    loop = asking.loop(says(WRITE), says(WRITE), says("Done."))
    assert "Interrupted" in str(loop.history.messages[-1])
    asyncio.run(loop.turn("go on"))
    assert (worktree / "b.txt").exists()
    (approval,) = asking.at.store.approvals.list(now=asking.at.clock())
    assert (approval.id, approval.state) == (id, "used")


def test_a_presented_plan_waits_whatever_the_dial(chat: Chat) -> None:
    """004-005, 004-007, S004-4: in chat too a plan waits to be decided, and no mode is left."""
    chat.operator["plan"] = chat.decide()
    plan = call("present_plan", title="Write b", plan="# Write b\n- [ ] b.txt")
    chat.run(says(plan), says("I begin."))
    assert "approved" in chat.results()[0]
    assert "mode" not in chat.results()[0]
    assert chat.space.mode == "chat"


def test_a_rejected_plan_keeps_the_mode(chat: Chat) -> None:
    """004-008: the model is told that it was rejected, and why."""
    chat.space.set("plan", by="operator")
    chat.operator["plan"] = chat.decide(False, "too big")
    plan = call("present_plan", title="Write b", plan="# Write b\n- [ ] b.txt")
    chat.run(says(plan), says("What should change?"), says(call("nothing_to_deliver", reason="no")),
             says("."))  # fmt: skip
    assert "too big" in chat.results()[0]
    assert chat.space.mode == "plan"


def test_a_blank_title_presents_nothing(chat: Chat) -> None:
    """004-009: an error, and nothing waits."""
    chat.run(says(call("present_plan", title=" ", plan="x")), says("Oh."))
    assert chat.pending() == []
    assert chat.said(What.WAITING) == []
