"""Runs in a store: what is kept, who may change it, and what a restart makes of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from remit.harness.store import ApprovalState, RunRecord, Store, StoreConflict
from remit.harness.store.runs import refusal
from remit.policy.problems import InputError, RemitError
from remit.policy.run import Do, Event, Kind, State, Why
from remit.policy.staged import StagedMode
from remit.policy.workflow import Budget
from remit.profiles.library import Library
from remit.profiles.snapshot import staged_snapshot
from remit.profiles.source import Source

MODE = """---
artifacts:
  spec: { path: spec.md, requiredHeadings: [Goal] }
stages:
  write:
    permission: read-only
    exit: [{ require: artifact:spec }, { ask: user }]
    next: work
  work:
    loop: true
    exit: [{ run: make test }]
---
Words.
"""


def staged(text: str = MODE) -> StagedMode:
    entry = Library.load([Source(text, "modes/build-it/mode.md")]).entry("build-it")
    assert entry.profile is not None, entry.problems
    assert entry.workflow is not None
    return StagedMode(entry.profile, entry.workflow, entry.stages)


class Desk:
    """A space in a staged mode, and a run of it."""

    def __init__(self, store: Store, now: datetime) -> None:
        self.store, self.now = store, now
        store.spaces.create("demo", "build-it", by="operator", now=now)
        store.conversations.ensure("c", "demo", now=now)
        self.id = store.runs.start(staged(), "demo", "c", "Add it.", by="operator", now=now).id

    @property
    def there(self) -> RunRecord:
        return self.store.runs.get(self.id)

    def do(self, kind: Kind, by: str = "system", **event: Any) -> list[str]:
        """Let something happen; return what is to do, and why it was refused."""
        note, self.now = event.pop("note", ""), self.now + timedelta(seconds=1)
        _, effects = self.store.runs.step(
            self.id, Event(kind, **event), by=by, now=self.now, owner="me", note=note
        )
        return [e.what if e.do is Do.REFUSE else e.do.value for e in effects]

    def asks(self) -> str:
        """Bring the run to where a person is asked; return the approval."""
        self.do(Kind.CLAIM, turn="c#1")
        note = "All is written."
        self.do(Kind.COMPLETE, "agent:c", turn="c#1", note=note)
        self.do(Kind.GATE, turn="c#1", gate=0, passed=True, text="it is there", note=note)
        self.do(Kind.SETTLE, turn="c#1", tokens=7)
        assert self.there.approval is not None
        return self.there.approval


@pytest.fixture
def desk(store: Store, now: datetime) -> Desk:
    return Desk(store, now)


def test_a_run_keeps_its_mode_as_it_was(desk: Desk) -> None:
    """S000-88, S000-91, S000-94, S000-95: the mode is kept whole by its hash, with its order."""
    assert staged_snapshot(desk.there.mode) == staged_snapshot(staged())
    assert (desk.there.run.stage, desk.there.run.state) == ("write", State.RUNNING)
    assert list(desk.there.mode.workflow.stages) == ["write", "work"]


def test_one_open_run_in_a_space(desk: Desk) -> None:
    """S000-48: no second run opens while one is open; one that is over is in nobody's way."""
    with pytest.raises(StoreConflict) as caught:
        desk.store.runs.start(staged(), "demo", "c", "More.", by="operator", now=desk.now)
    assert caught.value.problems[0].code == "run-open"
    desk.do(Kind.STOP, "operator")
    desk.store.spaces.set_mode("demo", "build-it", by="operator", why="", now=desk.now)
    desk.store.runs.start(staged(), "demo", "c", "More.", by="operator", now=desk.now)
    assert [r.run.state.value for r in desk.store.runs.list("demo")] == ["running", "stopped"]


def test_what_cannot_begin(desk: Desk) -> None:
    """S000-65: a remote space has no run, nor one in another mode, nor one for nothing."""
    store, now = desk.store, desk.now
    store.spaces.create("far", "build-it", by="operator", now=now, remote=True)
    store.spaces.create("other", "chat", by="operator", now=now)
    wrong: list[str] = []
    for space, input in (("far", "x"), ("other", "x"), ("demo", " ")):
        with pytest.raises(RemitError) as caught:
            store.runs.start(staged(), space, "d", input, by="operator", now=now)
        wrong.append(caught.value.problems[0].code)
    with pytest.raises(InputError):
        store.spaces.set_mode("far", "goal", by="operator", why="", now=now, staged=True)
    assert wrong == ["run-remote", "run-mode", "run-input"]


