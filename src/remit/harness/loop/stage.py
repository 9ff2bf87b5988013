"""A turn of a run: what the machine says is owed, done by the loop that has the turn.

The run is in the store, and every change of it is one transaction there; what is done here lies
between two of them. Whatever is cut short is found in flight by a restart, and is paused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import anyio.to_thread
from attrs import define, field

from remit.harness.artifacts import read_artifact, unmet, write_artifact, write_template
from remit.harness.loop.belt import Station
from remit.harness.loop.calls import Calls, Done
from remit.harness.loop.commands import run_command
from remit.harness.natives import stage_said
from remit.harness.owners import gone, owner
from remit.harness.site import Site
from remit.harness.store import SYSTEM, RunRecord
from remit.harness.store.runs import refusal
from remit.harness.tools import Desk, Todos
from remit.policy.ceiling import Ceiling
from remit.policy.escape import unmarked
from remit.policy.problems import Problem
from remit.policy.run import WRITING, Do, Effect, Event, Kind, State
from remit.policy.workflow import Action, Gate

__all__ = ["CLOSE_OUT", "Over", "StageTurn"]

_T = TypeVar("_T")

#: What the model is told of a pause, once and as the system (S000-58).
CLOSE_OUT = (
    "[remit] The user paused the run. Bring what you are at to a safe place, say briefly what is "
    "done and what is left, and end the turn; at most {} more requests are answered."
)
#: Milliseconds after which the clock of a long turn is written down.
_CHECKPOINT = 30_000


class Over(Exception):
    """The turn is at its end for a reason of the run's, which is the message."""


