"""A space in a staged mode, a scripted model that works on its run, and an operator."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from attrs import evolve

from remit.harness.location import locate
from remit.harness.loop.belt import Belt
from remit.harness.loop.driving import Driver
from remit.harness.loop.loop import Ended
from remit.harness.loop.scripted import ScriptedTurn
from remit.harness.sandbox.box import Box, box, choose
from remit.harness.sandbox.survey import ground
from remit.harness.store import RunRecord
from remit.harness.workspace import Workspace
from remit.policy.ceiling import Ceiling
from remit.policy.run import Event, Kind, State, Why
from remit.policy.vocabulary import Dial
from tests.harness.loop.driver import Chat, call, says

FEATURE = """---
artifacts:
  spec: { path: ".runs/{{run.id}}/spec.md", template: templates/spec.md, requiredHeadings: [Goal] }
stages:
  design:
    permission: read-only
    prompt: Write the spec for {{run.input}}.
    on: { enter: [{ inject: artifact:spec }] }
    exit: [{ require: artifact:spec }, { ask: user }]
    next: implement
  implement:
    loop: true
    prompt: Implement {{artifacts.spec.path}}.
    exit: [{ require: artifact:spec }]
---
Follow the conventions.
"""
GOAL = "# Objective\n\n# Acceptance criteria\n\n# Evidence\n"
SPEC = "# Goal\n\nIt greets.\n"


class Runs(Chat):
    """A space in a staged mode of the user's, whose text is given."""

    def __init__(self, home: Path, worktree: Path, text: str, **files: str) -> None:
        self.home, self.file = home, home / "modes" / "build-it" / "mode.md"
        (self.file.parent / "templates").mkdir(parents=True)
        self.file.write_text(text)
        for name, content in files.items():
            (self.file.parent / "templates" / f"{name}.md").write_text(content)
        #: What holds commands; None is no shell.
        self.backend: str | None = None
        self.environ = {"REMIT_HOME": str(home), "HOME": str(home)}
        self.opened = Workspace.open(create=True, environ=self.environ, host="harness")
        space = self.opened.create_space(
            "s", "build-it", by="operator", dial=Dial.AUTO, worktree=str(worktree)
        )
        super().__init__(space, home)

    @property
    def record(self) -> RunRecord:
        return self.at.store.runs.list()[0]

    @property
    def stands(self) -> tuple[str, State, Why | None]:
        run = self.record.run
        return run.stage, run.state, run.why

    def control(self, kind: Kind) -> None:
        now = self.at.clock()
        self.at.store.runs.step(self.record.id, Event(kind), by="operator", now=now)

    def say(self, *turns: ScriptedTurn, prompt: str = "a greeting") -> Ended:
        """Say something to a model that follows a script; returns how it ended."""
        loop = self.loop(*turns)
        if self.backend is not None:
            loop.station = evolve(loop.station, box=self.box, environment=dict(os.environ))
            loop.belt = Belt.of(self.at.engine, loop.station)
        self.driver = Driver(loop)
        return asyncio.run(self.driver.answer(prompt))

    def box(self, ceiling: Ceiling) -> Box:
        """Return the sandbox of a ceiling, as the harness makes it."""
        backend = choose(self.backend or "none", self.at.engine.registry.backends)
        place, worktree = locate(self.environ), self.space.state.worktree
        stands = ground(
            place, worktree, (), dict(os.environ),
            scratch=None if backend.namespaces else str(self.scratch),
        )  # fmt: skip
        return box(ceiling, stands, backend, worktree)


def complete(summary: str = "Done.", **more: object) -> ScriptedTurn:
    return says(call("complete_stage", summary=summary, **more))
