"""Runs of staged modes in the loop: a scripted model, real files, and an operator beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelRequest, SystemPromptPart

from remit.harness.engine import Engine
from remit.harness.loop.driving import Driver
from remit.harness.loop.events import What
from remit.policy.problems import InputError
from remit.policy.run import Kind, State, Why
from tests.harness.loop.driver import call, says
from tests.harness.loop.staged import GOAL, SPEC, Runs, complete

Make = Callable[..., Runs]


def test_a_run_from_its_first_message_to_its_end(make: Make, worktree: Path) -> None:
    """S000-11, S000-23, S000-24, S000-44, S000-89: the host writes what a read-only stage may not,
    a person approves, and the next stage opens by itself."""
    runs = make()
    runs.operator["stage"] = runs.decide()
    ended = runs.say(
        says("I try.", call("write", path="x.txt", content="no")),
        complete(artifacts={"spec": SPEC}),
        says(call("write", path="greet.txt", content="hello\n")),
        complete(),
    )
    record = runs.record
    assert (ended.reason, record.run.state) == ("stage", State.FINISHED)
    assert (worktree / ".runs" / record.id / "spec.md").read_text() == SPEC
    assert (worktree / "greet.txt").read_text() == "hello\n"
    assert not (worktree / "x.txt").exists()
    assert [g.outcome for g in runs.at.store.runs.gates(record.id)] == ["passed"] * 3
    assert (record.run.turns, runs.space.mode) == (1, "chat")


def test_what_the_model_is_told(make: Make) -> None:
    """S000-21, S000-22, S000-71: the brief goes with each request, and what the template made is
    told as the system's words."""
    runs = make()
    runs.say(says("I think."))
    kept = [m for m in runs.driver.loop.history.messages if isinstance(m, ModelRequest)]
    (told,) = [p.content for p in kept[0].parts if isinstance(p, SystemPromptPart)]
    assert f"# Goal of {runs.record.id}" in told
    with runs.space.conversation("c").turn() as turn:
        step = turn.step(runs.driver.loop.belt.catalog)
    for said in ("Follow the conventions.", "Write the spec for a greeting.", "Stage `design`",
                 "`complete_stage`"):  # fmt: skip
        assert said in step.preamble
    assert "write" not in {t.name for t in step.tools}


def test_a_gate_that_fails_is_the_calls_result(make: Make) -> None:
    """S000-39: the model hears what is missing and goes on in the same turn."""
    runs = make()
    runs.say(complete(artifacts={"spec": "nothing"}), says("I stop."))
    assert "lacks the headings `Goal`" in runs.results()[0]
    assert runs.stands == ("design", State.WAITING, Why.STAGE)
    assert runs.record.run.failures == 1


def test_a_rejection_is_the_users_next_message(make: Make) -> None:
    """S000-70: its words go to the model as the user's, and the stage stays."""
    runs = make()
    said = iter(["Shorter, please.", None])
    runs.operator["stage"] = lambda id: runs._decide(id, (w := next(said)) is None, w)
    runs.say(
        complete(artifacts={"spec": SPEC}),
        complete(artifacts={"spec": SPEC}),
        says("I implement."),
        complete(),
    )
    origins = [e.data["origin"] for e in runs.events if e.what is What.TURN]
    assert origins == ["user", "user", "run", "run"]
    assert runs.said(What.TURN)[1] == "Shorter, please."


def test_the_budget_ends_what_the_host_begins(make: Make) -> None:
    """S000-50, S000-51: its turns stop at the limit; a message of the user's still goes on."""
    runs = make("---\nbudget: { maxTurns: 2 }\nstages: { work: { loop: true } }\n---\nWords.\n")
    runs.say(says("one"), says("two"), says("three"), says("four"))
    assert runs.stands == ("work", State.EXHAUSTED, None)
    assert (runs.record.run.turns, runs.record.run.rounds) == (2, 3)
    runs.say(*[says("x")] * 3, complete(), complete(), prompt="and now?")
    assert runs.record.run.state is State.FINISHED
    assert runs.record.run.turns == 2


def test_a_pause_closes_the_turn_out(make: Make) -> None:
    """S000-57, S000-58: a notice as the system, three requests at most, and it is not kept."""
    runs = make("---\nstages: { work: { loop: true } }\n---\nWords.\n")
    looks = says(call("list"))

    runs.on(What.RESULT, lambda _: runs.control(Kind.PAUSE))
    ended = runs.say(*[looks] * 9)
    assert (ended.reason, runs.record.run.state) == ("paused", State.PAUSED)
    assert len([e for e in runs.events if e.what is What.STEP]) == 4
    kept = str(runs.driver.loop.history.messages)
    assert any("paused the run" in t for t in runs.said(What.NOTICE))
    assert "paused the run" not in kept


def test_a_stop_interrupts_the_turn(make: Make) -> None:
    """S000-59: whoever stops it, wherever; what is under way ends at once."""
    runs = make("---\nstages: { work: { loop: true } }\n---\nWords.\n")
    runs.on(What.STEP, lambda _: runs.control(Kind.STOP))
    ended = runs.say(says("slowly" * 100, wait=1.0))
    assert (ended.reason, runs.record.run.state) == ("halted", State.STOPPED)
    assert runs.space.mode == "chat"


def test_unattended_turns_are_capped(make: Make) -> None:
    """S000-85: on an auto dial the host's own turns accept edits; the user's have the dial."""
    runs = make("---\nstages: { work: { loop: true } }\nbudget: { maxTurns: 1 }\n---\nWords.\n")
    runs.say(says("one"), says("two"))
    steps = [e.data["dial"] for e in runs.events if e.what is What.STEP]
    assert steps == ["auto", "accept-edits"]


def test_the_goal_that_is_shipped_keeps_the_dial(make: Make) -> None:
    """S000-84: the mode that remit ships is driven under the space's own dial."""
    runs = make()
    runs.space.set("goal", by="operator")
    runs.say(says("one"), says("two"), complete(artifacts={"goal": GOAL}))
    steps = {e.data["dial"] for e in runs.events if e.what is What.STEP}
    assert steps == {"auto"}
    assert (runs.record.run.turns, runs.record.mode.keeps_dial) == (2, True)


def test_a_snapshot_holds_whatever_the_file_says(make: Make, worktree: Path) -> None:
    """S000-93, S000-94: an edited or deleted mode alters no run that is open."""
    runs = make()
    runs.say(says("I think."))
    runs.file.write_text("---\nstages: { other: {} }\n---\nOther words.\n")
    runs.at.engine = Engine.load([runs.file])
    runs.at.modes.engine = runs.at.engine
    with runs.space.conversation("c").turn() as turn:
        step = turn.step(runs.at.engine.catalog("harness"))
    assert "Follow the conventions." in step.preamble
    assert "write" not in {t.name for t in step.tools}


def test_another_conversation_waits_for_the_run(make: Make) -> None:
    """A space has one open run: whoever talks elsewhere in it is told where it is."""
    runs = make()
    runs.say(says("I think."))
    other = Driver(runs.loop(says("x"), id="d"))
    with pytest.raises(Exception, match="has an open run"):
        asyncio.run(other.answer("me too"))


def test_what_can_never_pass_does_not_begin(make: Make) -> None:
    """A command that nothing could run, or that the ceiling refuses, is told at the start."""
    runs = make(
        "---\npermission: read-only\nstages: { a: { exit: [{ run: git push }] } }\n---\nW\n"
    )
    with pytest.raises(InputError) as caught:
        runs.say(says("x"))
    assert [p.code for p in caught.value.problems] == ["run-gate-never"]
    assert runs.at.store.runs.list() == ()
