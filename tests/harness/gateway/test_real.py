"""Servers that others wrote, as they are installed: what they say fits what is shipped for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from remit.harness.gateway.servers import ServerSpec
from remit.harness.store import OPERATOR
from remit.policy.vocabulary import Dial
from tests.harness.gateway.rig import SPACE, Caller, Place, calling, text_of, until
from tests.needs import need, need_module, need_npm

ORGANISATION = "@modelcontextprotocol"


def python(module: str) -> tuple[str, ...]:
    """A server from the package index."""
    need_module(module)
    return (sys.executable, "-m", module)


def npm(name: str) -> tuple[str, ...]:
    """A server from npm."""
    folder = need_npm(f"{ORGANISATION}/server-{name}")
    return (need("node", debian="nodejs"), str(folder / "dist" / "index.js"))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A workspace with a space in chat."""
    place = Place.make(tmp_path)
    yield place
    place.store.close()


def switch(place: Place, mode: str) -> None:
    from datetime import UTC, datetime

    place.store.spaces.set_mode(SPACE, mode, by=OPERATOR, why="", now=datetime.now(UTC))


def converse(
    place: Place, servers: list[ServerSpec], mode: str, talk: Callable[[Caller], Any], **client: Any
) -> None:
    """Hold one conversation; no tool of a server that a catalogue is shipped for is undeclared."""

    async def main() -> None:
        gateway = place.gateways(*servers, elicit=True)
        async with calling(gateway, mode, **client) as caller:
            await talk(caller)
        told = {p.code for p in place.problems}
        assert not told & {"tool-undeclared", "tool-annotated", "server-down", "server-unbound"}

    anyio.run(main)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_python_servers(place: Place, tmp_path: Path, mode: str) -> None:
    """Git, time and fetch behind one gateway: reading goes on in plan mode, writing does not."""
    repository = tmp_path / "repository"
    subprocess.run([need("git"), "init", "-q", str(repository)], check=True)
    (repository / "a.txt").write_text("one\n")
    servers = [
        ServerSpec("git", python("mcp_server_git"), "mcp-git"),
        ServerSpec("time", python("mcp_server_time"), "mcp-time"),
        ServerSpec("fetch", python("mcp_server_fetch"), "mcp-fetch"),
    ]

    async def talk(caller: Caller) -> None:
        names = await caller.names()
        assert {"git_status", "git_commit", "get_current_time", "fetch"} <= set(names)
        assert not any("__" in name for name in names)
        where = {"repo_path": str(repository)}
        assert "a.txt" in text_of(await caller.call("git_status", **where))
        assert "is pending" in text_of(await caller.call("git_add", **where, files=["a.txt"]))
        assert "timezone" in text_of(await caller.call("get_current_time", timezone="UTC"))
        switch(place, "plan")
        names = await caller.names()
        assert {"git_status", "fetch", "submit_plan"} <= set(names)
        assert "git_add" not in names
        assert "a.txt" in text_of(await caller.call("git_status", **where))
        refused = text_of(await caller.call("git_add", **where, files=["a.txt"]))
        assert "plan mode refused `git_add`" in refused

    converse(place, servers, mode, talk)
    listed = subprocess.run(
        ["git", "-C", str(repository), "diff", "--cached", "--name-only"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert listed.stdout == ""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_everything(place: Place, mode: str) -> None:
    """The server to try clients with: resources, prompts, completion, questions, large results."""
    catalog = place.folder / "everything.toml"
    from remit.profiles.catalogs import load_catalog
    from remit.profiles.writer import write_catalog

    shipped = write_catalog(load_catalog("mcp-everything"))
    requests = "".join(
        f'\n[tools."{name}"]\ntier = "read"\neffects = []\n'
        for name in ("resources/read", "prompts/get", "completion/complete")
    )
    catalog.write_text(shipped + requests)
    asked: list[str] = []

    async def fill(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="decline")

    async def talk(caller: Caller) -> None:
        it = caller.client
        assert "Echo: hi" in text_of(await caller.call("echo", message="hi"))
        assert "5" in text_of(await caller.call("get-sum", a=2, b=3))
        structured = await caller.call("get-structured-content", location="New York")
        assert structured.structured_content is not None
        (image,) = [b for b in (await caller.call("get-tiny-image")).content if b.type == "image"]
        assert image.mime_type == "image/png"
        resources = (await it.list_resources()).resources
        assert resources
        (read,) = (await it.read_resource(resources[0].uri)).contents
        assert read.uri == resources[0].uri
        prompts = {p.name for p in (await it.list_prompts()).prompts}
        assert "simple-prompt" in prompts
        assert (await it.get_prompt("simple-prompt")).messages
        done: list[float] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            done.append(progress)

        args = {"duration": 0.3, "steps": 3}
        long = "trigger-long-running-operation"
        await it.call_tool(long, args, progress_callback=on_progress)
        await until(lambda: len(done) == 3)
        declined = text_of(await caller.call("trigger-elicitation-request"))
        assert "declined" in declined.lower()
        assert asked[-1].startswith("The server `everything` asks: ")
        switch(place, "plan")
        names = set(await caller.names())
        assert "echo" in names
        assert (await it.list_resources()).resources == resources

    spec = ServerSpec("everything", (*npm("everything"), "stdio"), str(catalog))
    converse(place, [spec], mode, talk, elicitation_callback=fill)


def test_filesystem(place: Place, tmp_path: Path) -> None:
    """Files: a path outside is judged as outside, what is protected is refused, plan only reads."""
    worktree = tmp_path / "worktree"
    worktree.mkdir()
    (worktree / "a.txt").write_text("one\n")
    spec = ServerSpec("fs", (*npm("filesystem"), str(tmp_path)), "mcp-filesystem")

    async def talk(caller: Caller) -> None:
        path = str(worktree / "a.txt")
        assert text_of(await caller.call("read_text_file", path=path)).strip() == "one"
        write = {"path": path, "content": "two"}
        assert "is pending" in text_of(await caller.call("write_file", **write))
        switch(place, "plan")
        assert "write_file" not in await caller.names()
        refused = text_of(await caller.call("write_file", **write))
        assert "plan mode refused `write_file`" in refused
        with pytest.raises(MCPError):
            await caller.client.list_resources()  # it has none, so none are claimed

    place.store.spaces.set_dial(SPACE, Dial.ASK, by=OPERATOR, now=_now())
    converse(place, [spec], "legacy", talk)
    assert (worktree / "a.txt").read_text() == "one\n"


def _now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)
