"""Subagents: children in a loop like their parent's, never wider than it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

from remit.harness.loop.events import What
from remit.harness.loop.scripted import Script
from tests.harness.loop.driver import Chat, call, says

#: Every way to write that a model can name.
WAYS = (
    call("write", path="b.txt", content="x"),
    call("edit", path="a.txt", old="one", new="x"),
    call("apply_patch", patch="*** Begin Patch\n*** Add File: c.txt\n+x\n*** End Patch\n"),
    call("shell", command="echo x > d.txt; git commit -qam x; rm a.txt"),
    call("submit_plan", goal="g", nodes=[]),
    call("exit_plan_mode"),
    call("present_plan", title="t", plan="p"),
    call("task", prompt="write it", title="t", mode="chat"),
    call("write_file", path="b.txt", content="x"),
    call("harness:write", path="b.txt", content="x"),
)


def state(worktree: Path) -> str:
    words = ["git", "-C", str(worktree), "status", "--porcelain", "--ignored"]
    status = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    head = subprocess.run(
        ["git", "-C", str(worktree), "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return status + head + (worktree / "a.txt").read_text()


def test_a_subagent_answers(chat: Chat) -> None:
    """What a child says comes back as the result of the call."""
    look = Script((says(call("read", path="a.txt")), says("It says one, two.")), when="look at")
    chat.run(says(call("task", prompt="look at a.txt", title="look")), says("So."), scripts=(look,))
    assert chat.results()[-1] == "It says one, two."
    children = {e.conversation for e in chat.events} - {"c"}
    assert len(children) == 1
    (child,) = children
    assert chat.at.conversation(child).record.mode == "read-only"


def test_a_subagent_of_plan_changes_nothing(chat: Chat, worktree: Path) -> None:
    """It tries to write by every tool that it can name; on the disk all is as it was."""
    chat.space.set("plan", by="operator")
    before = state(worktree)
    tries = Script((*(says(way) for way in WAYS), says("I could not.")), when="write it")
    chat.run(
        says(call("task", prompt="write it all", title="t")),
        says(call("nothing_to_deliver", reason="none")),
        says("."),
        scripts=(tries,),
    )
    child = [e for e in chat.events if e.conversation != "c" and e.what is What.RESULT]
    assert [e.data["failed"] for e in child] == [True] * len(WAYS)
    assert not any(e.data["ran"] for e in child)
    assert state(worktree) == before
    assert chat.pending() == []


def test_a_child_is_narrowed_with_its_parent(chat: Chat, worktree: Path) -> None:
    """Fault 1: a switch while a child runs holds in the child's next call."""
    work = Script((says(call("write", path="b.txt", content="x")), says("No.")), when="do")
    chat.space.set("chat", by="operator")
    chat.on(What.TURN, lambda _: chat.space.set("plan", by="operator"))
    chat.run(says(call("task", prompt="do it", title="t")), says("."), says("."), scripts=(work,))
    assert not (worktree / "b.txt").exists()


def test_a_child_that_may_not_be_is_an_answer(chat: Chat) -> None:
    """A mode that the brief does not name is told, with those that it does."""
    chat.run(says(call("task", prompt="p", title="t", mode="chat")), says("."))
    assert "may not be in `chat`" in chat.results()[0]


def test_a_child_that_fails_is_told(chat: Chat) -> None:
    """Why a subagent did not finish is the result of the call, and an error."""
    chat.run(
        says(call("task", prompt="do", title="t")), says("."), scripts=(Script((), when="do"),)
    )
    (result,) = [e for e in chat.events if e.what is What.RESULT]
    assert result.data["failed"]
    assert "did not finish" in result.text
