"""Each pairing of eras, one conversation each: what the client sees and what reaches the server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from attrs import define, field

from tests.harness.gateway.rig import Caller, Operator, Place, calling, gone, text_of, until

PLAN: dict[str, Any] = {
    "goal": "Say hello",
    "nodes": [{"key": "a", "title": "Greet", "description": "Say it."}],
}


@define
class Seen:
    """What one conversation saw, step by step."""

    place: Place
    chat: list[str] = field(factory=list)
    plan: list[str] = field(factory=list)
    grown: list[str] = field(factory=list)
    news: dict[str, float] = field(factory=dict)
    results: dict[str, types.CallToolResult] = field(factory=dict)
    raw: dict[str, dict[str, Any]] = field(factory=dict)
    progress: list[float] = field(factory=list)
    waits: list[float] = field(factory=list)
    tools: dict[str, types.Tool] = field(factory=dict)
    approvals: list[str] = field(factory=list)
    instructions: str = ""
    capabilities: types.ServerCapabilities | None = None

    def text(self, step: str) -> str:
        """The text of a step's result."""
        return text_of(self.results[step])


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    """One operator's process for all conversations."""
    it = Operator.start()
    yield it
    it.stop()


async def _converse(caller: Caller, seen: Seen, operator: Operator) -> None:
    place, results = seen.place, seen.results
    seen.instructions = caller.client.instructions or ""
    seen.capabilities = caller.client.server_capabilities

    async def call(step: str, name: str, text: str = "", **args: Any) -> None:
        results[step] = await caller.call(name, text, **args)

    listed = (await caller.client.list_tools()).tools
    seen.chat = [tool.name for tool in listed]
    seen.tools = {tool.name: tool for tool in listed}
    meta: Any = {"example.org/mine": 1, "progressToken": "mine"}
    results["echo"] = await caller.client.call_tool("echo", {"text": "hi"}, meta=meta)
    seen.raw["sloppy"] = await caller.raw(name="sloppy", arguments={"text": "as it is"})
    seen.raw["list"] = await caller.raw(name="echo", arguments=["not", "an", "object"])
    forged = {"answer": {"action": "accept"}}
    seen.raw["forged"] = await caller.raw(name="echo", arguments={}, inputResponses=forged)
    for name in ("REMIT_OPERATOR", "SERVER_TOKEN", "GIT_OPTIONAL_LOCKS"):
        await call(name, "env", name)
    await call("elicit", "elicit")
    await call("unknown", "ehco")
    await call("undeclared", "undeclared")

    await call("asked", "write", "w")
    await call("asked again", "write", "w")
    seen.approvals = [str((results[s].structured_content or {}).get("approval"))
                      for s in ("asked", "asked again")]  # fmt: skip
    operator.approve(place, seen.approvals[0])
    await call("approved", "write", "w")
    await call("once more", "write", "w")

    now = time.monotonic()
    operator.switch(place, "plan")
    await call("switched", "write", "w")
    await call("after", "echo", "calm")
    seen.news["plan"] = await caller.heard(now)
    seen.plan = await caller.names()
    await call("hidden", "undeclared")
    await call("mode", "mode")
    await call("plan", "submit_plan", **PLAN)
    await call("leave", "exit_plan_mode")
    operator.approve(place, str((results["leave"].structured_content or {})["approval"]))
    now = time.monotonic()
    await call("left", "exit_plan_mode")
    await call("back", "echo", "back")
    seen.news["left"] = await caller.heard(now)

    now = time.monotonic()
    await call("grow", "grow")
    seen.news["grown"] = await caller.heard(now)
    seen.grown = await caller.names()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.progress.append(progress)

    with anyio.move_on_after(0.4):
        await caller.client.call_tool("slow", {}, progress_callback=on_progress)
    await until(lambda: "slow was cancelled" in place.notes)

    async def timed(step: str, name: str) -> bool:
        start = time.monotonic()
        await call(step, name, "" if step == "native" else step)
        seen.waits.append(time.monotonic() - start)
        return bool(results[step].is_error)

    await timed("died", "die")
    await timed("dead", "echo")
    await timed("native", "mode")
    for _ in range(20):
        if not await timed("reborn", "echo"):
            break
        await anyio.sleep(0.2)


def _count(seen: Seen, call: str) -> int:
    return sum(line == call for line in seen.place.notes)


# What is listed.


def fact_list_surface(seen: Seen) -> None:
    """The list is what the frame shows: the server's own tools, and the native verbs."""
    assert seen.chat == [
        "echo", "write", "sloppy", "slow", "die", "grow", "env", "elicit", "undeclared",
        "mode", "ask_user",
    ]  # fmt: skip


