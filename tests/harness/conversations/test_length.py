"""What a turn costs does not grow with its conversation, counted in statements and their work."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remit.harness.workspace import Workspace
from remit.policy.announce import Message

AT = datetime(2026, 12, 1, tzinfo=UTC)


def cost(folder: Path, records: int) -> tuple[list[str], int]:
    """The statements of a turn with a marker and a notice, and the steps of SQLite's machine."""
    home = {"REMIT_HOME": str(folder), "HOME": str(folder)}
    with Workspace.open(create=True, environ=home, clock=lambda: AT) as at:
        space = at.create_space("s", by="operator")
        talk, tools = space.conversation("c"), at.engine.catalogs(["mcp-git"])
        body = {"verdict": "allow", "tool": "x"}
        with at.store.log.writing(AT) as writer:
            for n in range(records):
                to = {"conversation": "c"} if n % 2 else {"conversation": "other"}
                writer.record("decision", body, actor="agent:c", space="s", **to)

        def turn() -> list[str]:
            said: list[Message] = []
            with talk.turn() as turn:
                said += turn.step(tools).notices
                space.set("plan", by="operator")
                said += turn.step(tools).notices
            with talk.turn() as turn:
                said += turn.step(tools).notices
            space.set("chat", by="operator")
            with talk.turn() as turn:
                said += turn.step(tools).notices
            return [m.what for m in said]

        turn()
        database: Any = at.store._database
        connection = database.peewee.connection()
        statements: list[str] = []
        work = [0]

        def stepped() -> None:
            work[0] += 1

        connection.set_trace_callback(lambda sql: statements.append(sql.split("(")[0][:40]))
        connection.set_progress_handler(stepped, 10)
        try:
            assert turn() == ["notice", "marker", "transition"]
        finally:
            connection.set_trace_callback(None)
            connection.set_progress_handler(None, 10)
    return statements, work[0]


def test_a_turn_costs_the_same(tmp_path: Path) -> None:
    """S001-13: marker, notice and transition are O(1) in the length of the conversation."""
    short, little = cost(tmp_path / "short", 10)
    long, much = cost(tmp_path / "long", 10_000)

    assert long == short
    assert much <= little * 1.05
