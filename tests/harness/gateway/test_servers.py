"""Servers that do what a server should not: each is told clearly, and costs nothing else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from remit.harness.gateway import claims
from remit.harness.gateway.server import Gateway
from remit.harness.store import OPERATOR
from tests.harness.gateway.rig import HERE, SPACE, Caller, Place, calling, gone, text_of, until

TINY = str(HERE / "servers" / "tiny.py")
NATIVE = ["mode", "ask_user"]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A workspace with a space in chat."""
    place = Place.make(tmp_path)
    yield place
    place.store.close()


def tiny(place: Place, manner: str, **more: Any) -> Gateway:
    """A gateway in front of the tiny server, in one of its manners."""
    return place.gateway(sys.executable, TINY, str(place.folder / "notes"), manner, **more)


def messages(place: Place) -> str:
    """What was told on standard error."""
    return "\n".join(str(p) for p in place.problems)


async def _one(gateway: Gateway, name: str = "echo") -> tuple[list[str], str, bool]:
    """List, call once; return the names, the text and whether it is an error."""
    async with calling(gateway, "legacy") as caller:
        names = await caller.names()
        result = await caller.call(name)
        return names, text_of(result), bool(result.is_error)


def test_garbage(place: Place) -> None:
    """Lines that are no messages are passed over and told once, escaped."""
    names, text, error = anyio.run(_one, tiny(place, "garbage"))
    assert names == ["echo", "write", *NATIVE]
    assert (text, error) == ("{}", False)
    assert place.codes.count("server-garbage") == 1
    assert "`Welcome!`" in messages(place)


