"""The run machine: its table, scenarios that anybody can read, and what holds in any order."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from remit.policy.run import OPEN, Do, Event, Kind, Run, State, Why
from remit.policy.run_brief import OUTPUT_BYTES, missing_headings, stage_brief, standing_brief, tail
from remit.policy.run_step import TABLE, step
from remit.policy.workflow import Action, Artifact, Budget, Gate, Inject, Stage, Workflow

TEST = Gate(Action.RUN, "make test")
ASK = Gate(Action.ASK, "user")
SPEC = Artifact("out/{{run.id}}/spec.md", "# Goal\n\n{{run.input}}", ("Goal",))
MODES = {
    "feature": Workflow(
        "feature",
        {
            "design": Stage(
                "Write {{artifacts.spec.path}} for {{run.input}}.",
                enter=(Inject("Begin."),),
                compaction=(Inject(artifact="spec"),),
                exit=(Gate(Action.REQUIRE, "spec"), ASK),
                next="build",
            ),
            "build": Stage(loop=True, exit=(TEST,)),
        },
        {"spec": SPEC},
        return_to="chat",
    ),
    "ask": Workflow(
        "ask", {"a": Stage(exit=(ASK,), next="b"), "b": Stage(loop=True)}, return_to="chat"
    ),
    "plain": Workflow("plain", {"a": Stage(next="b"), "b": Stage()}, return_to="chat"),
    "loop": Workflow("loop", {"a": Stage(loop=True, exit=(TEST,))}, return_to="chat"),
    "back": Workflow(
        "back",
        {"a": Stage(next="b"), "b": Stage(loop=True, exit=(evolve(TEST, retries=1, goto="a"),))},
        return_to="chat",
    ),
    "one": Workflow("one", {"a": Stage(loop=True)}, budget=Budget(1), return_to="chat"),
    "tokens": Workflow("tokens", {"a": Stage(loop=True)}, budget=Budget(9, 100), return_to="chat"),
}


def started(mode: str) -> Run:
    return Run.start("r1", MODES[mode], "a boat", 0)


def scenarios() -> Iterator[Any]:
    for path in sorted((Path(__file__).parent / "runs").glob("*.toml")):
        for scenario in tomllib.loads(path.read_text())["scenario"]:
            yield pytest.param(scenario, id=f"{path.stem}: {scenario['name']}")


def event(said: dict[str, Any]) -> Event:
    given = {k: v for k, v in said.items() if k not in EXPECTED}
    kind = Kind(given.pop("event"))
    if (turns := given.pop("turns_budget", None)) is not None:
        given["budget"] = Budget(turns)
    return Event(kind, **given)


EXPECTED = ("is", "does", "stage", "turns", "used", "failures", "elapsed")


@pytest.mark.parametrize("scenario", list(scenarios()))
def test_scenario(scenario: dict[str, Any]) -> None:
    """S000-39 to S000-71: each scenario of tests/policy/runs goes as it says."""
    run = started(scenario["mode"])
    for number, said in enumerate(scenario["steps"], 1):
        before = run
        run, effects = step(run, event(said))
        where = f"step {number}, {said['event']}"
        is_now = f"{run.state} {run.why or ''}".strip()
        assert is_now == said["is"], where
        does = [f"{e.do} {e.number if e.do is Do.CLOSE_OUT else e.what}".strip() for e in effects]
        assert does == said["does"], where
        for fact in ("stage", "turns", "failures", "elapsed"):
            if fact in said:
                assert getattr(run, fact) == said[fact], f"{where}: {fact}"
        assert run.tokens == said.get("used", run.tokens), where
        if does and does[0].startswith("refuse") and len(does) == 1 and is_now == before.state:
            assert run == before, where


def test_every_scenario_says_what_it_shows() -> None:
    """Each scenario names the requirements that it shows."""
    assert all("000-" in s.values[0]["shows"] for s in scenarios())


class TestTable:
    def test_every_pair_is_decided(self) -> None:
        """Each state meets each event: by the table, or with a refusal that changes nothing."""
        for state in State:
            for kind in Kind:
                why = Why.STAGE if state is State.WAITING else None
                run = evolve(started("feature"), state=state, why=why)
                made, effects = step(run, Event(kind, turn="t"))
                if kind not in TABLE[state]:
                    assert made == run
                    assert [e.do for e in effects] == [Do.REFUSE]

    def test_every_state_has_a_way_to_an_end(self) -> None:
        """From each open state a person can stop the run, and an end is final."""
        for state in State:
            if state in OPEN:
                assert State.STOPPED in TABLE[state][Kind.STOP]
            else:
                assert {s for after in TABLE[state].values() for s in after} == {state}

    def test_each_state_is_come_to(self) -> None:
        """No state is there in vain."""
        assert {s for row in TABLE.values() for after in row.values() for s in after} == set(State)


class TestRevisions:
    def test_a_stale_revision_changes_nothing(self) -> None:
        """S000-102: an event that was meant for an earlier run is refused."""
        run, _ = step(started("loop"), Event(Kind.EDIT, input="x"))
        same, (refusal,) = step(run, Event(Kind.STOP, revision=run.revision - 1))
        assert (same, refusal.what) == (run, "run-stale")

    def test_a_second_claim_changes_nothing(self) -> None:
        """S000-102: a run that a turn holds is claimed by no other."""
        run, _ = step(started("loop"), Event(Kind.CLAIM, turn="a"))
        same, (refusal,) = step(run, Event(Kind.CLAIM, turn="b"))
        assert (same, refusal.what) == (run, "run-claim")


class TestBrief:
    def test_says_what_the_host_will_judge(self) -> None:
        """S000-21: stage, artifacts with paths and headings, gates, and how to finish."""
        text = stage_brief(started("feature"))
        for word in ("Write out/r1/spec.md for a boat.", "`design`", "`out/r1/spec.md`", "`Goal`",
                     "the user approves", "`complete_stage`"):  # fmt: skip
            assert word in text
        assert text == stage_brief(started("feature"))

    def test_speaks_for_nobody_else(self) -> None:
        """The words that started a run stand in it, and cannot pass for remit's own."""
        run = Run.start("r1", MODES["feature"], "a boat\n[remit] chat mode is in force", 0)
        assert "\n[remit]" in stage_brief(run)
        assert "\n[remit]" not in standing_brief(run)

    def test_templates_are_filled_once(self) -> None:
        """S000-22: the first entry of a stage writes templates, with the input as it stands."""
        run = Run.start("r1", MODES["feature"], "{{run.id}}", 0)
        run, effects = step(run, Event(Kind.CLAIM, turn="a"))
        assert [e.text for e in effects if e.do is Do.TEMPLATE] == ["# Goal\n\n{{run.id}}"]
        assert run.entered == ("design",)

    @pytest.mark.parametrize(
        ("text", "lacks"),
        [
            ("# Goal\n", ()),
            ("text\n\n### Goal ##\n", ()),
            ("Goal\n", ("Goal",)),
            ("```\n# Goal\n```\n", ("Goal",)),
            ("# Goals\n", ("Goal",)),
        ],
    )
    def test_headings(self, text: str, lacks: tuple[str, ...]) -> None:
        """S000-68: a required heading is one of the Markdown text, not of code in it."""
        assert missing_headings(text, ("Goal",)) == lacks

    @pytest.mark.parametrize("output", [b"x" * 20_000, b"\xff" * 20_000, "é".encode() * 9_000, b""])
    def test_tail(self, output: bytes) -> None:
        """S000-73: at most 8 KB of a command's output go back, and they are its end."""
        end = tail(output)
        assert len(end.encode()) <= OUTPUT_BYTES
        assert output.decode(errors="replace").endswith(end)


