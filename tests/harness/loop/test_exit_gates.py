"""Exit gates that run a command, and artifacts: acts of the host, in the worktree."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from remit.harness.loop import commands as commands_module
from remit.harness.loop.events import What
from remit.harness.tools.shell import run_shell
from remit.policy.grants import Grant
from remit.policy.problems import RemitError
from remit.policy.run import State, Why
from remit.policy.vocabulary import Dial
from tests.harness.loop.driver import says
from tests.harness.loop.staged import SPEC, Runs, complete
from tests.needs import missing

Make = Callable[..., Runs]


def gated(command: str, more: str = "") -> str:
    """A mode whose one stage may only read, and whose exit runs a command."""
    return (
        "---\nstages:\n  only:\n    permission: read-only\n"
        f"    exit: [{{ run: {{ command: {command!r} }} {more} }}]\n---\nWords.\n"
    )


@pytest.fixture
def commands(make: Make) -> Callable[..., Runs]:
    def made(command: str, more: str = "", dial: Dial = Dial.AUTO, backend: str = "none") -> Runs:
        runs = make(gated(command, more))
        runs.space.set_dial(dial, by="operator")
        runs.backend = backend
        return runs

    return made


def alive(pid: int) -> bool:
    """Say whether a process is there, and not only waiting to be reaped by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def evidence(runs: Runs) -> list[str]:
    kinds = ("gate.judged",)
    return [e.body["evidence"] for e in runs.at.store.log.read(kinds=kinds)]


def test_a_command_is_the_hosts(commands: Callable[..., Runs], worktree: Path) -> None:
    """S000-69, S000-90: it runs at the root of the workspace, though the stage may only read."""
    runs = commands("pwd && touch made")
    runs.say(complete())
    assert runs.record.run.state is State.FINISHED
    assert str(worktree) in evidence(runs)[0]
    assert (worktree / "made").exists()
    judged = runs.at.store.log.read(kinds=("decision",))[-1]
    assert (judged.actor, judged.body["tool"]) == ("system", "harness:shell")


def test_the_user_denies_it(commands: Callable[..., Runs], worktree: Path) -> None:
    """S000-69: the ordinary prompt applies; a no fails the gate and grants nothing."""
    runs = commands("touch made", dial=Dial.ASK)
    runs.operator["call"] = runs.decide(approve=False, feedback="not now")
    runs.say(complete(), says("I stop."))
    assert not (worktree / "made").exists()
    assert "not now" in evidence(runs)[0]
    assert (runs.record.run.failures, runs.record.run.why) == (1, Why.STAGE)
    assert runs.at.store.grants.list() == ()


def test_the_user_allows_it(commands: Callable[..., Runs], worktree: Path) -> None:
    """It runs once for one approval."""
    runs = commands("echo x >> made", dial=Dial.ASK)
    runs.operator["call"] = runs.decide()
    runs.say(complete())
    assert (worktree / "made").read_text() == "x\n"
    assert [e.data["kind"] for e in runs.events if e.what is What.WAITING] == ["call"]


def test_a_grant_counts(commands: Callable[..., Runs], worktree: Path) -> None:
    """S000-69: what was allowed for good is not asked for again."""
    runs = commands("touch made", dial=Dial.ASK)
    args = '{"command":"touch made"}'
    runs.at.store.grants.add(
        "s", Grant("harness:shell", args), by="operator", now=runs.at.clock() - timedelta(1)
    )
    runs.say(complete())
    assert (worktree / "made").exists()
    assert runs.said(What.WAITING) == []


def test_its_time_is_over(
    commands: Callable[..., Runs], worktree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S000-69: ten minutes unless said; then all that it started is ended."""
    given: list[int] = []

    def soon(command: Any, desk: Any) -> Any:
        given.append(command.timeout)
        return run_shell(evolve(command, timeout=1), desk)

    monkeypatch.setattr(commands_module, "run_shell", soon)
    runs = commands("sleep 300 & echo $! > pid; wait", ", onFail: { retries: 1 }")
    runs.say(complete())
    assert given == [600]
    assert "ended after 1 s" in evidence(runs)[0]
    assert runs.record.run.why is Why.RETRIES
    assert not alive(int((worktree / "pid").read_text()))


def test_the_end_of_a_long_output(commands: Callable[..., Runs]) -> None:
    """S000-73: at most 8 KB goes back, of the end."""
    runs = commands("seq 1 50000; exit 3", ", onFail: { retries: 1 }")
    runs.say(complete())
    told = runs.results()[0]
    assert told.rstrip().endswith("50000")
    assert 7_000 < len(told.encode()) < 8_192 + 200


def test_the_sandbox_of_the_space_holds_it(commands: Callable[..., Runs], tmp_path: Path) -> None:
    """S000-86: what is outside the worktree it cannot write, whatever the command says."""
    outside = tmp_path / "outside"
    runs = commands(f"sh -c 'echo x > {outside}'; cat {outside}", backend="bubblewrap")
    try:
        runs.box(runs.space.workspace.engine.library.default.ceiling)
    except RemitError as error:
        missing(str(error))
    runs.say(complete(), says("I stop."))
    assert len(evidence(runs)) == 1
    assert not outside.exists()


def test_an_artifact_is_not_written_through_a_link(make: Make, worktree: Path) -> None:
    """S000-27, S000-78: nothing outside is touched, and nothing outside passes for an artifact."""
    outside = worktree.parent / "outside"
    outside.mkdir()
    (outside / "spec.md").write_text(SPEC)
    runs = make("---\nartifacts: { spec: { path: docs/spec.md } }\n"
                "stages: { a: { exit: [{ require: artifact:spec }] } }\n---\nW\n")  # fmt: skip
    (worktree / "docs").symlink_to(outside)
    runs.say(complete(artifacts={"spec": "mine"}), complete(), says("I stop."))
    written, required, *_ = runs.results()
    assert "is a link to" in written
    assert "cannot be read" in required
    assert (outside / "spec.md").read_text() == SPEC
    assert (runs.record.run.failures, runs.stands[0]) == (1, "a")


def test_a_template_leaves_what_is_there(make: Make, worktree: Path) -> None:
    """S000-22: an existing file stays as it is."""
    runs = make(
        "---\nartifacts: { spec: { path: spec.md, template: templates/spec.md } }\n"
        "stages: { a: {} }\n---\nW\n"
    )
    (worktree / "spec.md").write_text("mine\n")
    runs.say(says("I look."))
    assert (worktree / "spec.md").read_text() == "mine\n"


def test_what_the_mode_does_not_declare(make: Make, worktree: Path) -> None:
    """S000-27, S000-38: no other file is written, and the model can mend it in the same turn."""
    runs = make(
        "---\nartifacts: { spec: { path: spec.md } }\n"
        "stages: { a: { exit: [{ require: artifact:spec }] } }\n---\nW\n"
    )
    runs.say(complete(artifacts={"other": "x"}), complete(artifacts={"spec": SPEC}))
    assert "declares no artifact `other`" in runs.results()[0]
    assert (runs.record.run.failures, runs.record.run.state) == (0, State.FINISHED)
    assert (worktree / "spec.md").read_text() == SPEC
