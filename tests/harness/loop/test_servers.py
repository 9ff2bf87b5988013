"""MCP servers beside the harness's own tools: listed as the mode admits, judged like everything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from remit.harness.gateway.servers import ServerSpec
from remit.harness.loop.events import What
from remit.harness.loop.scripted import Script
from remit.harness.loop.servers import Servers
from remit.policy.problems import Problem
from remit.policy.vocabulary import Dial
from tests.harness.gateway.rig import CATALOG, SERVER
from tests.harness.loop.driver import Chat, call, says


class Beside:
    """A real server that notes what reaches it, and a conversation that has it."""

    def __init__(self, chat: Chat, folder: Path, *, bound: bool = True) -> None:
        self.chat, self.folder = chat, folder
        self.problems: list[Problem] = []
        (folder / "test.toml").write_text(CATALOG)
        (folder / "notes").touch()
        command = (sys.executable, SERVER, str(folder / "notes"))
        spec = ServerSpec("test", command, str(folder / "test.toml") if bound else None)
        worktree = chat.space.state.worktree
        chat.servers = Servers.of(chat.at.engine, [spec], worktree, self.problems.append)

    @property
    def notes(self) -> list[str]:
        """The calls that reached the server."""
        noted = [n.split()[0] for n in (self.folder / "notes").read_text().splitlines()]
        return [n for n in noted if n != "pid"]


@pytest.fixture
def beside(chat: Chat, tmp_path: Path) -> Beside:
    return Beside(chat, tmp_path)


def test_a_call_reaches_the_server(beside: Beside) -> None:
    """A declared tool is served; one that shares a name is told apart, as through the gateway."""
    chat = beside.chat
    ended = chat.run(
        says(call("echo", text="hello"), call("test__write", text="x")),
        says(call("read", path="a.txt")),
        says("Done."),
    )
    assert ended.ok
    assert beside.notes == ["echo", "write"]
    hello, written, read = chat.results()
    assert (hello, written) == ("hello", "x")
    assert "one" in read


def test_a_mode_filters_and_refuses(beside: Beside) -> None:
    """S003-7, S003-26: in plan a writing tool of a server is hidden, and refused if called."""
    chat = beside.chat
    chat.space.set("plan", by="operator")
    chat.run(
        says(call("echo", text="a"), call("test__write", text="b"), call("undeclared", text="c")),
        says(call("nothing_to_deliver", reason="no")),
        says("."),
    )
    assert beside.notes == ["echo"]
    failed = {e.data["tool"]: e.data["failed"] for e in chat.events if e.what is What.RESULT}
    assert (failed["echo"], failed["test__write"], failed["undeclared"]) == (False, True, True)


def test_a_subagent_is_no_way_round(beside: Beside) -> None:
    """A child has the same servers under its own, narrower mode."""
    tries = Script((says(call("test__write", text="x")), says("No.")), when="do it")
    task = call("task", prompt="do it", title="t", mode="read-only")
    beside.chat.run(says(task), says("."), scripts=(tries,))
    assert beside.notes == []


def test_what_nobody_declared_asks_under_every_dial(chat: Chat, tmp_path: Path) -> None:
    """All tools of a server that nobody bound are undeclared: an approval lets one call run."""
    beside = Beside(chat, tmp_path, bound=False)
    assert chat.space.state.dial is Dial.AUTO
    chat.operator["call"] = chat.decide()
    chat.run(says(call("echo", text="hello")), says("."))
    assert len(chat.said(What.WAITING)) == 1
    assert beside.notes == ["echo"]
    assert [p.code for p in beside.problems if p.code == "server-unbound"]


def test_a_server_that_dies_is_an_answer(beside: Beside) -> None:
    """It may have had its effects, and is not sent again; the next call has it started again."""
    chat = beside.chat
    ended = chat.run(says(call("die")), says(call("echo", text="again")), says("."))
    first, second = chat.results()
    assert ended.ok
    assert "may have had its effects" in first
    assert beside.notes[0] == "die"
    assert second == "again" or "is being started again" in second
