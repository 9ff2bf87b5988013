"""From a live server to a catalogue, and what becomes of a tool that changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from remit.harness.engine import Engine
from remit.harness.gateway.servers import ServerSpec
from remit.harness.store import Store
from tests.cli.conftest import Remit
from tests.needs import need_module

TINY = Path(__file__).parents[1] / "harness" / "gateway" / "servers" / "tiny.py"


def command(folder: Path, manner: str) -> tuple[str, ...]:
    """How the tiny server is started."""
    return (sys.executable, str(TINY), str(folder / "notes"), manner)


@pytest.fixture(autouse=True)
def parts() -> None:
    """What learning stands on."""
    need_module("mcp")


def surface(workspace: dict[str, str], path: Path, server: tuple[str, ...]) -> dict[str, Any]:
    """Stand in front of a server once; return its tools, and what was told."""
    import anyio

    from remit.harness.gateway.run import compose
    from tests.harness.gateway.rig import calling

    problems: list[Any] = []
    with Store.open(workspace["db"]) as store:
        spec = ServerSpec("desk", server, str(path))
        gateway = compose(store, Engine.load(), "s", [spec], report=problems.append)

        async def look() -> None:
            async with calling(gateway, "legacy") as caller:
                await caller.names()

        anyio.run(look)
        session = gateway.judge.session.catalog
        return {"tools": {t.name: t for t in session.tools}, "problems": problems}


def test_a_tools_life(remit: Remit, workspace: dict[str, str], tmp_path: Path) -> None:
    """Learnt, declared, changed, seen, reviewed and trusted: a tool is used as it was reviewed."""
    path = tmp_path / "desk.toml"
    first = command(tmp_path, "plain:Says it back.")
    second = command(tmp_path, "plain:Sends it on.")
    lines = ["- description: Says it back.", "+ description: Sends it on."]

    said = remit("catalog", "learn", "--out", path, "--json", "--", *first)
    assert said.code == 0, said.err
    assert said.json == {"file": str(path), "source": "desk", "tools": ["echo", "write"]}
    assert all(not row["declared"] for row in remit("catalog", path, "--json").json)
    again = remit("catalog", "learn", "--out", path, "--", *first)
    assert (again.code, "is there already" in again.err) == (2, True)

    text = path.read_text()
    suggestion = '# tier = "read"\n# effects = [\n#     "network.egress",\n# ]'
    declared = text.replace(suggestion, 'tier = "read"\neffects = []  # it reaches nothing')
    assert declared != text
    path.write_text(declared)
    remit("space", "create", "s")
    seen = surface(workspace, path, first)
    assert seen["tools"]["echo"].declared
    assert not seen["tools"]["write"].declared

    for _ in range(2):  # the second gateway tells it too, and the log holds it once
        seen = surface(workspace, path, second)
        assert not seen["tools"]["echo"].declared
        (changed,) = [p for p in seen["problems"] if p.code == "tool-changed"]
        assert "its description is not as reviewed" in changed.message
        assert all(line in changed.hint for line in lines)
    rows = {row["name"]: row for row in remit("catalog", path, "--json").json}
    assert rows["echo"]["changed"] == lines
    assert rows["write"]["changed"] is None
    assert "changed, so undeclared" in remit("catalog", path).out

    trusted = remit("catalog", "trust", "desk:echo", "--json")
    assert trusted.code == 0, trusted.err
    assert [row["tool"] for row in trusted.json] == ["echo"]
    assert "+ description: Sends it on." in trusted.err
    assert "effects = []  # it reaches nothing" in path.read_text()
    assert surface(workspace, path, second)["tools"]["echo"].declared
    assert not surface(workspace, path, first)["tools"]["echo"].declared
    kinds = [e["kind"] for e in remit("log", "--json").json if e["kind"].startswith("tool.")]
    assert kinds == ["tool.changed", "tool.trusted", "tool.changed"]
    assert remit("log", "verify").code == 0


def test_trust_needs_the_operator(
    remit: Remit, workspace: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else reviews."""
    monkeypatch.delenv("REMIT_OPERATOR")
    said = remit("catalog", "trust", "desk")
    assert (said.code, said.out) == (2, "")
    assert "operator" in said.err


def test_nothing_to_trust(remit: Remit, workspace: dict[str, str]) -> None:
    """Where no change was seen there is nothing to take."""
    said = remit("catalog", "trust", "desk")
    assert said.code == 2
    assert "no change of `desk` waits" in said.err


@pytest.mark.parametrize(
    ("out", "server", "code", "told"),
    [
        ("desk.toml", ("/nowhere/server",), 3, "could not be started"),
        ("desk.toml", (sys.executable, "-c", "raise SystemExit(4)"), 3, "exited with status 4"),
        ("desk.json", ("true",), 2, "`.toml`"),
        ("remit.toml", ("true",), 2, "source name"),
        ("nowhere/desk.toml", (sys.executable, str(TINY), "{notes}", "plain"), 2, "written"),
    ],
)
def test_wrong(
    remit: Remit, tmp_path: Path, out: str, server: tuple[str, ...], code: int, told: str
) -> None:
    """What cannot be learnt is said, and no file is left."""
    path = tmp_path / out
    started = [part.format(notes=tmp_path / "notes") for part in server]
    said = remit("catalog", "learn", "--out", path, "--", *started)

    assert (said.code, said.out) == (code, "")
    assert told in said.err
    assert not path.exists()


def test_force(remit: Remit, tmp_path: Path) -> None:
    """A file that is there is written over where that is said."""
    path = tmp_path / "desk.toml"
    path.write_text("mine")
    said = remit("catalog", "learn", "--force", "--out", path, "--", *command(tmp_path, "plain"))
    assert said.code == 0
    assert "[tools.echo]" in path.read_text()
