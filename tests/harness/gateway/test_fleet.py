"""Several servers behind one gateway, and several gateways in front of one space."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters

from remit.harness.gateway.servers import ServerSpec, load_servers
from remit.harness.store import OPERATOR, Overlay
from remit.policy.problems import InputError
from tests.harness.gateway.rig import HERE, SPACE, Place, calling, client_of, gone, text_of, until

TINY = str(HERE / "servers" / "tiny.py")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A workspace with a space in chat."""
    place = Place.make(tmp_path)
    yield place
    place.store.close()


def server(place: Place, name: str, manner: str, **more: Any) -> ServerSpec:
    """The tiny server under a name."""
    command = (sys.executable, TINY, str(place.folder / "notes"), manner)
    return ServerSpec(name, command, str(place.folder / "test.toml"), **more)


def test_one_dies(place: Place) -> None:
    """The others go on, and are not started again; the dead one is named, and comes back."""
    servers = server(place, "frail", "mortal"), server(place, "firm", "plain")

    async def converse() -> None:
        async with calling(place.gateways(*servers), "auto") as caller:
            assert await caller.names() == [
                "frail__echo", "frail__write", "firm__echo", "firm__write", "mode", "ask_user",
            ]  # fmt: skip
            died = await caller.call("frail__echo")
            told = "the server `frail` exited with status 3 while `frail__echo` ran"
            assert told in text_of(died)
            assert text_of(await caller.call("firm__echo", "on")) == "{'text': 'on'}"
            assert not (await caller.call("mode")).is_error
            dead = await caller.call("frail__echo")
            assert "the server `frail`" in text_of(dead)
            assert text_of(await caller.call("firm__echo", "still")) == "{'text': 'still'}"
            await until(lambda: sum(n.startswith("pid") for n in place.notes) == 3)

    anyio.run(converse)
    assert gone(place)


def test_one_never_comes(place: Place) -> None:
    """A server that cannot be started lacks its own tools alone, and says so when one is called."""
    absent = ServerSpec("absent", ("/nowhere/server",), None)

    async def converse() -> None:
        async with calling(place.gateways(absent, server(place, "firm", "plain")), "auto") as c:
            assert await c.names() == ["echo", "write", "mode", "ask_user"]
            assert not (await c.call("echo")).is_error
            assert "`absent` could not be started" in text_of(await c.call("absent:tool"))

    anyio.run(converse)


def test_policy_keys_on_the_source(place: Place) -> None:
    """A rule names a server and its tool, whatever the client calls it."""
    deny = Overlay("o.toml", '[ceiling]\ndeny = ["near:echo"]\n')
    place.store.spaces.set_overlay(SPACE, deny, by=OPERATOR, now=datetime.now(UTC))
    servers = server(place, "near", "plain"), server(place, "far", "plain")

    async def converse() -> None:
        async with calling(place.gateways(*servers), "legacy") as caller:
            names = await caller.names()
            assert "near__echo" not in names
            assert "far__echo" in names
            for name in ("near__echo", "near:echo"):
                assert "refused" in text_of(await caller.call(name))
            assert text_of(await caller.call("far__echo", "x")) == "{'text': 'x'}"

    anyio.run(converse)


def test_trusted(place: Place) -> None:
    """A trusted server's word that a tool reads counts; another server's does not."""
    servers = [
        ServerSpec(n, server(place, n, "plain:Reads.").command, None, trusted=n == "near")
        for n in ("near", "far")
    ]

    async def converse() -> None:
        async with calling(place.gateways(*servers), "auto") as caller:
            assert not (await caller.call("near__echo")).is_error
            assert "is pending" in text_of(await caller.call("near__write"))
            assert "is pending" in text_of(await caller.call("far__echo"))

    anyio.run(converse)


