"""The gateway as a process of its own, on real pipes: how it ends, and a real server behind it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters

from remit.harness.store import OPERATOR
from tests.harness.gateway.rig import HERE, SPACE, Place, client_of, gone, text_of
from tests.needs import need, need_module

TINY = str(HERE / "servers" / "tiny.py")
OPENING = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A workspace with a space in chat."""
    place = Place.make(tmp_path)
    yield place
    place.store.close()


def _command(place: Place, bound: str, *server: str) -> list[str]:
    serving = str(HERE / "serving.py")
    return [sys.executable, serving, str(place.store.path), SPACE, bound, *server]


def _opened(place: Place, manner: str) -> subprocess.Popen[bytes]:
    """Start a gateway and list, by hand."""
    bound = f"test={place.folder / 'test.toml'}"
    command = _command(place, bound, sys.executable, TINY, str(place.folder / "notes"), manner)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(OPENING)
    process.stdin.flush()
    assert b'"protocolVersion"' in process.stdout.readline()
    assert b'"echo"' in process.stdout.readline()
    return process


CASES = [
    ("text", b"this is no message", -32700, None),
    ("half a letter", b'{"jsonrpc":"2.0","id":7,"method":"\\ud800"}', -32700, None),
    ("not UTF-8", b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', -32700, None),
    ("deep", b"[" * 3000 + b"]" * 3000, -32700, None),
    ("deep params", b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":%s}}'
     % (b"[" * 3000 + b"]" * 3000), -32700, None),
    ("long number", b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % (b"9" * 5000), -32700, None),
    ("batch", b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', -32600, None),
    ("no object", b'"ping"', -32600, None),
    ("null", b"null", -32600, None),
    ("list as params", b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', -32600, 7),
    ("older version", b'{"jsonrpc":"1.0","id":"a","method":"ping"}', -32600, "a"),
    ("no version", b'{"id":7,"method":"ping"}', -32600, 7),
    ("no method", b'{"jsonrpc":"2.0","id":7}', -32600, 7),
    ("odd id", b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
    ("no id at all", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
]  # fmt: skip


def test_garbage(place: Place, subtests: pytest.Subtests) -> None:
    """What is no message is answered with the error of JSON-RPC, and the next one is served."""
    process = _opened(place, "plain")
    assert process.stdin is not None
    assert process.stdout is not None
    for what, line, code, id in CASES:
        with subtests.test(what):
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert (answer["error"]["code"], answer.get("id", "")) == (code, id)
    ping = b'{"jsonrpc":"2.0","id":99,"method":"ping"}\n'
    process.stdin.write(b'{"jsonrpc":"2.0","id":8,"result":3}\n' + ping)
    process.stdin.flush()
    assert json.loads(process.stdout.readline()) == {"jsonrpc": "2.0", "id": 99, "result": {}}
    process.communicate(timeout=20)


def test_leaving(place: Place) -> None:
    """When the client closes its end, gateway and server end, with no word on standard error."""
    process = _opened(place, "plain")
    out, err = process.communicate(b"this is no message\n", timeout=20)
    assert process.returncode == 0
    assert out.count(b"\n") == 1
    assert err.decode().splitlines() == [
        "remit gateway: error: the client sent `this is no message`, which is no message "
        "[client-garbage]"
    ]
    assert gone(place)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_signal(place: Place, number: signal.Signals) -> None:
    """A signal ends gateway and server though the client keeps its end open and a call runs."""
    process = _opened(place, "silent")
    assert process.stdin is not None
    call = b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}\n'
    process.stdin.write(call)
    process.stdin.flush()
    while 'tools/call "echo"' not in place.notes:
        time.sleep(0.02)
    process.send_signal(number)
    process.wait(20)
    _, err = process.communicate()
    assert process.returncode == 0
    assert b"Traceback" not in err
    assert gone(place)


def test_real_server(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """mcp-server-git in plan: reads, cannot commit, and runs no helper of the repository."""
    need("git")
    need_module("mcp_server_git")
    repository = _repository(place.folder, monkeypatch)
    now = datetime.now(UTC)
    place.store.spaces.set_mode(SPACE, "plan", by=OPERATOR, why="", now=now)
    server = ("-m", "mcp_server_git", "--repository", str(repository))
    command, *args = _command(place, "git=mcp-git", sys.executable, *server)
    where: dict[str, Any] = {"repo_path": str(repository)}
    head = _git(repository, "rev-parse", "HEAD")

    async def converse() -> None:
        transport = StdioServerParameters(command=command, args=args, env=dict(os.environ))
        async with client_of(transport, "auto") as caller:
            names = await caller.names()
            assert {"git_log", "git_diff_unstaged", "submit_plan"} <= set(names)
            assert {"git_add", "git_commit"}.isdisjoint(names)
            assert "+more" in text_of(await caller.call("git_diff_unstaged", **where))
            assert "first" in text_of(await caller.call("git_log", **where))
            refused = await caller.call("git_commit", message="no", **where)
            assert refused.is_error
            assert "plan mode refused `git_commit`" in text_of(refused)

    anyio.run(converse)
    assert _git(repository, "rev-parse", "HEAD") == head
    assert not (place.folder / "helped").exists()


def _git(repository: Path, *args: str) -> str:
    command = ("git", "-C", str(repository), *args)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, a change, and helpers that leave a file when they run."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "a@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    repository = folder / "repository"
    _git(folder, "init", "-q", str(repository))
    (repository / "a.txt").write_text("text\n")
    (repository / ".gitattributes").write_text("*.txt diff=helped\n")
    _git(repository, "add", ".")
    _git(repository, "commit", "-qm", "first")
    helper = folder / "helper"
    helper.write_text(f'#!/bin/sh\ntouch {folder}/helped\ncat "$1"\n')
    helper.chmod(0o755)
    for key in ("core.fsmonitor", "diff.helped.textconv", "diff.external"):
        _git(repository, "config", key, str(helper))
    with (repository / "a.txt").open("a") as file:
        file.write("more\n")
    return repository
