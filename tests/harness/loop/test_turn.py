"""One turn: requests are steps, calls are judged, what came back is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

from remit.harness.loop.calls import RAW
from remit.harness.loop.events import What
from remit.harness.loop.gated import arguments
from remit.harness.loop.scripted import ScriptedTurn
from tests.harness.loop.driver import Chat, call, says


def test_chat_edits_a_file(chat: Chat, worktree: Path) -> None:
    """S003-6: in chat all tools are there, and what the model calls happens."""
    ended = chat.run(
        says("I look.", call("read", path="a.txt")),
        says(call("edit", path="a.txt", old="two", new="three")),
        says("Done."),
    )
    assert (ended.text, ended.reason, ended.contract, ended.ok) == ("Done.", "stopped", None, True)
    assert (worktree / "a.txt").read_text() == "one\nthree\n"
    assert "".join(chat.said(What.TEXT)) == "I look.Done."


def test_what_is_narrowed_during_a_step_bites_in_it(chat: Chat, worktree: Path) -> None:
    """A switch to plan between request and call refuses the call, and the next step is in plan."""
    loop = chat.loop(says(call("write", path="b.txt", content="x")), says("I cannot."), says("No."))
    chat.on(What.CALL, lambda _: chat.space.set("plan", by="operator"))
    ended = asyncio.run(loop.turn("go"))
    assert not (worktree / "b.txt").exists()
    assert [e.data["mode"] for e in chat.events if e.what is What.STEP] == ["chat", "plan", "plan"]
    assert (ended.contract, ended.outcome) == ("plan.delivered", "unmet")


def test_a_hidden_tool_is_refused_and_counted(chat: Chat, worktree: Path) -> None:
    """004-004, S004-R11: hiding is not all that holds; a call of a hidden tool is judged too."""
    chat.space.set("plan", by="operator")
    write = call("write", path="b.txt", content="x")
    ended = chat.run(says(write, call("read", path="a.txt")), *[says(write)] * 9)
    assert ended.reason == "stuck"
    assert not (worktree / "b.txt").exists()
    first, read, second, third, *_ = chat.results()
    assert first == second
    assert "`write`" in first
    assert "one" in read
    assert "refused 3 times" in third
    assert len(chat.results()) == 7


def test_parallel_calls_are_each_judged(chat: Chat, worktree: Path) -> None:
    """One batch may hold what is allowed and what is not; each has its own answer."""
    chat.space.set("read-only", by="system")
    chat.run(
        says(
            call("read", path="a.txt"),
            call("write", path="b.txt", content="x"),
            call("shell", command="touch c.txt"),
            call("list"),
            call("no_such_tool"),
        ),
        says("So."),
    )
    failed = {e.data["tool"]: e.data["failed"] for e in chat.events if e.what is What.RESULT}
    assert failed == {
        "read": False, "write": True, "shell": True, "list": False, "no_such_tool": True
    }  # fmt: skip
    assert [p.name for p in sorted(worktree.iterdir())] == [".git", "a.txt"]


def test_arguments_that_are_no_object_are_an_answer(chat: Chat) -> None:
    """What a model garbles comes back to it, as often as it does that."""
    assert [arguments(raw) for raw in ("{", "[]", "3", "", None)] == [
        {RAW: "{"}, {RAW: []}, {RAW: 3}, {}, {}
    ]  # fmt: skip
    garbled = says(call("read", **{RAW: "{"}))
    ended = chat.run(*[garbled] * 3, says("Well."))
    assert ended.ok
    assert "no JSON object" in chat.results()[0]


def test_the_preamble_and_the_marker_reach_the_model(chat: Chat) -> None:
    """The standing text is the instructions, the marker the last message (S001-15)."""
    chat.space.set("plan", by="operator")
    chat.run(says(call("nothing_to_deliver", reason="it is a question")), says("Fine."))
    (notice,) = chat.said(What.NOTICE)
    assert notice.startswith("[remit]")
    kept = chat.loop().history.messages
    assert "[remit]" in str(kept[0])


def test_a_failing_model_ends_the_turn_with_its_reason(chat: Chat) -> None:
    """Other endings keep their own reason and carry the unmet id."""
    chat.space.set("plan", by="operator")
    ended = chat.run(ScriptedTurn(fail="the provider is down"))
    assert (ended.reason, ended.contract, ended.outcome) == ("failed", "plan.delivered", "unmet")
    assert "the provider is down" in ended.error
    assert not chat.at.conversation("c").record.open


def test_a_queued_message_goes_out_with_the_next_request(chat: Chat) -> None:
    """What the user says meanwhile is read as soon as the model can hear it."""
    loop = chat.loop(says(call("list")), says("Both."))
    chat.on(What.CALL, lambda _: loop.queue.append("and this"))
    asyncio.run(loop.turn("first"))
    assert "and this" in str(loop.history.messages[2])


def test_todos_last_as_long_as_the_loop(chat: Chat) -> None:
    """The list of a conversation outlives the turn."""
    loop = chat.loop(
        says(call("todo", items=[{"text": "mend it"}])),
        says("Noted."),
        says(call("todo")),
        says("."),
    )
    asyncio.run(loop.turn("one"))
    asyncio.run(loop.turn("two"))
    assert chat.results()[-1] == "[ ] mend it"
