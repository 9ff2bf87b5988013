"""A workspace, a gateway in this process with a real client, an operator in another process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

import anyio
import mcp_types as types
from attrs import define, field
from mcp import Client
from pydantic import BaseModel

from remit.harness.engine import Engine
from remit.harness.gateway.run import compose
from remit.harness.gateway.server import Gateway
from remit.harness.gateway.servers import ServerSpec
from remit.harness.store import SYSTEM, Store
from remit.policy.problems import Problem
from remit.policy.vocabulary import Dial

HERE = Path(__file__).parent
SERVER = str(HERE / "servers" / "server.py")
SPACE = "s"
#: Seconds after which a conversation fails, on however slow a machine.
LIMIT = 120

#: What the operator says of the server; `undeclared` and `grown` are not in it.
CATALOG = """
[tools.write]
tier = "write"
effects = ["worktree.write"]
""" + "".join(
    f'[tools.{name}]\ntier = "read"\neffects = []\n'
    for name in ("echo", "sloppy", "slow", "die", "grow", "env", "elicit", "never_listed")
)


@cache
def engine() -> Engine:
    """Load the built-in files once."""
    return Engine.load()


@define
class Place:
    """A workspace with one space in a folder, and what the test server notes."""

    folder: Path
    store: Store
    problems: list[Problem] = field(factory=list)

    @classmethod
    def make(cls, folder: Path, mode: str = "chat", dial: Dial = Dial.ASK) -> Self:
        """Make one; the server's notes go to a file that the environment names."""
        now = datetime.now(UTC)
        store = Store.open(folder / "remit.db", create=now)
        store.spaces.create(SPACE, mode, by=SYSTEM, now=now, dial=dial)
        (folder / "test.toml").write_text(CATALOG)
        (folder / "notes").write_text("")
        return cls(folder, store)

    @property
    def notes(self) -> list[str]:
        """The calls that reached the server."""
        return (self.folder / "notes").read_text().splitlines()

    def command(self, *args: str) -> tuple[str, ...]:
        """How the test server is started."""
        return (sys.executable, SERVER, str(self.folder / "notes"), *args)

    def gateway(self, *command: str, bound: bool = True, **more: Any) -> Gateway:
        """Compose a gateway in front of one server."""
        catalog = str(self.folder / "test.toml") if bound else None
        return self.gateways(ServerSpec("test", command, catalog), **more)

    def gateways(self, *servers: ServerSpec, **more: Any) -> Gateway:
        """Compose a gateway in front of servers."""
        return compose(self.store, engine(), SPACE, servers, report=self.problems.append, **more)

    @property
    def codes(self) -> list[str]:
        """The codes of the problems that were told on standard error."""
        return [p.code for p in self.problems]


@define
class Operator:
    """The operator's process; a command is done when its method returns."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls) -> Self:
        """Start it."""
        command = (sys.executable, str(HERE / "operating.py"))
        pipe = subprocess.PIPE
        return cls(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))

    def _do(self, place: Place, *words: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join((str(place.store.path), *words)) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def switch(self, place: Place, mode: str) -> None:
        """Give the space a mode."""
        self._do(place, "mode", SPACE, mode)

    def approve(self, place: Place, approval: str) -> None:
        """Approve."""
        self._do(place, "approve", approval)

    def stop(self) -> None:
        """End it."""
        self.process.communicate(timeout=10)


@asynccontextmanager
async def beside(gateway: Gateway) -> AsyncIterator[tuple[Any, Any]]:
    """Serve a gateway over streams in memory; a transport for a client."""
    to_gateway, from_client = anyio.create_memory_object_stream[Any](0)
    to_client, from_gateway = anyio.create_memory_object_stream[Any](0)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(gateway.serve, from_client, to_client)
            yield from_gateway, to_gateway
            to_gateway.close()
    finally:
        gateway.judge.close()


@define
class Caller:
    """A real client, and when it heard that the list of tools changed."""

    client: Client
    news: list[float] = field(factory=list)
    #: All that it was told besides answers.
    told: list[Any] = field(factory=list)

    async def names(self) -> list[str]:
        """List; return the names."""
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name: str, text: str = "", **args: Any) -> types.CallToolResult:
        """Call a tool."""
        return await self.client.call_tool(name, {"text": text} if text else args)

    async def raw(self, **params: Any) -> dict[str, Any]:
        """Send a call as it is and return its result as it came."""
        request = _Raw(method="tools/call", params=params)
        result = await self.client.session.send_request(request, _AsItCame)
        return result.model_dump()

    async def hears(self, kind: type, seconds: float = 5.0) -> Any:
        """Wait for a notification of a kind; return the last one."""
        await until(lambda: any(isinstance(one, kind) for one in self.told), seconds)
        return [one for one in self.told if isinstance(one, kind)][-1]

    async def heard(self, after: float, seconds: float = 5.0) -> float:
        """Wait for news that came after a moment; return how long it took."""
        await until(lambda: any(at >= after for at in self.news), seconds)
        return min(at for at in self.news if at >= after) - after


class _AsItCame(BaseModel, extra="allow"):
    pass


class _Raw(types.Request[dict[str, Any], str]):
    method: str
    params: dict[str, Any]


@asynccontextmanager
async def calling(gateway: Gateway, mode: str, **client: Any) -> AsyncIterator[Caller]:
    """Connect a client of an era (`auto` is modern) to a gateway; it listens for changes."""
    async with client_of(beside(gateway), mode, **client) as caller:
        yield caller


@asynccontextmanager
async def client_of(transport: Any, mode: str, **more: Any) -> AsyncIterator[Caller]:
    """Connect a client of an era to a transport; ``more`` is what else it can do."""
    news: list[float] = []
    told: list[Any] = []

    async def hear(message: Any) -> None:
        told.append(message)
        if isinstance(message, types.ToolListChangedNotification):
            news.append(time.monotonic())

    with anyio.fail_after(LIMIT):
        async with Client(transport, mode=mode, message_handler=hear, cache=None, **more) as client:
            caller = Caller(client, news, told)
            if mode == "legacy":
                yield caller
                return
            async with client.listen(
                tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ):
                yield caller


async def until(true: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for something to become true; fail if it does not."""
    with anyio.fail_after(seconds):
        while not true():
            await anyio.sleep(0.01)


def text_of(result: types.CallToolResult) -> str:
    """The text of a result, a block a line."""
    return "\n".join(b.text for b in result.content if isinstance(b, types.TextContent))


def gone(place: Place) -> bool:
    """Are all processes gone that the server noted, or dead and not yet collected."""
    for line in place.notes:
        if line.startswith("pid "):
            try:
                stat = Path("/proc", line.split()[1], "stat").read_text()
            except OSError:
                continue
            if stat.rpartition(")")[2].split()[0] != "Z":
                return False
    return True
