from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

from remit.harness.engine import Engine
from remit.harness.session import Session
from remit.harness.store import OPERATOR, Store
from remit.plugins.hookspecs import hookimpl
from remit.policy.projection import Host, Judgement
from remit.policy.tools import Call

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_plugins_hear_of_decisions_and_switches(tmp_path: Path) -> None:
    """Observers hear each decision, and each switch once, with who made it."""
    heard: list[tuple[str, ...]] = []

    @hookimpl
    def mode_switched(space: str, mode: str, by: str) -> None:
        heard.append(("switched", space, mode, by))

    @hookimpl
    def decision_made(space: str, mode: str, judgement: Judgement) -> None:
        heard.append(("decided", mode, judgement.call.tool, judgement.decision.verdict))

    plugin = SimpleNamespace(mode_switched=mode_switched, decision_made=decision_made)
    engine = Engine.load(extra={"ears": plugin})
    with Store.open(tmp_path / "remit.db", create=NOW) as store:
        store.spaces.create("s", "chat", by=OPERATOR, now=NOW)
        session = Session(engine, store, "s", "c", Host("test"), lambda: NOW)
        session.frame()
        store.spaces.set_mode("s", "plan", by=OPERATOR, why="test", now=NOW)
        session.call(session.frame(), Call("mode"))
        session.frame()

    assert heard == [("switched", "s", "plan", "operator"), ("decided", "plan", "mode", "allow")]
