"""`remit log` for people: what became of each call, in words."""

from typing import Any

import pytest

from remit.cli.log import event_line
from remit.harness.store import Event
from tests.cli.conftest import Remit

ASKED = {"verdict": "ask", "layer": "gate", "reason": "chat mode asks before `x`"}


def told(kind: str, body: dict[str, Any]) -> str:
    event = Event(1, "2026-11-30T12:00:00Z", kind, "desk", "c", "operator", body, "", "")
    return event_line(event).split(kind, 1)[1].strip()


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ({"forwarded": True, "approval": "a1"}, "ask by gate, ran by approval a1: chat mode"),
        ({"forwarded": True, "grants": ["g1", "g2"]}, "ask by gate, ran by grant g1, g2: chat"),
        ({"forwarded": False, "approval": "a1"}, "ask by gate, did not run (approval a1): chat"),
        ({"forwarded": False, "approval": None}, "ask by gate, did not run: chat mode"),
        ({}, "ask by gate: chat mode asks"),
        ({"verdict": "deny", "forwarded": False}, "deny by gate: chat mode"),
        ({"verdict": "allow", "forwarded": True}, "allow by gate: chat mode"),
    ],
)
def test_what_came_of_a_call(body: dict[str, Any], line: str) -> None:
    """A call that asked is told to have run, and by what, or not to have run.

    Records of an older remit do not say it, and then neither does the line.
    """
    assert told("decision", ASKED | body).startswith(line)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ({"overlay": None}, "overlay=none"),
        ({"locked": True}, "locked=yes"),
        ({"locked": False}, "locked=no"),
        ({"remote": False, "worktree": None}, "remote=no"),
        ({"args": {"force": True, "to": None}}, "args=(force: yes, to: none)"),
        ({"nodes": [{"key": "a", "depends_on": []}]}, "nodes=(key: a, depends_on: none)"),
        ({"effects": ["a", "b"]}, "effects=a, b"),
        ({"effects": [], "why": "", "revision": 2}, "revision=2"),
    ],
)
def test_values_are_words(body: dict[str, Any], line: str) -> None:
    """No value is printed as a program writes it."""
    assert told("space.made", body) == line


@pytest.mark.parametrize(
    ("kind", "body", "line"),
    [
        ("conversation.overlay", {"overlay": None}, "c has this overlay: none"),
        ("conversation.compacted", {}, "c was shortened by its host"),
        ("branch.moved", {"to": 7, "mode": "plan", "told": {}}, "c goes on from record 7, in plan"),
        ("profile.kept", {"mode": "mine", "profile": {}}, "what mine mode is was kept"),
        ("mode.kept", {"mode": "fix", "snapshot": "{}"}, "fix mode was kept as a run begins"),
        ("run.started", {"run": "r1", "mode": "fix"}, "c: run r1 of fix mode begins"),
        (
            "gate.judged",
            {"run": "r1", "stage": "do", "gate": 0, "outcome": "passed", "evidence": "x"},
            "run r1, stage do: gate 0 passed",
        ),
        ("plan.ticked", {"task": "t3"}, "c: task t3 is done"),
    ],
)
def test_records_are_sentences(kind: str, body: dict[str, Any], line: str) -> None:
    """What happens in a conversation and to a run is told in a sentence, snapshots left out."""
    assert told(kind, body).startswith(line)


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("log", "garden"), "`remit log --space garden` prints those of a space"),
        (("space", "garden"), "`remit space show garden` shows a space"),
        (("approvals", "a0123456789"), "`remit approvals approve a0123456789` approves one"),
        (("plans", "p0123456789"), "`remit plans show p0123456789` shows one"),
    ],
)
def test_a_name_in_place_of_a_command(remit: Remit, command: tuple[str, ...], hint: str) -> None:
    """Whoever names a thing where a command is wanted is told the command for it."""
    said = remit(*command)

    assert said.code == 2
    assert hint in said.err