@pytest.mark.parametrize(
    ("by", "kind", "may"),
    [
        ("agent:c", Kind.COMPLETE, True),
        *(("agent:c", kind, False) for kind in Kind if kind is not Kind.COMPLETE),
        ("operator", Kind.GATE, False),
        ("operator", Kind.COMPLETE, False),
        ("operator", Kind.PAUSE, True),
        ("system", Kind.PAUSE, False),
        ("system", Kind.STOP, False),
        ("system", Kind.DECIDE, False),
        ("pipeline", Kind.GATE, False),
    ],
)
def test_who_may_send_what(desk: Desk, by: str, kind: Kind, may: bool) -> None:
    """S000-34, S000-90: an agent completes its stage, and only the host says what a gate gave."""
    if may:
        desk.do(kind, by, turn="c#1")
        return
    with pytest.raises(InputError) as caught:
        desk.do(kind, by, turn="c#1", passed=True)
    assert caught.value.problems[0].code == "not-operator"
    assert desk.there.run.revision == 0


def test_gate_results(desk: Desk) -> None:
    """S000-98: a result is kept by run, stage and position; a later one takes its place."""
    desk.do(Kind.CLAIM, turn="c#1")
    desk.do(Kind.COMPLETE, "agent:c", turn="c#1")
    desk.do(Kind.GATE, turn="c#1", gate=0, text="no file")
    (failed,) = desk.store.runs.gates(desk.id)
    desk.do(Kind.COMPLETE, "agent:c", turn="c#1")
    desk.do(Kind.GATE, turn="c#1", gate=0, passed=True, text="spec.md")
    (passed,) = desk.store.runs.gates(desk.id)

    assert (failed.stage, failed.gate, failed.action) == ("write", 0, "require")
    assert (failed.outcome, failed.evidence) == ("failed", "no file")
    assert (passed.outcome, passed.evidence) == ("passed", "spec.md")


def test_what_is_stale_changes_nothing(desk: Desk) -> None:
    """S000-102: a second claim, an old revision, a replayed settlement leave no record."""
    desk.do(Kind.CLAIM, turn="c#1")
    head = desk.store.log.head()
    said = [
        desk.do(Kind.CLAIM, turn="c#2"),
        desk.do(Kind.PAUSE, "operator", revision=0),
        desk.do(Kind.COMPLETE, "agent:c", turn="c#0"),
        desk.do(Kind.GATE, turn="c#1", gate=0, passed=True),
    ]
    assert said == [["run-claim"], ["run-stale"], ["run-claim"], ["run-gate"]]
    assert desk.store.log.head() == head
    desk.do(Kind.SETTLE, turn="c#1", tokens=5)
    head = desk.store.log.head()
    assert desk.do(Kind.SETTLE, turn="c#1", tokens=5) == []
    assert desk.do(Kind.SETTLE, turn="c#1", outcome="error") == ["run-conflict"]
    assert (desk.store.log.head(), desk.there.run.tokens) == (head, 5)


def test_a_person_approves(desk: Desk) -> None:
    """S000-70, S000-44: the yes is the gate's result, and leads to the next stage in one act."""
    id = desk.asks()
    assert (desk.there.run.state, desk.there.run.why) == (State.WAITING, Why.APPROVAL)
    shown = desk.store.approvals.get(id, now=desk.now)
    assert "All is written." in shown.shown
    assert "spec.md" in shown.shown
    desk.store.approvals.decide(id, True, by="operator", now=desk.now)

    assert (desk.there.run.stage, desk.there.run.state) == ("work", State.RUNNING)
    assert desk.store.approvals.get(id, now=desk.now).state is ApprovalState.USED
    assert [g.outcome for g in desk.store.runs.gates(desk.id)] == ["passed", "passed"]


def test_a_person_rejects(desk: Desk) -> None:
    """S000-70: the stage stays, and the words are kept as the user's next message, once."""
    id = desk.asks()
    desk.store.approvals.decide(id, False, by="operator", now=desk.now, feedback="Shorter.")

    assert (desk.there.run.stage, desk.there.run.why) == ("write", Why.STAGE)
    assert desk.there.said == "Shorter."
    desk.do(Kind.CLAIM, turn="c#2")
    assert desk.there.said is None


def test_a_message_takes_the_place_of_what_was_asked(desk: Desk) -> None:
    """S000-51: whoever goes on without deciding takes the request back."""
    id = desk.asks()
    desk.do(Kind.CLAIM, turn="c#2")
    assert desk.store.approvals.get(id, now=desk.now).state is ApprovalState.SUPERSEDED


def test_nothing_is_decided_of_a_paused_run(desk: Desk) -> None:
    """A decision that cannot take effect is not taken: it can be once the run is resumed."""
    id = desk.asks()
    desk.do(Kind.PAUSE, "operator")
    with pytest.raises(StoreConflict):
        desk.store.approvals.decide(id, True, by="operator", now=desk.now)
    assert desk.store.approvals.get(id, now=desk.now).state is ApprovalState.PENDING
    desk.do(Kind.RESUME, "operator")
    desk.store.approvals.decide(id, True, by="operator", now=desk.now)
    assert desk.there.run.stage == "work"


