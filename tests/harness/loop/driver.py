"""A conversation with a scripted model, and an operator beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic_ai.models import Model

from remit.harness.loop.belt import Station
from remit.harness.loop.events import Event, What
from remit.harness.loop.loop import Ended, Loop
from remit.harness.loop.scripted import Script, ScriptedCall, ScriptedTurn, ScriptFile, scripted
from remit.harness.loop.servers import Servers
from remit.harness.store import ApprovalState
from remit.harness.workspace import OpenSpace


def call(tool: str, **args: Any) -> ScriptedCall:
    return ScriptedCall(tool, args)


def says(*what: str | ScriptedCall, **more: Any) -> ScriptedTurn:
    text = "".join(w for w in what if isinstance(w, str))
    return ScriptedTurn(text, tuple(w for w in what if isinstance(w, ScriptedCall)), **more)


class Chat:
    """A conversation with a scripted model, and an operator beside it."""

    def __init__(self, space: OpenSpace, tmp_path: Path) -> None:
        self.space, self.at = space, space.workspace
        self.folder = tmp_path / "chats"
        self.scratch = tmp_path / "scratch"
        self.scratch.mkdir(exist_ok=True)
        self.events: list[Event] = []
        self._acts: dict[What, Callable[[Event], object]] = {}
        #: What the operator does about requests, by their kind.
        self.operator: dict[str, Callable[[str], None]] = {}
        self.servers: Servers | None = None
        #: Makes the model that follows a script.
        self.model: Callable[[ScriptFile], Model] = scripted

    def loop(self, *turns: ScriptedTurn, scripts: tuple[Script, ...] = (), id: str = "c") -> Loop:
        host = self.at.host
        station = Station(self.space.state.worktree, host.protected, host.secret, str(self.scratch))
        model = self.model(ScriptFile(turns, scripts))
        return Loop(
            self.space.conversation(id),
            model,
            station,
            self.folder,
            self._hear,
            servers=self.servers,
        )

    def run(self, *turns: ScriptedTurn, prompt: str = "go", **more: Any) -> Ended:
        loop = self.loop(*turns, **more)

        async def answered() -> Ended:
            async with loop.ready():
                return await loop.turn(prompt)

        return asyncio.run(answered())

    def on(self, what: What, act: Callable[[Event], object]) -> None:
        """Do something once, when this happens first."""
        self._acts[what] = act

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        if event.what in self._acts:
            self._acts.pop(event.what)(event)
        if event.what is What.WAITING:
            act = self.operator.get(event.data["kind"])
            if act is not None:
                act(event.data["approval"])

    def decide(self, approve: bool = True, feedback: str | None = None) -> Callable[[str], None]:
        return lambda id: self._decide(id, approve, feedback)

    def _decide(self, id: str, approve: bool, feedback: str | None) -> None:
        now = self.at.clock()
        self.at.store.approvals.decide(id, approve, by="operator", now=now, feedback=feedback)

    def said(self, what: What) -> list[str]:
        return [e.text for e in self.events if e.what is what]

    def results(self) -> list[str]:
        return self.said(What.RESULT)

    def pending(self) -> list[str]:
        now = self.at.clock()
        return [a.id for a in self.at.store.approvals.list(now=now, state=ApprovalState.PENDING)]
