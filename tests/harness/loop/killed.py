"""Killing a driven run: at each commit, at each change of an artifact, around each command."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from remit.harness.engine import Engine
from remit.harness.location import locate
from remit.harness.loop import commands as commands_module
from remit.harness.loop.belt import Station
from remit.harness.loop.driving import Driver
from remit.harness.loop.loop import Loop
from remit.harness.loop.scripted import ScriptedCall, ScriptedTurn, ScriptFile, scripted
from remit.harness.sandbox.box import box, choose
from remit.harness.sandbox.survey import ground
from remit.harness.tools import changes as changes_module
from remit.harness.workspace import Workspace
from remit.policy.ceiling import Ceiling
from remit.policy.vocabulary import Dial

#: The spec that the model hands over, and the template that is there before.
SPEC, TEMPLATE = "# Goal\n\nGreet.\n", "# Goal of nothing yet\n"
MODE = """---
artifacts:
  spec: { path: spec.md, template: templates/spec.md }
stages:
  design:
    exit: [{ require: artifact:spec }, { run: echo ran >> ran.txt }]
    next: work
  work: {}
---
Words.
"""
#: Calls that change the disk; a kill at one that only looks is one at the next.
_CHANGES = ("mkdir", "open", "fsync", "replace", "link", "rename", "unlink")


def prepare(root: Path) -> None:
    """Make a workspace with a staged mode and a space in it, whose commands run unasked."""
    folder = root / "home" / "modes" / "build-it"
    (folder / "templates").mkdir(parents=True)
    (folder / "mode.md").write_text(MODE)
    (folder / "templates" / "spec.md").write_text(TEMPLATE)
    (root / "work").mkdir()
    with opened(root, create=True) as at:
        at.create_space("s", "build-it", by="operator", dial=Dial.AUTO, worktree=str(root / "work"))


def _environ(root: Path) -> dict[str, str]:
    return {"REMIT_HOME": str(root / "home"), "HOME": str(root / "home")}


def opened(root: Path, *, create: bool = False) -> Workspace:
    """Open the workspace as the harness does; what is declared is read once."""
    engine = _engine(str(root / "home" / "modes" / "build-it" / "mode.md"))
    environ = _environ(root)
    return Workspace.open(create=create, environ=environ, host="harness", engine=engine)


@cache
def _engine(mode: str) -> Engine:
    return Engine.load([mode])


def drive(at: Workspace, root: Path) -> None:
    """Let a model that completes whatever stage it is in answer a message, and what follows."""
    worktree, backend = str(root / "work"), choose("none", at.engine.registry.backends)
    found = locate(_environ(root))

    def make(ceiling: Ceiling) -> Any:
        return box(ceiling, ground(found, worktree, (), dict(os.environ)), backend, worktree)

    args = {"summary": "Done.", "artifacts": {"spec": SPEC}}
    turn = ScriptedTurn(calls=(ScriptedCall("complete_stage", args),))
    station = Station(worktree, at.host.protected, at.host.secret, None, make, dict(os.environ))
    model, chats = scripted(ScriptFile((turn,) * 30)), root / "home" / "chats"
    loop = Loop(at.space("s").conversation("c"), model, station, chats)
    asyncio.run(Driver(loop).answer("a greeting"))


class Points:
    """Counts the points of a process at which it can be killed, and kills it at one of them."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.names: list[str] = []
        self.kill_at = kill_at

    def reach(self, name: str) -> None:
        if self.kill_at == len(self.names):
            os.kill(os.getpid(), signal.SIGKILL)
        self.names.append(name)


@contextmanager
def watched(at: Workspace, points: Points, statements: tuple[str, ...]) -> Iterator[None]:
    """Report statements of the database that begin so, changes of files, and commands."""

    class Watched:
        def __getattr__(self, name: str) -> object:
            there = getattr(os, name)
            if name not in _CHANGES:
                return there

            def call(*args: Any, **more: Any) -> object:
                if name != "open" or args[1] & os.O_CREAT:
                    points.reach(f"os.{name}")
                return there(*args, **more)

            return call

    def traced(sql: str) -> None:
        if sql.split()[0] in statements:
            points.reach(sql.split()[0])

    database: Any = at.store._database
    database.peewee.connection().set_trace_callback(traced)
    module: Any = commands_module
    run: Callable[..., Any] = module.run_shell

    def command(*args: Any) -> Any:
        points.reach("command begins")
        result = run(*args)
        points.reach("command ended")
        return result

    files: Any = changes_module
    files.os = Watched()
    module.run_shell = command
    try:
        yield
    finally:
        files.os = os
        module.run_shell = run
        database.peewee.connection().set_trace_callback(None)


def killed(root: Path, at: int, statements: tuple[str, ...]) -> None:
    """Drive a run in this process, which is to end at a point."""
    points = Points(at)
    with opened(root) as workspace, watched(workspace, points, statements):
        drive(workspace, root)


def check(root: Path, *, to_the_end: bool = True) -> None:
    """See that a restart leaves what can be trusted, and that the run can be brought to its end."""
    ran, spec = root / "work" / "ran.txt", root / "work" / "spec.md"
    with opened(root) as at:
        times = ran.read_text().count("ran") if ran.exists() else 0
        text = spec.read_text() if spec.exists() else None
        assert times <= 1, "a command ran twice"
        assert text in (None, TEMPLATE, SPEC), "an artifact is half-written"
        for record in at.store.runs.list():
            # Nothing is in flight: what was is paused, and whatever else is as it was.
            assert (record.run.claim, record.run.judging) == (None, None)
            cut = "interrupted" in record.run.settled.values()
            assert not cut or record.run.state in ("paused", "finished")
        assert at.store.log.verify().ok
        if not to_the_end:
            return
        if at.space("s").mode == "build-it":
            drive(at, root)
        (record,) = at.store.runs.list()
        assert record.run.state == "finished"
        assert spec.read_text() == SPEC
        assert at.store.log.rebuild().problems == ()


def _forked(root: Path, at: int, statements: tuple[str, ...]) -> int:
    """Drive a run in a child that is killed at a point; return how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            killed(root, at, statements)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def every_point(folder: Path, statements: tuple[str, ...], *, upto: int | None = None) -> list[str]:
    """Kill at each point that there is, the first some of them at least; return their names."""
    saved, root = folder / "saved", folder / "root"
    prepare(root)
    shutil.copytree(root, saved)
    points = Points()
    with opened(root) as at, watched(at, points, statements):
        drive(at, root)
    check(root)
    for number, name in enumerate(points.names[:upto]):
        shutil.rmtree(root)
        shutil.copytree(saved, root)
        assert _forked(root, number, statements) == -signal.SIGKILL, (number, name)
        check(root, to_the_end=number % 9 == 0)
    return points.names


def main() -> None:
    """Kill at every statement, every change of an artifact and around every command."""
    with tempfile.TemporaryDirectory() as folder:
        kinds = ("BEGIN", "INSERT", "UPDATE", "DELETE", "COMMIT")
        print(f"{len(every_point(Path(folder), kinds))} kills, and nothing was lost or done twice")


if __name__ == "__main__":
    main()
