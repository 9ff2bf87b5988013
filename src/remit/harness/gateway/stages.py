"""Runs through the gateway: the client drives the turns, and completes the stages.

A turn is taken with the first call in a stage and lasts until the stage was completed or waits; the
gateway writes artifacts and judges exit gates as the harness does (S000-23).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve, field

from remit.harness.atrun import at_run
from remit.harness.loop.belt import Belt, Station
from remit.harness.loop.calls import Calls, Done
from remit.harness.loop.stage import StageTurn
from remit.harness.loop.waiting import Waiting
from remit.harness.natives import Answer
from remit.harness.session import Session
from remit.harness.site import Site
from remit.harness.store import ApprovalKind
from remit.policy.run import State, Why
from remit.profiles.staging import COMPLETE_STAGE

__all__ = ["Stages"]

#: Seconds that an exit gate waits for the operator; a client waits for an answer all that time.
_WAITS = 45.0
#: What a client may go on with by completing the stage, as a message of the user's would.
_LEFT = (Why.RETRIES, Why.STAGE, Why.BLOCKED, Why.ERROR)


@define(eq=False)
class Stages:
    """The turns of one client at the runs of its space."""

    session: Session
    station: Station
    _turn: StageTurn | None = field(default=None, init=False)
    _turns: int = field(default=0, init=False)

    def completes(self, name: str) -> bool:
        """Say whether a call of this name completes a stage."""
        return name in (COMPLETE_STAGE, COMPLETE_STAGE.partition(":")[2])

    async def begin(
        self, think: Callable[[Callable[[], Any]], Any], name: str
    ) -> tuple[list[str], bool]:
        """Take a turn at the open run with a call; return what is told, and if one was taken."""
        run = await think(self._run)
        if run is None:
            self._turn = None
            return [], False
        record = await think(lambda: self.session.store.runs.get(run.run))
        if self._turn is not None:
            claim = record.run.claim
            held = claim is not None and claim.turn == self._turn.turn
            if held and claim is not None and claim.done:
                # It was paused, or moved on by somebody else: this turn can do no more.
                await self._turn.settle("ok", 0, 0)
            elif held:
                return [], False
            self._turn = None
            record = await think(lambda: self.session.store.runs.get(run.run))
        completes = self.completes(name) and record.run.why in _LEFT
        if record.run.claim is not None or not (record.run.state is State.RUNNING or completes):
            return [], False
        self._turns += 1
        turn = self._stage(record.id)
        if await turn.claim() is not None:
            return [], False
        self._turn = turn
        return [f"[remit] {text}" for text in turn.notices], True

    async def end(self, answer: Answer, args: Mapping[str, Any]) -> Answer:
        """Take in the answer to a completion; returns what came of it."""
        turn = self._turn
        if turn is None or (answer.data or {}).get("run") != turn.run:
            return answer
        done = await turn.completed(Done(answer.text, answer.error, answer.data or {}), args)
        if turn.over:
            await turn.settle("ok", 0, 0)
            self._turn = None
        return evolve(answer, text=done.text, error=done.failed, data=dict(done.data))

    def _run(self) -> Any:
        store = self.session.store
        return at_run(store, store.spaces.get(self.session.space))

    def _stage(self, run: str) -> StageTurn:
        own = self.session
        site = Site(own.engine, own.store, own.host, own.clock, own.space, own.conversation)
        until = time.monotonic() + _WAITS
        calls = Calls(
            Belt.of(own.engine, self.station),
            self.station,
            Waiting(site, lambda: time.monotonic() > until),
            _no_task,
            frozenset({ApprovalKind.CALL}),
            lambda approval: None,
        )
        name = f"{own.conversation}#{self._turns}"
        return StageTurn(site, self.station, calls, run, name, False, lambda record: None)


async def _no_task(prompt: str, mode: str | None) -> Done:
    return Done("there are no subagents here", True)
