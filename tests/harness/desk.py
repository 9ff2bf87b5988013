"""One space with one conversation in it, and the operator beside it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from remit.harness.engine import Engine
from remit.harness.session import Answer, Frame, Run, Session
from remit.harness.store import OPERATOR, ApprovalState, Overlay, Space, Store
from remit.policy.gate import Setting
from remit.policy.projection import Host
from remit.policy.tools import Call
from remit.policy.vocabulary import Dial, Verdict

START = datetime(2026, 11, 30, 12, tzinfo=UTC)
COMMIT = Call("mcp-git:git_commit", {"message": "rm -rf / is quoted"})
STATUS = Call("mcp-git:git_status", {"repo_path": "/repo"})


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


class Desk:
    """One space with one conversation in it, and the operator beside it."""

    def __init__(self, engine: Engine, store: Store, clock: Clock, mode: str, tree: Path) -> None:
        self.store, self.clock, self.tree = store, clock, tree
        store.spaces.create("s", mode, by=OPERATOR, now=START, worktree=str(tree))
        host = Host(
            "test",
            protected=(str(tree / ".git/hooks"), str(tree / ".remit")),
            secret=(str(store.path) + ".token",),
        )
        self.session = Session(engine, store, "s", "c1", host, clock)
        self.session.set_catalog(engine.catalogs(["mcp-git", "mcp-filesystem", "mcp-memory"]))

    def call(self, tool: str, **args: Any) -> Run | Answer:
        return self.session.call(self.session.frame(), Call(tool, args))

    def commit(self) -> Run | Answer:
        return self.session.call(self.session.frame(), COMMIT, "hash")

    def said(self, answer: Run | Answer) -> Answer:
        assert isinstance(answer, Answer)
        return answer

    def switch(self, mode: str) -> None:
        self.store.spaces.set_mode("s", mode, by=OPERATOR, why="test", now=self.clock())

    def decide(self, approve: bool, feedback: str | None = None) -> str:
        (pending,) = self.store.approvals.list(now=self.clock(), state=ApprovalState.PENDING)
        self.store.approvals.decide(
            pending.id, approve, by=OPERATOR, now=self.clock(), feedback=feedback
        )
        return pending.id

    def decisions(self) -> list[dict[str, Any]]:
        return [dict(e.body) for e in self.store.log.read(kinds=("decision",))]

    def frame(self) -> Frame:
        return self.session.frame()

    def later(self, frame: Frame, call: Call = COMMIT, tool_hash: str = "hash") -> Run | Answer:
        """Make a call of a step that began with this frame."""
        return self.session.call(frame, call, tool_hash)

    def dial(self, dial: Dial) -> Space:
        return self.store.spaces.set_dial("s", dial, by=OPERATOR, now=self.clock())

    def set(self, effect: str, verdict: Verdict, target: str | None = None) -> Space:
        setting = Setting(effect, verdict, target)
        return self.store.spaces.set_effect("s", setting, by=OPERATOR, now=self.clock())

    def overlay(self, text: str | None) -> Space:
        overlay = None if text is None else Overlay("/etc/overlay.toml", text)
        return self.store.spaces.set_overlay("s", overlay, by=OPERATOR, now=self.clock())

    def lock(self, locked: bool = True) -> Space:
        return self.store.spaces.set_lock("s", locked, by=OPERATOR, now=self.clock())
