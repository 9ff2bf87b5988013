from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from remit.harness.session import Answer, Run
from remit.policy.tools import Call
from tests.cli.conftest import Remit
from tests.needs import need, need_module

if TYPE_CHECKING:
    from remit.harness.gateway.server import Gateway

#: A server that ends at once.
SERVER = ("--", sys.executable, "-c", "raise SystemExit")


@pytest.fixture(autouse=True)
def parts() -> None:
    """What a gateway stands on."""
    need_module("mcp")


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--space", "deks"), 2, "`desk`"),
        (("--space", "desk", "--server", "git"), 2, "NAME=CATALOG"),
        (("--space", "desk", "--server", "=mcp-git"), 2, "NAME=CATALOG"),
        (("--space", "desk", "--server", "git=mcp-gti"), 2, "`mcp-git`"),
        (("--space", "desk", "--server", "remit=mcp-git"), 2, "`remit`"),
        (("--space", "desk", "--sandbox", "bwarp"), 2, "`bwarp`"),
        (("--space", "desk", "--servers", "/nowhere.toml"), 2, "both say which server"),
        (("--space", "desk", "--config", "/nowhere"), 2, "`/nowhere`"),
        (("--space", "desk", "--db", "/nowhere/remit.db"), 3, "remit init"),
    ],
)
def test_wrong(
    remit: Remit, workspace: dict[str, str], options: tuple[str, ...], code: int, told: str
) -> None:
    """A gateway that was told something wrong starts nothing, and says what."""
    remit("space", "create", "desk")
    here = {"--db": workspace["db"], "--config": workspace["config"]}
    rest = [part for pair in here.items() if pair[0] not in options for part in pair]

    said = remit("gateway", *options, *rest, *SERVER)

    assert (said.code, said.out) == (code, "")
    assert told in said.err


@pytest.mark.parametrize("variable", ["REMIT_HOME", "REMIT_DB", "HOME"])
def test_environment(
    remit: Remit,
    workspace: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    """No variable leads a gateway to a workspace: its environment is the agent's."""
    remit("space", "create", "desk")
    monkeypatch.setenv(variable, workspace["db"] if variable == "REMIT_DB" else workspace["config"])
    monkeypatch.setattr("pwd.getpwuid", lambda _: type("Nobody", (), {"pw_dir": "/nonexistent"}))

    said = remit("gateway", "--space", "desk", *SERVER)

    assert said.code == 3
    assert "/nonexistent/" in said.err


def test_secrets(remit: Remit, workspace: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the gateway no tool reads the operator token, and none changes the configuration."""
    remit("space", "create", "desk")
    config = f"{workspace['config']}/remit.toml"
    answers: dict[str, Run | Answer] = {}

    def serve(_: object, gateway: Gateway, *__: object) -> None:
        session = gateway.judge.session
        session.set_catalog(session.engine.catalogs(["mcp-filesystem"]))
        for name, tool, path in (
            ("read token", "read_text_file", workspace["operator_token_file"]),
            ("read config", "read_text_file", config),
            ("write config", "write_file", config),
        ):
            answers[name] = session.call(session.frame(), Call(tool, {"path": path}))

    monkeypatch.setattr("remit.harness.gateway.run.anyio.run", serve)
    here = ("--db", workspace["db"], "--config", workspace["config"])

    said = remit("gateway", "--space", "desk", *here, *SERVER)

    assert said.code == 0
    assert isinstance(answers["read config"], Run)
    for name in ("read token", "write config"):
        assert "protected" in str(answers[name])


def test_without_mcp(
    remit: Remit, workspace: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `mcp` it says what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    said = remit("gateway", "--space", "desk", *SERVER)

    assert said.code == 3
    assert "pip install 'remit[mcp]'" in said.err


@pytest.mark.parametrize(("sandbox", "told"), [("none", True), ("auto", False)])
def test_programs_of_a_repository(
    remit: Remit,
    workspace: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    sandbox: str,
    told: bool,
) -> None:
    """Where no sandbox holds them, the programs that git would run are told at the start."""
    need("git")
    if sandbox != "none":
        need("bwrap", debian="bubblewrap")
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    subprocess.run(["git", "-C", tmp_path, "config", "filter.x.smudge", "run-me"], check=True)
    remit("space", "create", "desk", "--worktree", tmp_path)
    monkeypatch.setattr("remit.harness.gateway.run.anyio.run", lambda *_: None)
    here = ("--db", workspace["db"], "--config", workspace["config"], "--sandbox", sandbox)

    said = remit("gateway", "--space", "desk", *here, *SERVER)

    assert said.code == 0
    assert ("`filter.x.smudge` = `run-me`" in said.err) is told


@pytest.mark.parametrize("program", ["no-such-server", "/nowhere/server", sys.executable])
def test_missing_program(
    remit: Remit, workspace: dict[str, str], monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """A program that is not there is told at the start, before any client has greeted."""
    remit("space", "create", "desk")
    monkeypatch.setattr("remit.harness.gateway.run.anyio.run", lambda *_: None)
    here = ("--db", workspace["db"], "--config", workspace["config"])

    said = remit("gateway", "--space", "desk", *here, "--", program)

    assert said.code == 0
    told = f"cannot be started: there is no program `{program}`" in said.err
    assert told is (program != sys.executable)


def test_sandbox_without_a_worktree(
    remit: Remit, workspace: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sandbox of a space that has no worktree says that nothing can be written in it."""
    need("bwrap", debian="bubblewrap")
    remit("space", "create", "desk")
    monkeypatch.setattr("remit.harness.gateway.run.anyio.run", lambda *_: None)
    here = ("--db", workspace["db"], "--config", workspace["config"])

    assert (
        "has no worktree"
        in remit("gateway", "--space", "desk", *here, "--sandbox", "auto", *SERVER).err
    )
    assert "has no worktree" not in remit("gateway", "--space", "desk", *here, *SERVER).err
