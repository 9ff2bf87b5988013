"""The writer is killed at every step that it takes; nothing is lost and nothing happens twice."""

import itertools
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from remit.harness.store import (
    ApprovalKind,
    ApprovalState,
    ExitState,
    Overlay,
    Store,
    StoreConflict,
)
from remit.harness.store import anchor as anchor_module
from remit.harness.store import plan_file as plan_file_module
from remit.harness.store.sqlite import Sqlite
from remit.policy.gate import Setting
from remit.policy.grants import Grant
from remit.policy.plan import Plan, PlanNode
from remit.policy.run import OPEN, Event, Kind
from remit.policy.staged import StagedMode
from remit.policy.vocabulary import Verdict
from remit.profiles.library import Library
from remit.profiles.source import Source

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=31)
PLAN = Plan("ship it", (PlanNode("a", "first"), PlanNode("b", "second", depends_on=("a",))))

Act = Callable[[Store], None]


def pending(store: Store, kind: ApprovalKind = ApprovalKind.CALL) -> str:
    return store.approvals.open(
        kind,
        space="demo",
        conversation="c1",
        requested_by="agent:c1",
        digest="d1",
        shown="run it",
        now=NOW,
    ).id


def open_again(store: Store) -> None:
    pending(store)


def approved(store: Store) -> None:
    store.approvals.decide(pending(store), True, by="operator", now=NOW)


def granted_exit(store: Store) -> None:
    pending(store)
    asked = store.exits.request("demo", "c1", "chat", by="agent:c1", now=NOW)
    assert asked.approval is not None
    store.approvals.decide(asked.approval.id, True, by="operator", now=NOW)


def newest(store: Store) -> str:
    return store.approvals.list(now=NOW)[0].id


def nothing(store: Store) -> None:
    pass


def switch(store: Store) -> None:
    store.spaces.set_mode("demo", "chat", by="operator", why="go", now=NOW, expect=1)


def decide(store: Store) -> None:
    store.approvals.decide(newest(store), True, by="operator", now=NOW, dial=None)


def use(store: Store) -> None:
    try:
        store.approvals.use(newest(store), now=NOW)
    except StoreConflict as error:
        # Used before it was killed: told as such, and what it allowed is not done again.
        there = error.now
        assert there.state is ApprovalState.USED


def expire(store: Store) -> None:
    store.approvals.expire(now=LATER)


def leave(store: Store) -> None:
    answer = store.exits.request("demo", "c1", "chat", by="agent:c1", now=NOW)
    assert answer.state in (ExitState.LEFT, ExitState.THERE)


def narrow(store: Store) -> None:
    setting = Setting("git.push", Verdict.DENY)
    store.spaces.set_effect("demo", setting, by="operator", now=NOW)
    store.spaces.set_overlay("demo", Overlay("o.toml", "[ceiling]\n"), by="operator", now=NOW)
    store.spaces.set_lock("demo", True, by="operator", now=NOW)


def widen(store: Store) -> None:
    if store.spaces.get("demo").effects:
        store.spaces.clear_effect("demo", "git.push", by="operator", now=NOW)
    store.spaces.set_overlay("demo", None, by="operator", now=NOW)
    store.spaces.set_lock("demo", False, by="operator", now=NOW)


def grant(store: Store) -> None:
    store.grants.add("demo", Grant("mcp-git:git_push", "{}"), by="operator", now=NOW)


def revoke(store: Store) -> None:
    store.grants.revoke(store.grants.list()[0].id, by="operator", now=NOW)


def changed(store: Store) -> None:
    """A tool is granted as it was called, and then called as another."""
    for hash in ("one", "other"):
        body = {"tool": "mcp-git:git_push", "tool_hash": hash, "cause": "effect"}
        store.log.record("decision", body, space="demo", actor="agent:c1", now=NOW)
        if hash == "one":
            grant(store)


def bind(store: Store) -> None:
    """A granted call, as a session makes it: bound, and recorded, in one transaction."""
    given = store.grants.list()[0]
    with store.log.writing(NOW) as writer:
        if given.tool_hash is None:
            store.grants.bind(writer, given, "hash")
            writer.record("decision", {"grants": [given.id]}, space="demo", actor="agent:c1")