def test_the_end_gives_the_space_its_mode_back(desk: Desk) -> None:
    """S000-45, S000-100, S000-101: it returns by name, elsewhere if that mode was deleted."""
    desk.store.runs.home = lambda mode: "plan"
    desk.do(Kind.STOP, "operator")
    space = desk.store.spaces.get("demo")
    assert (space.mode, space.revision) == ("plan", 2)
    assert desk.store.spaces.history("demo")[-1].why == f"run {desk.id} is stopped"


def test_a_mode_that_was_chosen_meanwhile_stays(desk: Desk) -> None:
    """S000-67: a simple mode leaves the run paused, and its end leaves the space alone."""
    desk.store.spaces.set_mode("demo", "plan", by="operator", why="", now=desk.now)
    assert desk.there.run.state is State.PAUSED
    desk.do(Kind.REMOVE, "operator")
    assert desk.store.spaces.get("demo").mode == "plan"


def test_another_staged_mode_waits_for_the_run(desk: Desk) -> None:
    """S000-66: the run is to be stopped first."""
    with pytest.raises(StoreConflict) as caught:
        desk.store.spaces.set_mode("demo", "goal", by="operator", why="", now=desk.now, staged=True)
    assert caught.value.problems[0].code == "run-open"
    assert desk.there.run.state is State.RUNNING


def test_a_locked_space_is_not_left(desk: Desk) -> None:
    """The end of a run leads nobody out of a locked space; an operator's own stop does."""
    text = "---\nstages: { only: {} }\n---\nWords.\n"
    desk.do(Kind.STOP, "operator")
    store, now = desk.store, desk.now
    store.spaces.set_mode("demo", "build-it", by="operator", why="", now=now)
    desk.id = store.runs.start(staged(text), "demo", "c", "x", by="operator", now=now).id
    store.spaces.set_lock("demo", True, by="operator", now=now)
    desk.do(Kind.CLAIM, turn="c#9")
    desk.do(Kind.SETTLE, turn="c#9")
    assert desk.there.run.state is State.FINISHED
    assert store.spaces.get("demo").mode == "build-it"


def test_a_restart(desk: Desk) -> None:
    """S000-62, S000-97: a turn in flight is paused, not replayed; time that nobody read is none."""
    desk.do(Kind.CLAIM, turn="c#1")
    assert desk.there.run.elapsed == 1000
    later = desk.now + timedelta(hours=5)
    assert desk.store.runs.restart(now=later, gone=lambda owner: owner != "me") == ()
    (found,) = desk.store.runs.restart(now=later, gone=lambda owner: owner == "me")
    assert (found.run.state, found.run.claim, found.owner) == (State.PAUSED, None, None)
    assert (found.run.elapsed, found.run.turns) == (1000, 0)
    assert desk.store.runs.restart(now=later, gone=lambda owner: True) == ()


def test_a_report_is_kept_as_the_models_word(desk: Desk) -> None:
    """S000-29, S000-33: it is in the run's row, and no gate has a result of it."""
    report = {"status": "blocked", "blocker": "no key"}
    desk.do(Kind.CLAIM, turn="c#1")
    desk.do(Kind.COMPLETE, "agent:c", turn="c#1", report=report)
    assert (desk.there.run.why, desk.there.report) == (Why.BLOCKED, report)
    assert desk.store.runs.gates(desk.id) == ()


def test_an_edit_is_of_the_next_claim(desk: Desk) -> None:
    """S000-63, S000-64: what holds the run keeps its input, and its completion is refused."""
    desk.do(Kind.CLAIM, turn="c#1")
    desk.do(Kind.EDIT, "operator", input="Other.", budget=Budget(3, 9))
    assert desk.there.run.claim is not None
    assert desk.there.run.claim.input == "Add it."
    assert desk.do(Kind.COMPLETE, "agent:c", turn="c#1") == ["run-input-changed", "end turn"]
    assert (desk.there.run.input, desk.there.run.budget) == ("Other.", Budget(3, 9))


def test_the_tables_are_what_the_log_says(desk: Desk) -> None:
    """Runs, results and modes are folded from the log, and a rebuild makes the same of it."""
    id = desk.asks()
    desk.store.approvals.decide(id, True, by="operator", now=desk.now)
    desk.do(Kind.CLAIM, turn="c#2", host=True)
    desk.do(Kind.CHECKPOINT)
    desk.do(Kind.INTERRUPT)
    assert (refusal(()), desk.there.run.state) == (None, State.PAUSED)
    assert desk.store.log.verify().ok
    assert desk.store.log.rebuild().problems == ()
    before = desk.there
    desk.store.log.rebuild(check=False)
    assert desk.there == before