def test_late(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client is not kept waiting for a slow server: it is told of the rest, and a person why."""
    monkeypatch.setattr(claims, "OPENING", 0.05)
    anyio.run(_one, tiny(place, "mute", start_seconds=0.5))
    assert "the server `test` is late, so only tools are claimed of it" in messages(place)


def test_mute(place: Place) -> None:
    """A server that never answers is given up: the verbs are listed, a call says why not."""
    names, text, error = anyio.run(_one, tiny(place, "mute", start_seconds=0.3))
    assert names == NATIVE
    assert error
    assert "did not answer `initialize` and `tools/list` within 0.3 s" in text
    assert gone(place)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ((sys.executable, TINY, "{notes}", "instant"), "exited with status 3"),
        (("/nowhere/server",), "could not be started: `/nowhere/server`: no such file or"),
        (("no-such-server",), "could not be started: `no-such-server`: no such file or"),
        ((sys.executable, TINY, "{notes}", "toolless"), "refused to start: no tools/list here"),
    ],
    ids=["exits", "missing", "not on PATH", "toolless"],
)
def test_never_up(place: Place, command: tuple[str, ...], said: str) -> None:
    """A server that does not come up is told with its reason, in the answer and to people."""
    notes = str(place.folder / "notes")
    gateway = place.gateway(*(part.format(notes=notes) for part in command))
    names, text, error = anyio.run(_one, gateway)
    assert names == NATIVE
    assert error
    assert said in text
    assert said in messages(place)


def test_touchy(place: Place) -> None:
    """A server that ends where it is asked in the newer way is started in the older one."""
    names, text, error = anyio.run(_one, tiny(place, "touchy"))
    assert names == ["echo", "write", *NATIVE]
    assert (text, error) == ("{}", False)
    assert "server-down" not in place.codes
    asked = [note.split()[0] for note in place.notes]
    assert asked[:4] == ["pid", "server/discover", "pid", "initialize"]


def test_backoff(place: Place) -> None:
    """A server that does not come up is tried in both ways, again on a call, not at every call."""

    async def calls() -> tuple[str, str]:
        async with calling(tiny(place, "instant"), "legacy") as caller:
            first = text_of(await caller.call("echo"))
            await anyio.sleep(0.2)
            return first, text_of(await caller.call("echo"))

    first, second = anyio.run(calls)
    assert "s or later starts it again" in first
    assert "s or later starts it again" in second
    assert len([n for n in place.notes if n.startswith("pid")]) == 2


def test_silent(place: Place) -> None:
    """A call that is never answered can be cancelled, and the server hears of it."""

    async def give_up() -> None:
        async with calling(tiny(place, "silent"), "auto") as caller:
            await caller.names()
            with anyio.move_on_after(0.2):
                await caller.call("echo")
            await until(lambda: 'notifications/cancelled ""' in place.notes)
            assert not (await caller.call("mode")).is_error

    anyio.run(give_up)


def test_malformed(place: Place) -> None:
    """Tools that are listed wrongly are left out one by one; the others are served."""
    names, _, _ = anyio.run(_one, tiny(place, "malformed"))
    assert names == ["echo", "write", "grow", *NATIVE]
    left_out = (
        "bad-tool-name",
        "bad-tool-name",
        "tool-malformed",
        "tool-malformed",
        "duplicate-tool",
    )
    assert sorted(place.codes) == sorted(left_out)


def test_orphan(place: Place) -> None:
    """A death is seen though a child of the server holds its pipes; the child goes with it."""

    async def die() -> tuple[float, str]:
        async with calling(tiny(place, "orphan"), "auto") as caller:
            await caller.names()
            start = time.monotonic()
            text = text_of(await caller.call("echo"))
            return time.monotonic() - start, text

    seconds, text = anyio.run(die)
    assert "exited with status 3 while `echo` ran" in text
    assert seconds < 2
    assert gone(place)


def test_deaf(place: Place) -> None:
    """A server that lives on and takes no more is told as gone, and ended."""

    async def call() -> str:
        async with calling(tiny(place, "deaf"), "legacy") as caller:
            await caller.names()
            await until(lambda: "deaf" in place.notes)
            return text_of(await caller.call("echo"))

    assert "the server `test` closed its pipes" in anyio.run(call)
    assert gone(place)


def test_stubborn(place: Place) -> None:
    """A server that heeds neither the end of its input nor a signal is ended all the same."""
    _, text, error = anyio.run(_one, tiny(place, "stubborn"))
    assert (text, error) == ("{}", False)
    assert gone(place)


def test_asking(place: Place) -> None:
    """A server that asks the client for something is refused, and can go on."""
    _, text, error = anyio.run(_one, tiny(place, "asking"))
    assert not error
    refusals = text.split(" | ")
    assert refusals == [f"{w} not supported" for w in ("Sampling", "Elicitation", "List roots")]


def test_large(place: Place) -> None:
    """A result of three million characters passes whole."""
    _, text, error = anyio.run(_one, tiny(place, "large"))
    assert (len(text), error) == (3_000_000, False)


def test_empty(place: Place) -> None:
    """A result without content is relayed with none, and is no error."""
    assert anyio.run(_one, tiny(place, "empty"))[1:] == ("", False)


def test_many_at_once(place: Place) -> None:
    """Calls that are in flight together are each answered with its own result."""

    async def calls() -> list[str]:
        texts = [""] * 20
        async with calling(tiny(place, "plain"), "auto") as caller:

            async def one(i: int) -> None:
                texts[i] = text_of(await caller.call("echo", f"call {i}"))

            async with anyio.create_task_group() as tasks:
                for i in range(len(texts)):
                    tasks.start_soon(one, i)
        return texts

    assert anyio.run(calls) == [str({"text": f"call {i}"}) for i in range(20)]


def test_unbound(place: Place) -> None:
    """Without a catalogue every tool asks, and one line says what to add."""
    command = (sys.executable, TINY, str(place.folder / "notes"), "plain")
    gateway = place.gateway(*command, bound=False)
    names, text, error = anyio.run(_one, gateway)
    assert names == ["echo", "write", *NATIVE]
    assert error
    assert "approval" in text
    (problem,) = place.problems
    assert problem.hint == "bind a catalogue to it: `--server NAME=CATALOG`"


def test_approval_unspent(place: Place) -> None:
    """An approval is not spent on a dead server, and a refusal needs no server."""
    decide = place.store.approvals.decide

    async def converse(caller: Caller) -> None:
        asked = await caller.call("write")
        approval = (asked.structured_content or {})["approval"]
        decide(approval, True, by=OPERATOR, now=datetime.now(UTC))
        assert "status 3 while `echo` ran" in text_of(await caller.call("echo"))
        dead = await caller.call("write")
        assert "`write` was not run: the server `test` exited with status 3" in text_of(dead)
        assert place.store.approvals.get(approval, now=datetime.now(UTC)).state == "approved"
        place.store.spaces.set_mode(SPACE, "plan", by=OPERATOR, why="", now=datetime.now(UTC))
        assert "plan mode refused `write`" in text_of(await caller.call("write"))

    async def main() -> None:
        async with calling(tiny(place, "mortal"), "auto") as caller:
            await converse(caller)

    anyio.run(main)
    assert not any(line.startswith('tools/call "write"') for line in place.notes)


def test_not_judged(place: Place) -> None:
    """What cannot be judged is not run: the answer says so, and nothing is forwarded."""

    async def main() -> None:
        gateway = tiny(place, "plain")
        async with calling(gateway, "auto") as caller:
            assert not (await caller.call("echo")).is_error
            place.store.close()
            result = await caller.call("echo")
            assert result.is_error
            assert "could not be judged" in text_of(result)
            with pytest.raises(MCPError, match=r"."):
                await caller.names()

    anyio.run(main)
    assert place.notes.count('tools/call "echo"') == 1