def submit(store: Store) -> None:
    store.plans.submit("demo", "c1", PLAN, by="agent:c1", now=NOW)


def resubmit(store: Store) -> None:
    other = Plan("ship it well", PLAN.nodes)
    store.plans.submit("demo", "c1", other, by="agent:c1", now=NOW)


STAGED = "---\nstages: { only: { exit: [{ run: make test }] } }\n---\nWords.\n"


def begun(store: Store) -> None:
    entry = Library.load([Source(STAGED, "modes/build-it/mode.md")]).entry("build-it")
    assert entry.profile is not None
    assert entry.workflow is not None
    mode = StagedMode(entry.profile, entry.workflow, entry.stages)
    store.spaces.set_mode("demo", "build-it", by="operator", why="", now=NOW)
    if store.runs.open_in("demo") is None:
        store.runs.start(mode, "demo", "c1", "go", by="operator", now=NOW)


def walk(store: Store) -> None:
    """Take a run from its claim to its end; what comes next follows from the run."""
    id = store.runs.list()[0].id
    while (run := store.runs.get(id).run).state in OPEN or run.claim is not None:
        by, event = "system", Event(Kind.SETTLE, turn="c1#1")
        if run.claim is None:
            event = Event(Kind.CLAIM, turn="c1#1")
        elif run.judging is not None:
            event = Event(Kind.GATE, turn="c1#1", gate=0, passed=True)
        elif not run.claim.done:
            by, event = "agent:c1", Event(Kind.COMPLETE, turn="c1#1")
        store.runs.step(id, event, by=by, now=NOW, owner="me")


@frozen
class Case:
    """What is there before, what is done, and how many records of each kind it leaves."""

    before: Act
    act: Act
    leaves: dict[str, int]


CASES = {
    "switch": Case(approved, switch, {"mode.set": 1, "approval.superseded": 1}),
    "open": Case(nothing, open_again, {"approval.opened": 1}),
    "decide": Case(open_again, decide, {"approval.decided": 1}),
    "use": Case(approved, use, {"approval.used": 1}),
    "expire": Case(approved, expire, {"approval.expired": 1}),
    "exit": Case(
        granted_exit, leave, {"approval.used": 1, "mode.set": 1, "approval.superseded": 1}
    ),
    "narrow": Case(nothing, narrow, {"effects.set": 1, "overlay.set": 1, "lock.set": 1}),
    "widen": Case(narrow, widen, {"effects.set": 2, "overlay.set": 2, "lock.set": 2}),
    "grant": Case(nothing, grant, {"grant.added": 1}),
    "grant anew": Case(changed, grant, {"grant.added": 2, "grant.revoked": 1}),
    "revoke": Case(grant, revoke, {"grant.added": 1, "grant.revoked": 1}),
    "granted call": Case(grant, bind, {"grant.bound": 1, "decision": 1}),
    "plan": Case(nothing, submit, {"plan.submitted": 1, "plan.filed": 1}),
    "run begun": Case(nothing, begun, {"mode.kept": 1, "run.started": 1, "mode.set": 1}),
    "run": Case(begun, walk, {"run.stepped": 4, "gate.judged": 1, "mode.set": 2}),
    "plan again": Case(
        submit, resubmit, {"plan.submitted": 2, "plan.superseded": 1, "plan.filed": 2}
    ),
}