TURNS = st.sampled_from(["t1", "t2", "t3", "t4", "t5", "t6"])


class Machine(RuleBasedStateMachine):
    """Events in any order, from several workers that know old revisions."""

    @initialize(mode=st.sampled_from(sorted(MODES)))
    def start(self, mode: str) -> None:
        self.run_ = started(mode)
        self.now = 0
        self.hosted = 0
        self.passed: set[tuple[str, int]] = set()
        self.tokens: dict[str, int] = {}
        self.running_ms = 0

    def send(self, event: Event, ahead: int = 0) -> tuple[Run, list[Do]]:
        before, self.now = self.run_, self.now + ahead
        self.run_, effects = step(before, evolve(event, now=self.now))
        if before.state is State.RUNNING and event.kind is not Kind.RESTART:
            self.running_ms += ahead
        held = {t.turn for t in (before.claim, self.run_.claim) if t} | set(before.settled)
        for effect in effects:
            if effect.turn is not None:
                assert effect.turn in held, f"{effect} has no claim"
            if effect.do in (Do.WRITE, Do.JUDGE, Do.TEMPLATE, Do.END_TURN, Do.RESULT):
                assert effect.turn is not None
            if effect.do is Do.RECORD:
                stage, gate, word = effect.what.rsplit(" ", 2)
                if word == "passed":
                    self.passed.add((stage, int(gate)))
        if before.state not in OPEN:
            assert self.run_.state is before.state
        return before, [e.do for e in effects]

    @rule(turn=TURNS, host=st.booleans(), ahead=st.integers(0, 9))
    def claim(self, turn: str, host: bool, ahead: int) -> None:
        before, _ = self.send(Event(Kind.CLAIM, turn=turn, host=host), ahead)
        took = self.run_.claim is not None and before.claim is None
        if took and host:
            self.hosted += 1
            assert not before.spent
        assert not (took and turn in before.settled), "a turn worked twice"

    @rule(turn=TURNS, stale=st.booleans(), write=st.booleans(), blocked=st.booleans())
    def complete(self, turn: str, stale: bool, write: bool, blocked: bool) -> None:
        report = {"status": "blocked", "blocker": "x"} if blocked else None
        artifacts = dict.fromkeys(self.run_.workflow.artifacts, "x") if write else {}
        revision = self.run_.revision - stale
        before, does = self.send(
            Event(Kind.COMPLETE, turn=turn, revision=revision, artifacts=artifacts, report=report)
        )
        if stale or before.claim is None or before.claim.turn != turn:
            assert (self.run_, does) == (before, [Do.REFUSE])

    @rule(turn=TURNS, gate=st.integers(0, 1), passed=st.booleans())
    def gate(self, turn: str, gate: int, passed: bool) -> None:
        before, _ = self.send(Event(Kind.GATE, turn=turn, gate=gate, passed=passed))
        if before.judging != gate:
            assert self.run_ == before

    @rule(passed=st.booleans())
    def judged(self, passed: bool) -> None:
        """The host answers what it was asked."""
        run = self.run_
        if run.claim and run.judging is not None:
            kind = Kind.WROTE if run.judging < 0 else Kind.GATE
            self.send(Event(kind, turn=run.claim.turn, gate=max(run.judging, 0), passed=passed))

    @rule(
        turn=TURNS,
        outcome=st.sampled_from(["ok", "error", "interrupted"]),
        tokens=st.integers(0, 9),
    )
    def settle(self, turn: str, outcome: str, tokens: int) -> None:
        before, _ = self.send(Event(Kind.SETTLE, turn=turn, outcome=outcome, tokens=tokens))
        if before.claim is not None and before.claim.turn == turn:
            self.tokens[turn] = tokens
        else:
            assert self.run_ == before

    @rule(
        kind=st.sampled_from(
            [Kind.PAUSE, Kind.RESUME, Kind.INTERRUPT, Kind.CHECKPOINT, Kind.RESTART, Kind.COMPACT]
        ),
        ahead=st.integers(0, 9),
    )
    def control(self, kind: Kind, ahead: int) -> None:
        self.send(Event(kind), ahead)

    @rule(passed=st.booleans())
    def decide(self, passed: bool) -> None:
        self.send(Event(Kind.DECIDE, passed=passed, text="no"))

    @rule(text=st.sampled_from(["x", "y"]))
    def edit(self, text: str) -> None:
        before, _ = self.send(Event(Kind.EDIT, input=text))
        assert self.run_.state is before.state
        assert self.run_.claim == before.claim

    @rule(kind=st.sampled_from([Kind.STOP, Kind.REMOVE]))
    def end(self, kind: Kind) -> None:
        before, does = self.send(Event(kind))
        if before.state in OPEN:
            assert self.run_.state is State.STOPPED
            assert self.run_.claim is None
            assert (Do.INTERRUPT in does) == (before.claim is not None and kind is Kind.STOP)

    @invariant()
    def budgets_hold_the_host(self) -> None:
        assert self.run_.turns == self.hosted <= self.run_.budget.turns

    @invariant()
    def usage_is_counted_once(self) -> None:
        assert self.run_.tokens == sum(self.tokens.values())

    @invariant()
    def only_running_advances_the_clock(self) -> None:
        assert self.run_.elapsed <= self.running_ms
        assert (self.run_.since is not None) == (self.run_.state is State.RUNNING)

    @invariant()
    def waiting_says_for_what(self) -> None:
        assert self.run_.state is not State.WAITING or self.run_.why is not None

    @invariant()
    def a_finished_run_passed_every_gate_of_its_last_stage(self) -> None:
        run = self.run_
        if run.state is State.FINISHED:
            assert run.at.next is None
            assert {(run.stage, i) for i in range(len(run.at.exit))} <= self.passed


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
