"""Acts of the built-in harness: its model follows a script, all else is as it always is."""

from __future__ import annotations

import importlib.util
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import tomli_w
from attrs import define, field

from remit.harness.demo.scene import Scene
from remit.harness.demo.teller import Teller, expect
from remit.harness.engine import Engine
from remit.harness.loop.events import Event, What
from remit.harness.sandbox.bubblewrap import BUBBLEWRAP
from remit.harness.store import ApprovalState, Store

__all__ = ["SPACE", "Talks"]

#: The space whose agent is the harness's own.
SPACE = "desk"
_PLAN = {
    "goal": "The fares are written down.",
    "nodes": [{"key": "fares", "title": "Write fares.txt", "description": "One line a fare."}],
}
#: Every way to write that a model can name, whether it is offered or not.
_WAYS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("write", {"path": "slip.txt", "content": "x\n"}),
    ("edit", {"path": "README.md", "old": "Ferry", "new": "Tram"}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: README.md\n*** End Patch\n"}),
    ("shell", {"command": "echo x > slip.txt; git commit -qam x"}),
    ("submit_plan", _PLAN),
    ("present_plan", {"title": "Slip", "plan": "# Slip"}),
    ("write_file", {"path": "slip.txt", "content": "x\n"}),
)


def _turn(say: str, *calls: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {"say": say, "calls": [{"tool": name, "args": dict(args)} for name, args in calls]}


@define
class Talks:
    """What is said in one space, each message in a conversation of its own."""

    scene: Scene
    tell: Teller
    store: Store
    operator: Callable[..., Awaitable[str]]
    #: The mode that is not limited, the one that plans.
    free: str
    planning: str
    _said: int = field(default=0, init=False)

    async def play(self) -> None:
        """Play all acts, where the harness is installed."""
        if importlib.util.find_spec("pydantic_ai") is None:
            self.tell.say("The built-in harness is not installed: `pip install 'remit[harness]'`")
            return
        await self._edits()
        await self._plans()
        await self._tries()

    async def _edits(self) -> None:
        self.tell.act(f"The built-in harness edits a file in {self.free} mode")
        await self.operator("space", "dial", SPACE, "accept-edits")
        await self._say(
            "The first boat north leaves at 06:50 now.",
            [
                _turn("I look at it.", ("read", {"path": "timetable.txt"})),
                _turn("", ("edit", {"path": "timetable.txt", "old": "07:00", "new": "06:50"})),
                _turn("It is changed."),
            ],
        )
        text = self._file("timetable.txt").read_text()
        expect(text.startswith("06:50 north\n"), f"the file is edited, it holds {text!r}")

    async def _plans(self) -> None:
        self.tell.act(f"In {self.planning} mode it is nudged to its plan, and implements it")
        await self.operator("space", "set", SPACE, self.planning)
        events = await self._say(
            "Write the fares down.",
            [
                _turn("I look first.", ("read", {"path": "README.md"})),
                _turn("One would write a file."),
                _turn("Then here is the plan.", ("submit_plan", _PLAN)),
                _turn("", ("write", {"path": "fares.txt", "content": "3.20 one way\n"})),
                _turn("The fares are written down."),
            ],
            decides=True,
        )
        nudges = [e for e in events if e.what is What.NUDGE]
        expect(len(nudges) == 1, f"a run without a plan is nudged once, got {len(nudges)}")
        turns = [e for e in events if e.what is What.TURN]
        expect(len(turns) == 1, "the plan is implemented in the turn that submitted it")
        expect(self._file("fares.txt").is_file(), "what was approved is on the disk")

    async def _tries(self) -> None:
        self.tell.act(f"A subagent of {self.planning} mode tries to write by every tool there is")
        await self.operator("space", "set", SPACE, self.planning)
        before = self.scene.disk(SPACE)
        tries = [_turn("", way) for way in _WAYS]
        events = await self._say(
            "Have somebody try.",
            [
                _turn("", ("task", {"prompt": "Slip something in.", "title": "slip"})),
                _turn("", ("nothing_to_deliver", {"reason": "nothing can be written"})),
                _turn("Nobody could."),
            ],
            scripts=[{"when": "Slip something in", "turns": [*tries, _turn("I could not.")]}],
        )
        results = [e for e in events if e.what is What.RESULT]
        failed = [e.data["failed"] for e in results if e.conversation != events[0].conversation]
        expect(failed == [True] * len(_WAYS), f"each of {len(_WAYS)} ways fails, got {failed}")
        expect(self.scene.disk(SPACE) == before, "a subagent changes nothing")

    async def _say(
        self,
        prompt: str,
        turns: list[Any],
        scripts: list[Any] | None = None,
        *,
        decides: bool = False,
    ) -> list[Event]:
        """Say something in a new conversation; return all that happened.

        ``decides`` has the operator approve, in a process of its own, what comes to wait.
        """
        from remit.harness.loop.loop import Loop
        from remit.harness.loop.models import model_of
        from remit.harness.loop.opening import open_harness

        self._said += 1
        file = self.scene.folder / f"script-{self._said}.toml"
        file.write_text(tomli_w.dumps({"turns": turns, "scripts": scripts or []}))
        events: list[Event] = []
        self.tell.say(f"user: {prompt}")

        def hear(event: Event) -> None:
            events.append(event)
            if (line := _line(event)) is not None:
                self.tell.say(f"  {line}")

        with TemporaryDirectory() as scratch:
            place, backend = self.scene.workspace, BUBBLEWRAP if BUBBLEWRAP.probe().works else None
            opened = open_harness(
                place, Engine.load(), self.store, SPACE, backend, scratch, self.scene.env
            )
            talk = opened.workspace.space(SPACE).conversation(opened.fresh())
            loop = Loop(talk, model_of(f"scripted:{file}"), opened.station, tell=hear)
            async with anyio.create_task_group() as tasks:
                if decides:
                    tasks.start_soon(self._approve)
                await loop.turn(prompt)
        return events

    async def _approve(self) -> None:
        """Approve what comes to wait for the operator, as soon as it does."""
        with anyio.fail_after(60):
            while True:
                now = datetime.now(UTC)
                there = self.store.approvals.list(now=now, space=SPACE, state=ApprovalState.PENDING)
                if there:
                    break
                await anyio.sleep(0.1)
        await self.operator("approvals", "approve", there[0].id, "--dial", "accept-edits")

    def _file(self, name: str) -> Path:
        return self.scene.worktree(SPACE) / name


def _line(event: Event) -> str | None:
    match event.what:
        case What.CALL:
            return f"calls `{event.text}`"
        case What.RESULT if event.data["failed"]:
            return f"does not get it: {event.text.splitlines()[0]}"
        case What.NUDGE:
            return "is nudged: nothing was delivered"
        case What.ENDED:
            return f"agent: {event.text}"
    return None