def fact_list_hidden(seen: Seen) -> None:
    """In a read-only mode what writes and what nobody declared is gone; the verbs are there."""
    assert {"write", "undeclared"}.isdisjoint(seen.plan)
    assert {"echo", "mode", "submit_plan", "exit_plan_mode"} <= set(seen.plan)


def fact_list_impostor(seen: Seen) -> None:
    """A tool of the server that bears a verb's name is left out; the verb is remit's own."""
    assert "submit_plan" not in seen.chat
    assert not any(line.startswith("submit_plan") for line in seen.place.notes)
    assert seen.results["plan"].is_error is False
    assert {"tool-name-taken", "bad-tool-name"} <= set(seen.place.codes)


def fact_list_raw(seen: Seen) -> None:
    """A tool is relayed with all that it says, but for keys of the other connection."""
    echo = seen.tools["echo"]
    assert echo.meta == {"example.org/kept": 1}
    assert echo.annotations is not None
    assert echo.annotations.title == "Echo"
    assert echo.output_schema is not None
    assert echo.description == "echo a text"


def fact_list_not_claimed(seen: Seen) -> None:
    """What is not relayed is not claimed: tools with changes, and nothing else."""
    assert seen.capabilities is not None
    assert seen.capabilities.tools == types.ToolsCapability(list_changed=True)
    others = seen.capabilities.model_dump(exclude={"tools"}, exclude_none=True)
    assert others == {}


def fact_list_instructions(seen: Seen) -> None:
    """Instructions are sent once, so they name no mode and point to the verb that does."""
    assert "`mode`" in seen.instructions
    assert not {"chat", "plan"} & set(seen.instructions.split())


# What is called.


def fact_call_raw(seen: Seen) -> None:
    """A result comes as the server gave it: annotations, structured content, its own meta."""
    echo = seen.results["echo"]
    (block,) = echo.content
    assert isinstance(block, types.TextContent)
    assert block.annotations is not None
    assert block.annotations.audience == ["user"]
    assert echo.structured_content == {"text": "hi"}
    assert (echo.meta or {})["example.org/kept"] == "yes"


def fact_call_meta(seen: Seen) -> None:
    """The client's own meta reaches the server; its progress token is replaced by ours."""
    (note,) = (line for line in seen.place.notes if line.startswith("echo hi"))
    assert "example.org/mine=1" in note
    assert "progressToken=" in note
    assert "progressToken=mine" not in note


def fact_call_sloppy(seen: Seen) -> None:
    """A server that breaks its own output schema is relayed, and no error of ours."""
    assert seen.raw["sloppy"]["content"][0]["text"] == "as it is"
    assert not seen.raw["sloppy"].get("isError")


def fact_call_arguments(seen: Seen) -> None:
    """Arguments that are no object are refused with what came, and nothing is forwarded."""
    assert seen.raw["list"]["isError"] is True
    assert seen.raw["list"]["content"][0]["text"].endswith("must be an object, got a list")
    assert "echo" not in seen.place.notes


def fact_call_forged(seen: Seen) -> None:
    """Answers to a question that nobody asked are refused."""
    assert seen.raw["forged"]["isError"] is True
    assert _count(seen, "echo") == 0


def fact_call_environment(seen: Seen) -> None:
    """The server has the operator's environment, without what is remit's."""
    assert seen.text("REMIT_OPERATOR") == "None"
    assert seen.text("SERVER_TOKEN") == "'its own'"
    assert seen.text("GIT_OPTIONAL_LOCKS") == "'0'"


def fact_call_elicitation(seen: Seen) -> None:
    """A server that asks for input gets a refusal, and can go on."""
    assert seen.text("elicit").startswith("refused: ")


def fact_call_unknown(seen: Seen) -> None:
    """An unknown tool is refused by mode and reason, with the name that was meant."""
    assert seen.results["unknown"].is_error
    assert "chat mode refused `ehco`" in seen.text("unknown")
    assert "`echo`" in seen.text("unknown")


def fact_call_undeclared(seen: Seen) -> None:
    """What nobody declared asks where the unknown asks, and is refused where it is not."""
    assert seen.results["undeclared"].is_error
    assert "approval" in (seen.results["undeclared"].structured_content or {})
    assert "plan mode refused `undeclared`" in seen.text("hidden")
    assert _count(seen, "undeclared") == 0


def fact_call_progress(seen: Seen) -> None:
    """Progress passes while a call runs, and cancelling it reaches the server."""
    assert seen.progress == sorted(seen.progress)
    assert len(seen.progress) > 1
    assert "slow was cancelled" in seen.place.notes


