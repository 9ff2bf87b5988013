"""A workspace on PostgreSQL: every command takes its URL, and none shows the password in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Remit
from tests.server import PASSWORD, Server, name_of

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "a-workspace-on-postgresql.md"
SHOWN = "postgresql://remit@db.example/remit"


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    made = server.make()
    server.run("GRANT CREATE ON SCHEMA public TO guarded", name_of(made))
    yield server.over_network(name_of(made))
    server.drop(made)


def test_a_workspace_is_made_used_and_verified(
    remit: Remit, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `--db` or by `REMIT_DB`; the anchor and the token are this machine's own."""
    made = remit("init", "--db", url, "--json").json
    monkeypatch.setenv("REMIT_DB", url)
    monkeypatch.setenv("REMIT_OPERATOR", Path(made["operator_token_file"]).read_text())
    home = Path(os.environ["REMIT_HOME"])
    assert len(list((home / "anchors").iterdir())) == 1
    for command in (
        ("space", "create", "desk", "--mode", "plan"),
        ("space", "set", "desk", "chat"),
        ("space", "show", "desk"),
        ("log",),
        ("log", "verify"),
        ("log", "rebuild", "--check"),
        ("approvals", "list"),
        ("plans", "list"),
        ("grants", "list"),
    ):
        said = remit(*command)
        assert said.code == 0, command
        assert PASSWORD not in said.out + said.err
    doctor = remit("doctor", "--json")
    assert PASSWORD not in doctor.out + str(made)
    parts = {f["part"]: f["state"] for f in doctor.json}
    assert parts["database"] == parts["log"] == parts["PostgreSQL"] == "ok"


def test_the_page_on_it_says_what_works(
    remit: Remit, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command of remit's in the how-to runs, in its order."""
    token = Path(os.environ["REMIT_HOME"], "remit.db.operator")
    lines = [line.split() for line in PAGE.read_text().splitlines() if line.startswith("remit ")]
    assert len(lines) > 4
    for _, *words in lines:
        if token.exists():
            monkeypatch.setenv("REMIT_OPERATOR", token.read_text())
        assert SHOWN in words
        said = remit(*(url if word == SHOWN else word for word in words))
        assert said.code == 0, words


def test_a_follower_is_woken(remit: Remit, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`log --follow` prints what another process writes, as it is written."""
    made = remit("init", "--db", url, "--json").json
    monkeypatch.setenv("REMIT_OPERATOR", Path(made["operator_token_file"]).read_text())
    command = [sys.executable, "-m", "remit", "log", "--follow", "--json", "--db", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout
        assert json.loads(follower.stdout.readline())["kind"] == "workspace.made"
        remit("space", "create", "desk", "--db", url)
        assert json.loads(follower.stdout.readline())["kind"] == "space.made"
        follower.send_signal(signal.SIGINT)
    assert follower.returncode == 130


def test_a_server_that_is_away_is_told(remit: Remit) -> None:
    """Exit 3 as for every database that cannot be used, with what to do."""
    said = remit("space", "list", "--db", f"postgresql://a:{PASSWORD}@127.0.0.1:1/x")
    assert (said.code, said.out) == (3, "")
    assert "[store-unreachable]" in said.err
    assert "hint:" in said.err
    assert PASSWORD not in said.err
