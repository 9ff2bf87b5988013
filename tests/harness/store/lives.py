"""The lives of runs: random events of several workers on one database, held to the log's own word.

What is checked is read from the records, not from the machine that made them: each change of a run
is in one, whole, with what happened and who said so.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import define, field
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from remit.harness.store import Event as Record
from remit.harness.store import RunRecord, Store, StoreConflict
from remit.harness.store.runs import refusal
from remit.policy.problems import InputError
from remit.policy.run import OPEN, Do, Event, Kind, State
from remit.policy.staged import StagedMode
from remit.policy.workflow import Action, Budget, Workflow
from remit.profiles.library import Library
from remit.profiles.source import Source

MODE = """---
artifacts: { spec: { path: spec.md } }
budget: { maxTurns: 3, maxTokens: 40 }
stages:
  design: { exit: [{ require: artifact:spec }, { run: check }, { ask: user }], next: work }
  work:
    loop: true
    exit: [{ run: make test, onFail: { retries: 2, goto: design } }]
    next: last
  last: {}
---
Words.
"""
START = datetime(2026, 11, 30, tzinfo=UTC)
TURNS = ("c#1", "c#2", "c#3", "c#4")
workers = st.integers(0, 2)


def staged() -> StagedMode:
    entry = Library.load([Source(MODE, "modes/build-it/mode.md")]).entry("build-it")
    assert entry.profile is not None
    assert entry.workflow is not None
    return StagedMode(entry.profile, entry.workflow, entry.stages)


@define
class Witness:
    """Reads the records of one run in order, and says what is wrong with what they tell."""

    workflow: Workflow
    #: What the exit gates of the stage gave since it was entered.
    passed: set[int] = field(factory=set)
    stage: str = "design"
    before: dict[str, Any] = field(factory=dict)
    at: int = 0
    _asked: list[int] = field(factory=list)

    def read(self, record: Record) -> None:
        """Take in one record; raises `AssertionError`."""
        body = record.body
        if record.kind == "gate.judged":
            assert record.actor == "system", "only the host records what a gate gave"
            assert body["stage"] == self.stage
            if body["outcome"] == "passed":
                self.passed.add(body["gate"])
            if body["action"] == Action.ASK:
                self._asked.append(body["gate"])
            return
        now, event = body["is"], body.get("event", {"kind": "start"})
        if record.kind == "run.stepped":
            self._step(record, event, self.before, now)
        self.before = now

    def _step(
        self, record: Record, event: dict[str, Any], was: dict[str, Any], now: dict[str, Any]
    ) -> None:
        kind = event["kind"]
        assert now["revision"] == was["revision"] + 1
        if self._asked:
            assert (kind, record.actor) == ("decide", "operator"), "a person alone approves"
            self._asked.clear()
        left = now["stage"] != was["stage"] or now["state"] == "finished" != was["state"]
        if left and now["state"] != "stopped":
            stage = self.workflow.stages[was["stage"]]
            back = [g.goto for g in stage.exit if g.goto is not None]
            if kind != "gate" or event.get("passed") or now["stage"] not in back:
                assert self.passed == set(range(len(stage.exit))), f"left {was['stage']} unjudged"
                assert now["stage"] == (stage.next or was["stage"])
            self.passed.clear()
            self.stage = now["stage"]
        elif kind == "gate" and not event.get("passed"):
            self.passed.clear()
            cap = self.workflow.stages[was["stage"]].exit[event.get("gate", 0)].retries
            assert now["failures"] < cap or now["state"] == "waiting", "past the cap it goes on"
        if kind == "claim" and now["claim"] != was["claim"]:
            assert was["claim"] is None, "two turns hold it"
            assert event["turn"] not in was["settled"], "a turn that is over took it again"
            if event.get("host"):
                limit = was["budget"]
                spent = limit["tokens"] is not None and was["tokens"] >= limit["tokens"]
                assert was["turns"] < limit["turns"], "a turn of the host's beyond the budget"
                assert not spent, "a turn of the host's beyond the tokens"
        if kind == "settle":
            assert event["turn"] not in was["settled"], "a settlement counted twice"
        self._clock(record, kind, was, now)

    def _clock(self, record: Record, kind: str, was: dict[str, Any], now: dict[str, Any]) -> None:
        at = int(datetime.fromisoformat(record.at).timestamp() * 1000)
        passed = at - self.at if was["state"] == "running" and kind != "restart" else 0
        assert now["elapsed"] - was["elapsed"] == passed, "the clock ran while the run did not"
        self.at = at


class Life(RuleBasedStateMachine):
    """One space, one run after the other, and three workers that all do as they like."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.folder = tempfile.TemporaryDirectory()
        location = self.place()
        self.stores = [Store.open(location, create=START) for _ in range(3)]
        self.mode, store = staged(), self.stores[0]
        store.spaces.create("s", "build-it", by="operator", now=START)
        self.seen = store.log.head()
        self.witness = Witness(self.mode.workflow)
        self.begin()

    def place(self) -> str:
        """A place where nothing is yet."""
        return str(Path(self.folder.name) / "remit.db")

    def teardown(self) -> None:
        for store in self.stores:
            store.close()
        self.folder.cleanup()

    def begin(self) -> None:
        store = self.stores[0]
        if store.spaces.get("s").mode != "build-it":
            store.spaces.set_mode("s", "build-it", by="operator", why="", now=self.now)
        made = store.runs.start(self.mode, "s", "c", "go", by="operator", now=self.now)
        self.id = made.id
        self.witness = Witness(self.mode.workflow, at=int(self.now.timestamp() * 1000))
        self.turns = 0

    @property
    def there(self) -> RunRecord:
        return self.stores[0].runs.get(self.id)

    def send(self, worker: int, kind: Kind, by: str = "system", **event: Any) -> Sequence[Any]:
        store, before = self.stores[worker], self.stores[worker].log.head()
        _, effects = store.runs.step(
            self.id, Event(kind, **event), by=by, now=self.now, owner=f"worker {worker}"
        )
        why = refusal(effects)
        if why is not None and why.code not in ("run-budget", "run-input-changed"):
            assert store.log.head() == before, "what is refused changes nothing"
        return effects

    @rule(ms=st.sampled_from((1, 500, 60_000)))
    def wait(self, ms: int) -> None:
        self.now += timedelta(milliseconds=ms)

    @rule(
        worker=workers,
        gates=st.lists(st.sampled_from((True, True, False)), min_size=1, max_size=7),
        queued=st.integers(0, 1),
    )
    def advance(self, worker: int, gates: list[bool], queued: int) -> None:
        """Do what a host would do next, some times; its gates give what is drawn."""
        for passed in gates:
            run = self.there.run
            if run.claim is None:
                if run.state not in OPEN:
                    return
                if self.there.approval is not None:
                    self.decide(worker, passed)
                else:
                    self.claim(worker, bool(run.rounds) and run.state is State.RUNNING, again=False)
            elif run.claim.done:
                self.settle(worker, "ok", 5, queued)
            elif run.judging is None:
                self.complete(worker, mine=True, kind=2 * passed)
            else:
                self.judge(worker, passed, late=False)
            self.watch()

    @rule(worker=workers, host=st.booleans(), again=st.sampled_from((False, False, True)))
    def claim(self, worker: int, host: bool, again: bool) -> None:
        self.turns += not again
        self.send(worker, Kind.CLAIM, turn=f"c#{self.turns}", host=host)

    @rule(worker=workers, mine=st.sampled_from((True, True, True, False)), kind=st.integers(0, 3))
    def complete(self, worker: int, mine: bool, kind: int) -> None:
        report = {"status": "blocked", "blocker": "x"} if kind == 3 else None
        more: dict[str, Any] = {"artifacts": {"spec": "x"}} if kind == 2 else {}
        before = self.there.run
        self.send(worker, Kind.COMPLETE, "agent:c", turn=self._turn(mine), report=report, **more)
        if not mine:
            assert self.there.run == before

    @rule(worker=workers, passed=st.sampled_from((True, True, True, False)), late=st.booleans())
    def judge(self, worker: int, passed: bool, late: bool) -> None:
        """Do as a host does that was told to write or to judge; sometimes it is late."""
        run = self.there.run
        if run.judging is None:
            for kind in (Kind.WROTE, Kind.GATE):
                self.send(worker, kind, turn=self._turn(True), gate=0, passed=True)
                assert self.there.run == run, "what nobody judges cannot be passed"
            return
        kind = Kind.WROTE if run.judging < 0 else Kind.GATE
        more: dict[str, Any] = {} if run.judging < 0 else {"gate": run.judging}
        stale: dict[str, Any] = {"revision": run.revision - 1} if late else {}
        self.send(worker, kind, turn=self._turn(True), passed=passed, **more, **stale)
        if late:
            assert self.there.run == run, "a stale revision changed something"

    @rule(worker=workers, outcome=st.sampled_from(("ok", "ok", "error", "interrupted")),
          tokens=st.sampled_from((0, 5, 30)), queued=st.integers(0, 1))  # fmt: skip
    def settle(self, worker: int, outcome: str, tokens: int, queued: int) -> None:
        turn = self._turn(True)
        event: dict[str, Any] = {
            "turn": turn,
            "outcome": outcome,
            "tokens": tokens,
            "queued": queued,
        }
        effects = self.send(worker, Kind.SETTLE, **event)
        after, head = self.there.run, self.stores[0].log.head()
        if not any(e.do is Do.REFUSE for e in effects):
            assert self.send((worker + 1) % 3, Kind.SETTLE, **event) == ()
            assert (self.there.run, self.stores[0].log.head()) == (after, head)

    @rule(worker=workers, approve=st.booleans())
    def decide(self, worker: int, approve: bool) -> None:
        store, asked = self.stores[worker], self.there.approval
        if asked is not None:
            try:
                store.approvals.decide(asked, approve, by="operator", now=self.now, feedback="so")
            except StoreConflict:
                return
            assert approve or self.there.run.stage == "design"

    @rule(worker=workers, kind=st.sampled_from((Kind.PAUSE, Kind.RESUME, Kind.RESUME)))
    def control(self, worker: int, kind: Kind) -> None:
        self.send(worker, kind, "operator")

    @rule(worker=workers, kind=st.sampled_from((Kind.PAUSE, Kind.EDIT, Kind.RESUME, Kind.STOP)))
    def late(self, worker: int, kind: Kind) -> None:
        """A person decides on what they saw before it changed."""
        before = self.there
        more = {"input": "late"} if kind is Kind.EDIT else {}
        self.send(worker, kind, "operator", revision=before.run.revision - 1, **more)
        assert self.there == before, "a stale revision changed something"

    @rule(worker=workers)
    def spend(self, worker: int) -> None:
        """All turns that the host may start were started: it starts no more."""
        run = self.there.run
        if run.claim is None and run.state is State.RUNNING:
            self.send(worker, Kind.EDIT, "operator", budget=Budget(run.turns, None))
            self.claim(worker, host=True, again=False)

    @rule(worker=workers, turns=st.sampled_from((0, 9, 9)), input=st.sampled_from((None, "else")))
    def edit(self, worker: int, turns: int, input: str | None) -> None:
        self.send(worker, Kind.EDIT, "operator", budget=Budget(turns, 40), input=input)

    @rule(worker=workers, kind=st.sampled_from((Kind.CHECKPOINT, Kind.COMPACT)))
    def host(self, worker: int, kind: Kind) -> None:
        self.send(worker, kind)

    @rule(worker=workers)
    def die(self, worker: int) -> None:
        """A worker is gone: what it held is paused, and nobody else's run is touched."""
        before, name = self.there, f"worker {worker}"
        self.now += timedelta(hours=1)
        self.stores[(worker + 1) % 3].runs.restart(now=self.now, gone=lambda o: o == name)
        if before.owner == name and before.run.claim is not None:
            assert (self.there.run.claim, self.there.run.state.value == "running") == (None, False)
        elif before.owner != name:
            assert self.there == before

    @rule(worker=workers, kind=st.sampled_from((Kind.GATE, Kind.SETTLE, Kind.STOP, Kind.DECIDE)))
    def overreach(self, worker: int, kind: Kind) -> None:
        """An agent sends what is not its to send."""
        before = self.there
        try:
            self.send(worker, kind, "agent:c", turn=self._turn(True), passed=True)
        except InputError:
            assert self.there == before
        else:
            raise AssertionError("an agent did what the host or a person does")

    @rule(worker=workers, kind=st.sampled_from((Kind.STOP, Kind.REMOVE)))
    def end(self, worker: int, kind: Kind) -> None:
        if self.there.run.rounds > 2 or self.there.run.state.value in ("finished", "stopped"):
            self.send(worker, kind, "operator")
            self.watch()
            self.begin()

    def _turn(self, mine: bool) -> str:
        claim = self.there.run.claim
        return claim.turn if claim and mine else "d#1"

    @invariant()
    def watch(self) -> None:
        kinds = ("run.started", "run.stepped", "gate.judged")
        for record in self.stores[0].log.read("s", self.seen, kinds=kinds):
            if record.body["run"] == self.id:
                self.witness.read(record)
            self.seen = record.seq


def rebuilt(life: Life) -> None:
    """Say that the tables are what the log makes of it."""
    assert life.stores[0].log.rebuild().problems == ()


def main() -> None:
    """Explore lives until they are lived, or one is found that is not sound."""
    parser = argparse.ArgumentParser(prog="lives", description=__doc__)
    parser.add_argument("--lives", type=int, default=1_000, help="how many (default: 1000)")
    parser.add_argument("--steps", type=int, default=60, help="events of each (default: 60)")
    args = parser.parse_args()
    chosen = settings(
        deadline=None, database=None, suppress_health_check=list(HealthCheck),
        max_examples=args.lives, stateful_step_count=args.steps,
    )  # fmt: skip
    run_state_machine_as_test(Life, settings=chosen)
    print(f"{args.lives} lives are sound")


if __name__ == "__main__":
    main()
