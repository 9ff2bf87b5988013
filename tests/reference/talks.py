"""Any sequence of what happens to conversations, in the engine and in the slow reference.

Each act does the same in both and compares what comes back. Hypothesis chooses them as rules, and
a walk goes where it has not been yet.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from remit.harness import turns, workspace
from remit.harness.conversation import Conversation
from remit.harness.engine import Engine
from remit.harness.natives import Answer
from remit.harness.session import Run
from remit.harness.store import ApprovalState, Outcome, Overlay, Store
from remit.harness.store.log import Writer
from remit.harness.turns import Step, Turn
from remit.harness.workspace import Workspace
from remit.policy.projection import Host
from remit.policy.tools import Call, Catalog
from remit.policy.vocabulary import Dial
from tests.reference.conversations import OVERLAYS, Model, Seen, Talk

__all__ = ["CALLS", "INTENTS", "Conversations"]

AT = datetime(2026, 12, 1, tzinfo=UTC)
TOOLS = """
[tools.look]
tier = "read"
effects = []
[tools.note]
tier = "write"
effects = ["worktree.write"]
[tools.push]
tier = "write"
effects = ["git.push"]
"""
EXIT = 'exit = "exit_plan_mode"\nexit_to = "chat"\n'
PROFILES = {
    "no-note": '[ceiling]\ndeny = ["note"]\n[brief]\nannounce = "on-change"\n',
    "no-push": '[ceiling]\ndeny = ["push"]\n[brief]\nannounce = "every-turn"\n'
    f'children = ["no-push", "shut"]\n{EXIT}',
    "shut": f'[ceiling]\ndeny = ["note", "push"]\n[brief]\nannounce = "on-change"\n{EXIT}',
}
CALLS = ("look", "note", "push", "exit")
INTENTS = ("chat", *PROFILES)

talks = st.integers(0, 7)
pick = st.integers(0, 40)


class Broken(Exception):
    """The record could not be written."""


@cache
def world() -> tuple[Engine, Catalog]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PROFILES.items():
            Path(folder, f"{name}.toml").write_text(f'name = "{name}"\n{text}')
        Path(folder, "desk.toml").write_text(TOOLS)
        profiles = [Path(folder, f"{name}.toml") for name in PROFILES]
        engine = Engine.load(profiles, [Path(folder, "desk.toml")])
        assert engine.library.problems == ()
    return engine, engine.operators


def overlaid(name: str | None) -> Overlay | None:
    return None if name is None else Overlay("o.toml", f'[ceiling]\ndeny = ["{name}"]\n')


class Conversations(RuleBasedStateMachine):
    """One space, its conversations, and those who act on them, in the engine and in the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.engine, self.tools = world()
        self.dead: set[str] = set()
        self.life = 0
        self.patches: list[Any] = [
            mock.patch.object(turns, "owner", self.owner),
            mock.patch.object(turns, "gone", lambda name: name in self.dead),
            mock.patch.object(workspace, "gone", lambda name: name in self.dead),
        ]
        for patch in self.patches:
            patch.start()
        Store.open(self.path, create=AT).close()
        self.at = self.opened()
        self.space = self.at.create_space("s", by="operator", dial=Dial.AUTO)
        self.model = Model()
        self.talks: dict[str, Conversation] = {}
        self.turns: dict[str, Turn] = {}
        self.steps: dict[str, list[tuple[Step, Seen]]] = {}
        #: The act that came last, for whoever counts them.
        self.last = ""

    def owner(self) -> str:
        return f"process {self.life}"

    @property
    def path(self) -> Path:
        return Path(self.folder.name) / "remit.db"

    def opened(self) -> Workspace:
        return Workspace(self.engine, Store.open(self.path), Host("library"), lambda: AT)

    def teardown(self) -> None:
        assert self.at.store.log.verify().problem is None
        assert self.at.store.log.rebuild().problems == ()
        self.at.close()
        for patch in self.patches:
            patch.stop()
        self.folder.cleanup()

    def did(self, what: str) -> None:
        self.last = what

    def among(self, at: int, *, open: bool | None = None) -> Talk | None:
        found = [t for t in self.model.talks.values() if open is None or t.open == open]
        return found[at % len(found)] if found else None

    def another(self) -> str:
        return f"c{len(self.model.talks)}"

    @contextmanager
    def failing(self, after: int) -> Iterator[None]:
        """Let the record after so many others fail, and with it all that was written with it."""
        record, left = Writer.record, [after]

        def refuse(writer: Writer, *args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Broken
            return record(writer, *args, **kwargs)

        with mock.patch.object(Writer, "record", refuse):
            yield

    # What operators do.

    @rule(mode=st.sampled_from(INTENTS))
    def switch(self, mode: str) -> None:
        self.did("switch")
        expected = self.model.set(mode)
        assert self.space.set(mode, by="operator").answer == expected

    @rule(dial=st.sampled_from(Dial))
    def turn_the_dial(self, dial: Dial) -> None:
        self.did("dial")
        self.model.dial = dial.value
        self.space.set_dial(dial, by="operator")

    @rule(name=st.sampled_from(tuple(OVERLAYS)))
    def narrow_the_space(self, name: str | None) -> None:
        self.did("space overlay")
        self.model.overlay = name
        self.at.store.spaces.set_overlay("s", overlaid(name), by="operator", now=AT)

    @rule(at=talks, name=st.sampled_from(tuple(OVERLAYS)))
    def narrow_a_conversation(self, at: int, name: str | None) -> None:
        if talk := self.among(at):
            self.did("conversation overlay")
            talk.overlay = name
            self.talks[talk.id].set_overlay(overlaid(name), by="operator")

    @rule()
    def approve(self) -> None:
        if self._approve():
            self.did("approve")

    def _approve(self) -> bool:
        waiting = self.at.store.approvals.list(now=AT, state=ApprovalState.PENDING)
        expected = self.model.approve()
        assert len(waiting) == len(expected)
        for one in waiting:
            self.at.store.approvals.decide(one.id, True, by="operator", now=AT)
        return bool(waiting)

    # What hosts do.

    @rule()
    def talk(self) -> None:
        if len(self.model.talks) < 8:
            self.did("conversation")
            id = self.another()
            self.model.talk(id)
            self.talks[id] = self.space.conversation(id)

    @rule(at=talks, which=st.integers(0, 1))
    def child(self, at: int, which: int) -> None:
        talk = self.among(at)
        if talk is None or talk.depth == 3 or len(self.model.talks) >= 8:
            return
        self.did("child")
        names = self.model.children(talk)
        mode, id = names[which % len(names)], self.another()
        self.model.child(id, talk, mode)
        self.talks[id] = self.talks[talk.id].child(mode, id=id)

    @rule(at=talks, step=pick)
    def fork(self, at: int, step: int) -> None:
        talk = self.among(at)
        if talk is None or len(self.model.talks) >= 8:
            return
        self.did("fork")
        id, places = self.another(), [None, *talk.was]
        place = places[step % len(places)]
        self.model.fork(id, talk, place)
        self.talks[id] = self.talks[talk.id].fork(id, at=place)

    @rule(at=talks, step=pick)
    def move(self, at: int, step: int) -> None:
        talk = self.among(at, open=False)
        if talk is not None and talk.was:
            self.did("move")
            place = list(talk.was)[step % len(talk.was)]
            self.model.move(talk, place)
            self.talks[talk.id].move(place)

    @rule(at=talks)
    def compact(self, at: int) -> None:
        if talk := self.among(at):
            self.did("compact")
            self.talks[talk.id].compacted()

    @rule(at=talks, narrowed=st.sampled_from((None, None, *OVERLAYS)))
    def begin(self, at: int, narrowed: str | None) -> None:
        if talk := self.among(at, open=False):
            self.did("begin")
            self._begin(talk, narrowed)

    def _begin(self, talk: Talk, narrowed: str | None = None) -> None:
        self.model.begin(talk, narrowed)
        self.turns[talk.id] = self.talks[talk.id].turn(overlay=overlaid(narrowed)).__enter__()
        self.steps[talk.id] = []

    @rule(at=talks)
    def step(self, at: int) -> None:
        if talk := self.among(at, open=True):
            self.did("step")
            self._step(talk)

    def _step(self, talk: Talk) -> None:
        expected = self.model.step(talk)
        step = self.turns[talk.id].step(self.tools)
        talk.was[step.position] = (talk.mode, talk.revision, talk.hearing)
        assert step.mode == expected.mode
        assert {t.name for t in step.tools if not t.native} == {
            "look", "note", "push"
        } - expected.refused  # fmt: skip
        assert (step.preamble == "") == (step.mode == "chat" and not expected.refused)
        assert [m.what.value for m in step.notices] == [expected.message] * bool(expected.message)
        self.steps[talk.id].append((step, expected))

    @rule(at=talks, step=st.integers(-3, -1), tools=st.lists(st.sampled_from(CALLS), max_size=4))
    def batch(self, at: int, step: int, tools: list[str]) -> None:
        """Calls of a step, perhaps of one that another followed already."""
        talk = self.among(at, open=True)
        if talk is None or not self.steps[talk.id] or not tools:
            return
        self.did("batch")
        place, seen = self.steps[talk.id][max(step, -len(self.steps[talk.id]))]
        for tool in tools:
            self._call(talk, place, seen, tool)

    def _call(self, talk: Talk, step: Step, seen: Seen, tool: str) -> str:
        if tool == "exit":
            answer = step.decide(Call("exit_plan_mode"))
            expected = self.model.leave(talk, seen.frame)
            assert isinstance(answer, Answer)
            pending = (answer.data or {}).get("state") == "pending"
            assert pending == (expected == "ask")
            assert answer.error == (expected in ("deny", "left"))
            return expected
        answer = step.decide(Call(tool))
        expected = self.model.call(talk, seen.frame, tool)
        if isinstance(answer, Run):
            assert expected == "allow"
        else:
            assert expected == ("ask" if answer.data else "deny")
        return expected

    @rule(at=talks, tool=st.sampled_from(CALLS))
    def granted(self, at: int, tool: str) -> None:
        """A call of a fresh step, all that waits is approved, and the call again."""
        if talk := self.among(at, open=True):
            self.did("approved call")
            self._step(talk)
            step, seen = self.steps[talk.id][-1]
            if self._call(talk, step, seen, tool) == "ask":
                self._approve()
                self._call(talk, step, seen, tool)

    @rule(at=talks, well=st.booleans())
    def end(self, at: int, well: bool) -> None:
        if talk := self.among(at, open=True):
            self.did("end")
            self.model.end(talk, well=well)
            self.turns.pop(talk.id).close(Outcome.ENDED if well else Outcome.FAILED)

    @rule(killed=st.booleans())
    def restart(self, killed: bool) -> None:
        """The process ends, with its turns closed or killed; another one takes over."""
        self.did("kill" if killed else "restart")
        for talk in self.model.talks.values():
            if talk.open:
                self.model.end(talk, well=not killed)
                turn = self.turns.pop(talk.id)
                if not killed:
                    turn.close()
        self.dead.add(f"process {self.life}")
        self.life += 1
        self.at.close()
        self.at = self.opened()
        self.space = self.at.space("s")
        self.talks = {id: self.at.conversation(id) for id in self.talks}

    @rule(at=talks, after=st.integers(0, 2), what=st.sampled_from(("step", "begin", "call", "set")))
    def fail(self, at: int, after: int, what: str) -> None:
        """The writing of a record fails: the act can be done again, or its record waits."""
        acts: dict[str, Callable[[], object]] = {"set": lambda: self._reset()}
        if idle := self.among(at, open=False):
            acts["begin"] = lambda: self.talks[idle.id].turn().__enter__()
        if busy := self.among(at, open=True):
            acts["step"] = lambda: self.turns[busy.id].step(self.tools)
            if self.steps[busy.id]:
                acts["call"] = lambda: self._unrecorded(busy)
        if what not in acts:
            return
        self.did("failed append")
        # An act that has fewer records would happen: the first one of it is what fails then.
        with self.failing(min(after, {"begin": 0, "step": 0}.get(what, 0))), pytest.raises(Broken):
            acts[what]()

    def _unrecorded(self, talk: Talk) -> None:
        """A call whose record fails beside its path: whoever asks hears of it, and it waits on."""
        step, seen = self.steps[talk.id][-1]
        self._call(talk, step, seen, "look")
        self.at.recorder.flush()

    def _reset(self) -> None:
        self.space.set(next(m for m in INTENTS if m != self.model.mode), by="operator")

    @invariant()
    def the_engine_is_where_the_model_is(self) -> None:
        state = self.space.state
        assert (state.mode, state.revision) == (self.model.mode, self.model.revision)
        for id, talk in self.model.talks.items():
            record = self.talks[id].record
            assert (record.mode, record.open) == (talk.mode, talk.open), id

    @invariant()
    def no_child_may_more_than_its_parent(self) -> None:
        for talk in self.model.talks.values():
            if talk.child:
                parent = self.model.talks[talk.parent or ""]
                assert self.model.refused(talk) >= self.model.refused(parent) - frozenset(
                    # What narrows a conversation until its next turn begins narrows it alone.
                    () if parent.open else self.model.refused(parent)
                )
