"""The stage of a run is a rung of the ladder: it narrows whatever it is met with, and only that."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.harness.engine import Engine
from remit.harness.session import Session
from remit.harness.store import Overlay
from remit.harness.workspace import OpenSpace, Workspace
from remit.policy.profile import Profile
from remit.policy.run import Event, Kind
from remit.policy.vocabulary import Dial, Posture

MODE = """---
stages:
  look: { permission: read-only, next: work }
  work: { loop: true }
---
Words.
"""


@pytest.fixture
def space(tmp_path: Path) -> Iterator[OpenSpace]:
    """A space in a staged mode whose first stage may only read."""
    file = tmp_path / "modes" / "build-it" / "mode.md"
    file.parent.mkdir(parents=True)
    file.write_text(MODE)
    environ = {"REMIT_HOME": str(tmp_path), "HOME": str(tmp_path)}
    engine = Engine.load([file])
    with Workspace.open(create=True, environ=environ, engine=engine) as at:
        yield at.create_space("s", "build-it", by="operator", dial=Dial.AUTO)


def begin(space: OpenSpace, *, stage: str = "look", host: bool = False) -> None:
    """Start a run in the conversation `c`, in one of the stages, with a turn under way."""
    store, now = space.workspace.store, datetime.now(UTC)
    mode = space.workspace.engine.library.staged("build-it")
    assert mode is not None
    space.conversation("c")
    id = store.runs.start(mode, "s", "c", "go", by="operator", now=now).id
    store.runs.step(id, Event(Kind.CLAIM, turn="c#1"), by="system", now=now, owner="me")
    if stage == "work":
        store.runs.step(id, Event(Kind.SETTLE, turn="c#1"), by="system", now=now)
        claim = Event(Kind.CLAIM, turn="c#2", host=host)
        store.runs.step(id, claim, by="system", now=now, owner="me")


def held(space: OpenSpace, id: str = "c") -> Profile:
    return space.conversation(id).profile


def verbs(profile: Profile) -> tuple[str, ...]:
    return profile.brief.verbs if profile.brief else ()


def test_without_a_run_the_first_stage_holds(space: OpenSpace) -> None:
    """S000-87: a host that drives no runs is no way around the stages."""
    profile = held(space)
    assert (profile.ceiling.posture, verbs(profile)) == (Posture.READ_ONLY, ())


def test_the_stage_holds_in_the_whole_space(space: OpenSpace) -> None:
    """Its ceiling is every conversation's, its verb the run's own and a turnless host's."""
    begin(space)
    at = space.workspace
    session = Session(at.engine, at.store, "s", "gw", at.host)
    profiles = [held(space), held(space, "other"), session.frame().profile]
    assert {p.ceiling.posture for p in profiles} == {Posture.READ_ONLY}
    assert [bool(verbs(p)) for p in profiles] == [True, False, True]


def test_the_next_stage_is_as_wide_as_its_mode(space: OpenSpace) -> None:
    """S000-86: a stage without a permission has the mode's, and no more."""
    begin(space, stage="work")
    mode = space.workspace.engine.library.staged("build-it")
    assert mode is not None
    assert held(space).ceiling.posture is Posture.WRITABLE
    assert held(space).ceiling.narrower_or_equal(mode.profile.ceiling)


def test_overlays_narrow_a_stage(space: OpenSpace) -> None:
    """What an operator narrows holds in every stage."""
    begin(space, stage="work")
    overlay = Overlay("o.toml", '[ceiling]\nposture = "read-only"\n')
    store, now = space.workspace.store, datetime.now(UTC)
    store.spaces.set_overlay("s", overlay, by="operator", now=now)
    assert held(space).ceiling.posture is Posture.READ_ONLY


def test_a_child_is_under_the_stage(space: OpenSpace) -> None:
    """A subagent has its own brief, and no more than the stage of its parent."""
    begin(space)
    child = space.conversation("c").child()
    assert verbs(child.profile) == ()
    assert child.profile.ceiling.narrower_or_equal(held(space).ceiling)


@pytest.mark.parametrize(("id", "dial"), [("c", Dial.ACCEPT_EDITS), ("other", Dial.AUTO)])
def test_the_dial_of_an_unattended_turn(space: OpenSpace, id: str, dial: Dial) -> None:
    """S000-85: it is capped where the run is worked on, and in no other conversation."""
    begin(space, stage="work", host=True)
    with space.conversation(id).turn() as turn:
        assert turn.step().frame.space.dial is dial


def test_a_mode_that_was_left_has_no_stage(space: OpenSpace) -> None:
    """S000-67: in another mode the run is paused, and what holds is that mode's alone."""
    begin(space)
    space.set("plan", by="operator")
    assert held(space).name == "plan"
    assert verbs(held(space)) == ("remit:submit_plan",)
