"""Several operators at their command lines, and approvals whose time is over."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import remit.cli.approvals as approvals_command
from remit.harness.store import ApprovalKind, Store
from tests.cli.conftest import Remit
from tests.cli.world import asked

Made = dict[str, str]


@pytest.fixture
def call(remit: Remit, workspace: Made) -> str:
    """An approval that waits."""
    remit("space", "create", "desk")
    with Store.open(workspace["db"]) as store:
        return asked(store, "desk", ApprovalKind.CALL)


def test_of_two_at_once_one_wins(workspace: Made, call: str) -> None:
    """Opposite decisions from two terminals: one holds, the other is told what holds."""
    env = {**os.environ, "PYTHONPATH": str(Path(approvals_command.__file__).parents[2])}
    racing = [
        subprocess.Popen(
            [sys.executable, "-m", "remit", "approvals", verb, call],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for verb in ("approve", "reject")
    ]
    ended = {p.args[4]: (*p.communicate(timeout=60), p.returncode) for p in racing}  # type: ignore[index]

    with Store.open(workspace["db"]) as store:
        state = store.approvals.get(call, now=datetime.now(UTC)).state
        decided = store.log.read(kinds=("approval.decided",))
    won, lost = ("approve", "reject") if state == "approved" else ("reject", "approve")
    assert len(decided) == 1
    assert ended[won][2] == 0
    assert ended[lost] == ("", ended[lost][1], 2)
    assert f"`{call}` was {state} by `operator` already" in ended[lost][1]


@pytest.mark.parametrize(("first", "other"), [("approve", "reject"), ("reject", "approve")])
def test_again(remit: Remit, call: str, first: str, other: str) -> None:
    """The same decision again changes nothing; the opposite one is told what was decided."""
    done = remit("approvals", first, call, "--json")
    log = remit("log", "--json").out

    assert remit("approvals", first, call, "--json") == done
    said = remit("approvals", other, call)

    assert (said.code, said.out) == (2, "")
    assert "already" in said.err
    assert remit("log", "--json").out == log


def test_too_late(remit: Remit, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After thirty minutes a call can no longer be approved, and is listed as expired."""
    later = datetime.now(UTC) + timedelta(minutes=31)
    monkeypatch.setattr(approvals_command, "now", lambda: later)

    said = remit("approvals", "approve", call)

    assert (said.code, said.out) == (2, "")
    assert f"approval `{call}` expired at " in said.err
    assert [a["state"] for a in remit("approvals", "list", "--json").json] == ["expired"]


def test_after_a_switch(remit: Remit, call: str) -> None:
    """What was asked for in a mode that was left can no longer be approved."""
    remit("space", "set", "desk", "plan")

    said = remit("approvals", "approve", call)

    assert (said.code, said.out) == (2, "")
    assert "superseded" in said.err
    assert [a["state"] for a in remit("approvals", "list", "--json").json] == ["superseded"]


def test_not_by_whoever_asked(remit: Remit, workspace: Made) -> None:
    """A request that an operator made is decided by another one."""
    remit("space", "create", "desk")
    with Store.open(workspace["db"]) as store:
        mine = store.approvals.open(
            ApprovalKind.CALL,
            space="desk",
            conversation="c",
            requested_by="operator",
            digest="d",
            shown="x",
            now=datetime.now(UTC),
        ).id

    for verb in ("approve", "reject"):
        said = remit("approvals", verb, mine)
        assert (said.code, said.out) == (2, "")
        assert "cannot decide it" in said.err