class Steps:
    """Counts the steps of a writer, and kills the process at one of them."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.names: list[str] = []
        self.kill_at = kill_at

    def step(self, name: str) -> None:
        if self.kill_at == len(self.names):
            os.kill(os.getpid(), signal.SIGKILL)
        self.names.append(name)


WATCHED = ("mkdir", "open", "fsync", "pwrite", "link", "unlink")


@contextmanager
def watched(store: Store, steps: Steps) -> Iterator[None]:
    """Report each SQL statement and each change that is made to the anchor and the plan file."""

    class Watched:
        def __getattr__(self, name: str) -> object:
            there = getattr(os, name)
            if name not in WATCHED:
                return there

            def call(*args: Any, **kwargs: Any) -> object:
                # Opening what is there changes nothing, so a kill there is one at the next step.
                if name != "open" or args[1] & os.O_CREAT:
                    steps.step(f"os.{name}")
                return there(*args, **kwargs)

            return call

    assert isinstance(store._database, Sqlite)
    connect: Any = store._database.peewee.connection
    connection: sqlite3.Connection = connect()
    connection.set_trace_callback(lambda sql: steps.step(sql.split()[0]))
    modules = (anchor_module, plan_file_module)
    for module in modules:
        module.os = Watched()  # type: ignore[attr-defined]
    try:
        yield
        steps.step("end")
    finally:
        connection.set_trace_callback(None)
        for module in modules:
            module.os = os  # type: ignore[attr-defined]


def counted(store: Store) -> dict[str, int]:
    found: dict[str, int] = {}
    for event in store.log.read():
        found[event.kind] = found.get(event.kind, 0) + 1
    return found


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def template(case: Case, tmp_path: Path) -> Path:
    """A workspace as it is before the act; copies of it are killed."""
    folder = tmp_path / "template"
    (folder / "wt").mkdir(parents=True)
    with Store.open(folder / "remit.db", create=NOW) as store:
        store.spaces.create("demo", "plan", by="operator", now=NOW, worktree=str(folder / "wt"))
        case.before(store)
    return folder


def test_a_killed_writer_loses_nothing_and_repeats_nothing(
    case: Case,
    template: Path,
    tmp_path: Path,
    forked: Callable[[Callable[[], None]], int],
) -> None:
    """Promise 8: killed at any statement or system call, the log verifies and tables equal it.

    The act is then done again, by a process that knows of no crash, and has happened once.
    """
    saved = tmp_path / "saved"
    shutil.copytree(template, saved)
    for at in itertools.count():
        shutil.rmtree(template)
        shutil.copytree(saved, template)

        def act(at: int = at) -> None:
            with Store.open(template / "remit.db") as store:
                steps = Steps(kill_at=at)
                with watched(store, steps):
                    case.act(store)

        ended = forked(act)
        assert ended in (0, -signal.SIGKILL), f"step {at} ended with {ended}"
        with Store.open(template / "remit.db") as store:
            assert store.log.verify().problem is None, at
            assert store.log.rebuild().problems == (), at
            case.act(store)
            store.log.record("contract", {"outcome": "unmet"}, actor="system", now=NOW)
            assert store.log.verify().problem is None, at
            assert store.log.verify().ahead == 0, at
            assert store.log.rebuild().problems == (), at
            assert {k: counted(store).get(k, 0) for k in case.leaves} == case.leaves, at
            for plan in store.plans.list():
                assert plan.path is not None
                assert Path(plan.path).read_text().startswith("# ship it")
        if ended == 0:
            break
    # BEGIN, a look at the head, an insert, COMMIT, and the anchor's steps at the least.
    assert at >= 10


def test_a_killed_maker_leaves_what_a_second_one_finishes(
    tmp_path: Path, forked: Callable[[Callable[[], None]], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any statement of the making, a database is made whole by making it again."""
    connect: Any = sqlite3.connect

    for at in itertools.count():
        path = tmp_path / str(at) / "remit.db"
        steps = Steps(kill_at=at)

        def traced(*args: Any, steps: Steps = steps, **kwargs: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*args, **kwargs)
            connection.set_trace_callback(lambda sql: steps.step(sql.split()[0]))
            return connection

        def make(path: Path = path) -> None:
            Store.open(path, create=NOW).close()

        with monkeypatch.context() as patched:
            patched.setattr(sqlite3, "connect", traced)
            ended = forked(make)
        assert ended in (0, -signal.SIGKILL), f"step {at} ended with {ended}"
        with Store.open(path, create=NOW) as store:
            assert counted(store) == {"workspace.made": 1}
            assert store.log.verify().ok
            assert store.log.rebuild().equal
        if ended == 0:
            break
    assert at > 20