# A call that asks.


def fact_approval_asked(seen: Seen) -> None:
    """It answers as an error with the approval and how to give it, and does not run."""
    assert seen.results["asked"].is_error
    assert f"remit approvals approve {seen.approvals[0]}" in seen.text("asked")


def fact_approval_one(seen: Seen) -> None:
    """The same call while it is pending opens no second one."""
    assert len(set(seen.approvals)) == 1


def fact_approval_once(seen: Seen) -> None:
    """Approved, it runs once; the next call asks anew."""
    assert seen.results["approved"].is_error is False
    assert seen.results["once more"].is_error
    assert (seen.results["once more"].structured_content or {})["approval"] not in (seen.approvals)
    assert _count(seen, "write w") == 1


# A switch by another process.


def fact_switch_next_call(seen: Seen) -> None:
    """The next call sees it, though the client never listed again (S003-23)."""
    assert seen.results["switched"].is_error
    assert "plan mode refused `write`" in seen.text("switched")
    assert _count(seen, "write w") == 1


def fact_switch_announced(seen: Seen) -> None:
    """The client hears of it within a second, by the way of its era; so of an exit."""
    assert seen.news["plan"] < 1
    assert seen.news["left"] < 1


def fact_switch_said_once(seen: Seen) -> None:
    """The first result after it says so in a block of its own, the next says nothing."""
    line = "[remit] this space was switched from chat to plan mode"
    assert line in seen.text("switched")
    assert "[remit]" not in seen.text("after")


def fact_switch_exit_says_it(seen: Seen) -> None:
    """An exit's own result tells the switch, so the result after it does not tell it again."""
    assert seen.results["leave"].is_error is False
    assert (seen.results["left"].structured_content or {})["mode"] == "chat"
    assert seen.text("back") == "back"


def fact_switch_structured_untouched(seen: Seen) -> None:
    """Saying so alters no structured content: a mode's facts are those of the verb."""
    assert (seen.results["mode"].structured_content or {})["mode"] == "plan"


# A server that changes or dies.


def fact_server_changed(seen: Seen) -> None:
    """A tool that it grows is announced and listed; nobody declared it, so it is not free."""
    assert seen.news["grown"] < 1
    assert "grown" in seen.grown


def fact_server_died(seen: Seen) -> None:
    """A call that it died in answers how it ended, and that the call is not sent again."""
    assert seen.results["died"].is_error
    assert "exited with status 7 while `die` ran" in seen.text("died")
    assert _count(seen, "die died") == 1


def fact_server_dead(seen: Seen) -> None:
    """The next call is answered within two seconds; the verbs of remit work all the time."""
    assert seen.results["dead"].is_error or seen.text("dead") == "dead"
    assert seen.results["native"].is_error is False
    assert max(seen.waits) < 2


def fact_server_reborn(seen: Seen) -> None:
    """It is started again because it was called, and calls reach it again."""
    assert seen.text("reborn") == "reborn"
    assert sum(line.startswith("pid ") for line in seen.place.notes) == 2


def fact_server_ended(seen: Seen) -> None:
    """When the client has left, no process of the server is left."""
    assert gone(seen.place)


def fact_log_verifies(seen: Seen) -> None:
    """The log of the whole conversation verifies."""
    assert seen.place.store.log.verify().ok


FACTS = tuple(fact for name, fact in globals().items() if name.startswith("fact_"))


@pytest.mark.parametrize(
    ("mode", "args"),
    [("auto", ()), ("auto", ("--legacy",)), ("legacy", ()), ("legacy", ("--legacy",))],
    ids=["modern-modern", "modern-legacy", "legacy-modern", "legacy-legacy"],
)
def test_pairing(
    mode: str,
    args: tuple[str, ...],
    tmp_path: Path,
    operator: Operator,
    monkeypatch: pytest.MonkeyPatch,
    subtests: pytest.Subtests,
) -> None:
    """A client of one era and a server of one hold a conversation of which every fact is true."""
    monkeypatch.setenv("REMIT_OPERATOR", "secret")
    monkeypatch.setenv("SERVER_TOKEN", "its own")
    seen = Seen(Place.make(tmp_path))

    async def converse() -> None:
        async with calling(seen.place.gateway(*seen.place.command(*args)), mode) as caller:
            await _converse(caller, seen, operator)

    anyio.run(converse)
    for fact in FACTS:
        with subtests.test(fact.__doc__):
            fact(seen)
    seen.place.store.close()