def test_two_clients(place: Place) -> None:
    """Two gateways on one space: each call of both is judged, a switch reaches both, one log."""
    bound = f"test={place.folder / 'test.toml'}"
    serving = [str(HERE / "serving.py"), str(place.store.path), SPACE, bound]
    command = server(place, "test", "plain").command

    async def converse() -> None:
        async with AsyncExitStack() as stack:
            callers = [
                await stack.enter_async_context(
                    client_of(
                        StdioServerParameters(
                            command=sys.executable, args=[*serving, *command], env=dict(os.environ)
                        ),
                        mode,
                    )
                )
                for mode in ("auto", "legacy")
            ]
            texts: list[str] = []

            async def calls(which: int) -> None:
                for i in range(15):
                    told = await callers[which].call("echo", f"{which} {i}")
                    texts.append(text_of(told))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(calls, 0)
                tasks.start_soon(calls, 1)
            assert sorted(texts) == sorted(
                str({"text": f"{which} {i}"}) for which in (0, 1) for i in range(15)
            )
            asked = [await c.call("write", "w") for c in callers]
            ids = {(a.structured_content or {})["approval"] for a in asked}
            assert len(ids) == 2  # an approval is of one conversation
            now = datetime.now(UTC)
            place.store.spaces.set_mode(SPACE, "plan", by=OPERATOR, why="", now=now)
            for caller in callers:
                assert "plan mode refused `write`" in text_of(await caller.call("write", "w"))
                await until(lambda caller=caller: bool(caller.news))  # type: ignore[misc]

    anyio.run(converse)
    decisions = place.store.log.read(kinds=("decision",))
    assert len(decisions) == 34
    assert len({e.conversation for e in decisions}) == 2
    assert place.store.log.verify().ok


WHOLE = """
[servers.git]
command = ["mcp-server-git", "--flag"]
catalog = "mcp-git"

[servers.mine]
command = ["node", "x.js"]
catalog = "mine.toml"
trusted = true

[servers.bare]
command = ["x"]
"""


def test_file(tmp_path: Path) -> None:
    """A file says of each server what starts it; its paths begin where it lies."""
    path = tmp_path / "servers.toml"
    path.write_text(WHOLE)
    git, mine, bare = load_servers(path, {"bare": "/elsewhere.toml", "git": "/not/this.toml"})

    assert (git.name, git.command, git.catalog) == ("git", ("mcp-server-git", "--flag"), "mcp-git")
    assert (mine.catalog, mine.trusted) == (str(tmp_path / "mine.toml"), True)
    assert (bare.catalog, bare.trusted) == ("/elsewhere.toml", False)
    assert "[servers.bare]" in load_servers(path)[2].advice


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", ["no-servers"]),
        ("[servers.a]\n", ["missing-key"]),
        ("[servers.a]\ncommand = []\n", ["server-command"]),
        ('[servers.a]\ncommand = [""]\n', ["server-command"]),
        ('[servers.a]\ncommand = "npx x"\n', ["wrong-type"]),
        ('[servers.a]\ncommand = ["x"]\ntrusted = "true"\n', ["wrong-type"]),
        ('[servers.a]\ncommand = ["x"]\ntrust = true\n', ["unknown-key"]),
        ('[servers.remit]\ncommand = ["x"]\n', ["bad-source-name"]),
        ('[servers."a b"]\ncommand = []\n', ["bad-source-name", "server-command"]),
        ("[servers\n", ["toml-syntax"]),
        ('[servers.a]\ncommand = ["x"]\n[servers.a]\ncommand = ["y"]\n', ["duplicate-key"]),
    ],
)
def test_bad_file(tmp_path: Path, text: str, codes: list[str]) -> None:
    """Whatever is wrong with a file of servers is told with its place, and nothing is started."""
    path = tmp_path / "servers.toml"
    path.write_text(text)

    with pytest.raises(InputError) as caught:
        load_servers(path)

    assert [p.code for p in caught.value.problems] == codes
    assert all(p.where.file == str(path) for p in caught.value.problems)


ALL_WRONG = """
[servers.git]
comand = ["x"]
catalog = 3

[servers.group]
command = []

[servers."a b"]
command = "npx"
trusted = "yes"

[server.z]
command = ["x"]
"""


def test_bad_file_at_once(tmp_path: Path) -> None:
    """All that is wrong with a file is told in one go, by line, with what was meant."""
    path = tmp_path / "servers.toml"
    path.write_text(ALL_WRONG)

    with pytest.raises(InputError) as caught:
        load_servers(path)

    assert [(p.where.line, p.code) for p in caught.value.problems] == [
        (2, "missing-key"),
        (3, "unknown-key"),
        (4, "wrong-type"),
        (6, "bad-source-name"),
        (7, "server-command"),
        (9, "bad-source-name"),
        (10, "wrong-type"),
        (11, "wrong-type"),
        (13, "unknown-key"),
    ]
    hints = {p.path: p.hint for p in caught.value.problems}
    assert hints["servers.git.comand"] == "did you mean `command`"
    assert hints["server"] == "did you mean `servers`"
