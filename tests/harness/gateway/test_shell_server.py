"""The example shell server: alone, and behind the gateway in the mode `explore`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from remit.harness.engine import Engine
from remit.harness.gateway.run import compose
from remit.harness.gateway.servers import ServerSpec
from remit.harness.location import Location
from remit.harness.sandbox.box import choose
from remit.harness.sandbox.survey import ground
from remit.harness.store import SYSTEM, Store
from remit.policy.places import Ground
from tests.harness.gateway.rig import SPACE, calling, text_of
from tests.needs import need

SERVER = Path(__file__).parents[3] / "docs" / "examples" / "shell-server" / "server.py"
READ = {
    "cat a.txt": "content",
    "grep -rn 'rm -rf' . | wc -l": "0",
    "git log --oneline -1": "Begin",
    "cd sub && pwd; ls -a": "sub",
    "echo 'rm -rf /' # > a.txt": "rm -rf /",
}
REFUSED = {
    "rm a.txt": "file.delete",
    "echo x > a.txt": "worktree.write",
    "bash -c 'sed -i s/c/d/ a.txt'": "worktree.write",
    "find . -name '*.txt' -exec rm {} +": "file.delete",
    "git -C . commit -q --allow-empty -m x": "git.commit",
    "touch ../outside": "file.write_outside",
    "./run.sh": "process.spawn",
    "python3 -c 'print(1)'": "process.spawn",
    "frobnicate --all": "process.spawn",
    "kill 1": "could not be read",
}


def state(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """A small repository."""
    tree = tmp_path / "work" / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "a.txt").write_text("content\n")
    (tree / "run.sh").write_text("#!/bin/sh\ntouch ran\n")
    (tree / "run.sh").chmod(0o755)
    git = [need("git"), "-C", str(tree), "-c", "user.name=A", "-c", "user.email=a@x.test"]
    subprocess.run([git[0], "init", "-q", str(tree)], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Begin"], check=True)
    return tree


@pytest.fixture
def store(tmp_path: Path, worktree: Path) -> Iterator[Store]:
    """A workspace with one space in `explore`."""
    now = datetime.now(UTC)
    store = Store.open(tmp_path / "remit.db", create=now)
    store.spaces.create(SPACE, "explore", by=SYSTEM, now=now, worktree=str(worktree))
    with store:
        yield store


def test_alone(worktree: Path) -> None:
    """It runs what it is told and guards nothing: that is the gateway's part."""

    async def main() -> None:
        start = StdioServerParameters(command=sys.executable, args=[str(SERVER)], cwd=worktree)
        async with Client(stdio_client(start)) as client:
            (tool,) = (await client.list_tools()).tools
            assert tool.name == "shell"
            said = text_of(await client.call_tool("shell", {"command": "cat a.txt; rm a.txt"}))
            assert said == "content\n\n[exit code 0]"
            said = text_of(await client.call_tool("shell", {"command": "exit 3", "cwd": "sub"}))
            assert said.endswith("[exit code 3]")

    anyio.run(main)
    assert not (worktree / "a.txt").exists()


@pytest.mark.parametrize("backend", ["none", "auto"])
def test_explored(
    backend: str, tmp_path: Path, worktree: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reads runs; what writes or cannot be read is refused, and nothing is changed."""
    monkeypatch.chdir(worktree)
    command = (sys.executable, str(SERVER))
    place = Location(tmp_path / "home", tmp_path / "config", tmp_path, str(store.path))

    def survey(command: Sequence[str], environment: Mapping[str, str]) -> Ground:
        return ground(place, worktree, tuple(command), environment)

    gateway = compose(
        store, Engine.load(), SPACE, [ServerSpec("box", command, "remit-shell")],
        backend=choose(backend), survey=survey, report=lambda _: None,
    )  # fmt: skip
    before = state(worktree.parent)

    async def main() -> None:
        async with calling(gateway, "auto") as caller:
            assert "shell" in await caller.names()
            for line, shown in READ.items():
                result = await caller.call("shell", command=line)
                assert not result.is_error, text_of(result)
                assert shown in text_of(result), line
            for line, cause in REFUSED.items():
                result = await caller.call("shell", command=line)
                assert result.is_error, line
                assert "explore mode refused `shell`" in text_of(result)
                assert cause in text_of(result), (line, text_of(result))

    anyio.run(main)
    assert state(worktree.parent) == before