@define(eq=False)
class StageTurn:
    """One turn of a conversation that works on a run, from its claim to its settlement."""

    site: Site
    station: Station
    calls: Calls
    run: str
    turn: str
    host: bool
    #: Hears how the run stands, after each change.
    stands: Callable[[RunRecord], None]
    #: Told to the model with the next request, as the system; kept in the conversation.
    notices: list[str] = field(factory=list, init=False)
    over: bool = field(default=False, init=False)
    _left: int | None = field(default=None, init=False)

    async def claim(self) -> Problem | None:
        """Take the run for this turn; return why it cannot be had."""
        # A worker that died may hold it still.
        await self._in_thread(self._restart)
        event = Event(Kind.CLAIM, turn=self.turn, host=self.host)
        effects = await self._step(event, owner=owner())
        if (why := refusal(effects)) is None:
            await self._told(effects)
        return why

    async def request(self) -> str:
        """Look at the run before a request; return what the model is told this once.

        Raises `Over` where the turn is to end first.
        """
        if self.over:
            raise Over("stage")
        record = await self._in_thread(self._record)
        run = record.run
        if run.state is State.STOPPED:
            if record.last == Kind.STOP:
                raise Over("halted")
            return ""  # removed: the turn goes on as one of the mode returned to
        if run.state is not State.PAUSED:
            if (
                run.since is not None
                and self.site.clock().timestamp() * 1000 - run.since > _CHECKPOINT
            ):
                await self._step(Event(Kind.CHECKPOINT))
            return ""
        first, self._left = self._left is None, 3 if self._left is None else self._left
        if self._left == 0:
            raise Over("paused")
        self._left -= 1
        return CLOSE_OUT.format(3) if first else ""

    async def completed(self, done: Done, args: Mapping[str, Any]) -> Done:
        """Take in the answer to a completion: write and judge what is owed, and return that."""
        if done.data.get("run") != self.run:
            return done
        self.over = bool(done.data.get("over"))
        if done.data.get("judging"):
            done = await self._finish(args)
        self.stands(await self._in_thread(self._record))
        return done

    async def _finish(self, args: Mapping[str, Any]) -> Done:
        note = str(args.get("summary", ""))
        while True:
            record = await self._in_thread(self._record)
            run = record.run
            if run.claim is None or run.claim.turn != self.turn or run.judging is None:
                self.over = self.over or run.claim is None
                return Done("The run was paused or ended meanwhile: nothing more is judged.", True)
            if run.judging == WRITING:
                fault = await self._in_thread(self._write, record, args)
                event = Event(Kind.WROTE, turn=self.turn, passed=not fault, text=fault)
            else:
                event = await self._judge(record, run.at.exit[run.judging])
            effects = await self._step(event, note=note)
            self.over = any(e.do is Do.END_TURN for e in effects)
            for effect in effects:
                if effect.do is Do.RESULT:
                    return Done(stage_said(effect), effect.what == "failed", {"run": self.run})

    def _write(self, record: RunRecord, args: Mapping[str, Any]) -> str:
        given: Mapping[str, str] = args.get("artifacts") or {}
        for id, text in sorted(given.items()):
            if fault := write_artifact(record.run, id, text, self._desk()):
                return fault
        return ""

    async def _judge(self, record: RunRecord, gate: Gate) -> Event:
        number, run = record.run.judging, record.run
        assert number is not None, "an exit gate is being judged"
        if gate.action is Action.REQUIRE:
            said = await self._in_thread(unmet, run, gate.what, self._desk())
            passed, text = not said, said or f"`{run.workflow.paths(run.id)[gate.what]}` is there"
        else:
            command = run.workflow.fill(gate.what, run.id, "")
            done = await run_command(self.site, self.calls, command, gate.minutes)
            passed, text = not done.failed, done.text
            if done.failed:
                what = "failed" if done.ran else "did not run"
                text = f"The command `{gate.what}` {what}: {text}"
        return Event(Kind.GATE, turn=self.turn, gate=number, passed=passed, text=text)

    async def settle(self, outcome: str, tokens: int, queued: int) -> None:
        """Say how the turn ended; what was interrupted by the user is paused as well."""
        if outcome == "interrupted":
            await self._step(Event(Kind.INTERRUPT))
        event = Event(
            Kind.SETTLE, turn=self.turn, outcome=outcome, tokens=tokens, queued=queued
        )  # fmt: skip
        await self._step(event)
        self.stands(await self._in_thread(self._record))

    async def stopped(self) -> None:
        """Return once an operator stopped the run: the turn is to be interrupted at once."""
        store = self.site.store
        while True:
            seen = store.data_version()
            record = await self._in_thread(self._record)
            if record.run.state is State.STOPPED and record.last == Kind.STOP:
                return
            await self.calls.waiting.after(seen)

    async def compacted(self) -> None:
        """Take in that the conversation was shortened: what the stage injects is told again."""
        await self._told(await self._step(Event(Kind.COMPACT)))

    async def _told(self, effects: tuple[Effect, ...]) -> None:
        record = await self._in_thread(self._record)
        for effect in effects:
            if effect.do is Do.TEMPLATE:
                made = (record.run, effect.what, effect.text, self._desk())
                if fault := await self._in_thread(write_template, *made):
                    raise OSError(fault)
            elif effect.do is Do.NOTICE:
                self.notices.append(await self._in_thread(self._notice, record, effect))
        self.stands(record)

    def _notice(self, record: RunRecord, effect: Effect) -> str:
        if not effect.what:
            return effect.text
        text = read_artifact(record.run, effect.what, self._desk())
        path = record.run.workflow.paths(record.id)[effect.what]
        held = "it is not there" if text is None else f"it holds:\n\n{unmarked(text)}"
        return f"The artifact `{effect.what}` in `{path}`: {held}"

    def _desk(self) -> Desk:
        return self.station.desk(Ceiling(), Todos(), threading.Event())

    def _restart(self) -> None:
        self.site.store.runs.restart(now=self.site.clock(), gone=gone)

    def _record(self) -> RunRecord:
        return self.site.store.runs.get(self.run)

    async def _step(
        self, event: Event, *, owner: str | None = None, note: str = ""
    ) -> tuple[Effect, ...]:
        at = self.site

        def act() -> tuple[Effect, ...]:
            return at.store.runs.step(
                self.run, event, by=SYSTEM, now=at.clock(), owner=owner, note=note
            )[1]

        return await self._in_thread(act)

    async def _in_thread(self, act: Callable[..., _T], *given: Any) -> _T:
        return await anyio.to_thread.run_sync(act, *given)
