"""The scenarios of the loop over real wires: providers' own clients, a server on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai.models import Model

from remit.harness.loop.events import What
from remit.harness.loop.models import model_of
from remit.harness.loop.scripted import Script, ScriptedTurn, ScriptFile
from tests.harness.loop.driver import Chat, call, says
from tests.harness.loop.test_contract import PLAN
from tests.harness.loop.test_subagents import WAYS, state
from tests.harness.loop.wires import BASES, Wire, wired

READ = call("read", path="a.txt")


@pytest.fixture(scope="module")
def server() -> Iterator[Wire]:
    with wired() as wire:
        yield wire


@pytest.fixture(params=BASES)
def wire(request: pytest.FixtureRequest, server: Wire, chat: Chat) -> Wire:
    """The server, as the model of the conversation, in one wire format."""

    def model(script: ScriptFile) -> Model:
        server.script = script
        return model_of(f"{request.param}:tale", server.url + BASES[request.param], {})

    server.asked.clear()
    chat.model = model
    return server


def test_chat_edits_a_file(chat: Chat, wire: Wire, worktree: Path) -> None:
    """S003-6: text and arguments come in pieces, and the file is as the model wanted it."""
    ended = chat.run(
        says("I look at it.", READ),
        says(call("edit", path="a.txt", old="two", new="three"), call("list")),
        says("Done."),
    )
    assert (ended.text, ended.ok) == ("Done.", True)
    assert (worktree / "a.txt").read_text() == "one\nthree\n"
    assert chat.said(What.TEXT) == ["I look", " at it.", "Do", "ne."]
    assert "two" in json.dumps(wire.asked[1][1]["messages"][-1])
    assert {"read", "edit", "shell"} & wire.tools(0) == {"read", "edit"}
    # The absence of policy says nothing (S002-10).
    assert "[remit]" not in json.dumps(wire.asked[0][1])
    assert "system" not in wire.asked[0][1]


def test_plan_is_nudged_approved_and_implemented_in_the_turn(
    chat: Chat, wire: Wire, worktree: Path
) -> None:
    """S003-7, S003-8, S003-9: it reads, is nudged, submits, and after the approval it writes."""
    chat.space.set("plan", by="operator")
    chat.operator["plan"] = chat.decide()
    ended = chat.run(
        says("I look.", READ),
        says("Here is what I think."),
        says(PLAN),
        says(call("write", path="b.txt", content="x")),
        says("Done."),
    )
    assert (ended.outcome, ended.ok, len(chat.said(What.NUDGE))) == ("delivered", True, 1)
    assert (worktree / "b.txt").read_text() == "x"
    assert chat.space.mode == "chat"
    offered = [("write" in wire.tools(n), "submit_plan" in wire.tools(n)) for n in range(5)]
    assert offered == [(False, True)] * 3 + [(True, False)] * 2
    assert "Plan" in json.dumps(wire.asked[0][1])


def test_a_subagent_of_plan_changes_nothing(chat: Chat, wire: Wire, worktree: Path) -> None:
    """S003-24: by whatever tool it can name, offered or not, nothing on the disk is other."""
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
    assert state(worktree) == before


def test_a_provider_that_refuses_ends_the_turn(chat: Chat, wire: Wire) -> None:
    """The log stays consistent, and the words of the provider are the reason."""
    ended = chat.run(says("I look.", READ), ScriptedTurn(fail="the credit is used up"))
    assert (ended.reason, "credit is used up" in ended.error) == ("failed", True)
    closed = chat.at.store.log.read(kinds=("turn.closed",))
    assert [e.body["outcome"] for e in closed] == ["failed"]
    assert chat.at.store.log.verify().ok
