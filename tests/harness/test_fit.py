"""A running host holds a mode against the tools that there are (design section 5)."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.harness.engine import Engine
from remit.harness.session import Answer, Run, Session
from remit.harness.store import Store
from remit.policy.projection import Host
from remit.policy.tools import Call

NOW = datetime(2026, 11, 30, tzinfo=UTC)
GIT_LOG = Call("git_log", {"repo_path": "/r"})


def session(folder: Path, text: str, server: str = "git") -> Session:
    """A session in a mode of one's own, in front of a server of that name."""
    (folder / "own.toml").write_text(f'name = "own"\n{text}')
    engine = Engine.load([folder / "own.toml"])
    assert engine.library.problems == ()
    store = Store.open(folder / "remit.db", create=NOW)
    store.spaces.create("s", "own", by="operator", now=NOW)
    made = Session(engine, store, "s", "c", Host("test"), lambda: NOW)
    made.set_catalog(engine.catalog("mcp-git", server))
    return made


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[ceiling]\ndeny = ["git_comit"]', "the deny entry `git_comit` matches no tool"),
        ('[ceiling]\ndeny = ["mcp-git:*"]', "the deny entry `mcp-git:*` matches no tool"),
        (
            '[[example]]\ncall = { tool = "git_commit" }\nverdict = "deny"',
            "`git_commit` gets `ask`, the example wants `deny`",
        ),
    ],
)
def test_a_mode_that_does_not_hold_admits_nothing(tmp_path: Path, text: str, says: str) -> None:
    """A denial that hits nothing, or an example that differs, takes the mode from use."""
    made = session(tmp_path, text)
    frame = made.frame()
    answer = made.call(frame, GIT_LOG)

    assert [t.name for t in frame.projection.tools] == ["mode", "ask_user"]
    assert isinstance(answer, Answer)
    assert answer.error
    assert f"This mode cannot be used: {says}" in frame.projection.preamble


def test_a_mode_that_holds_is_used(tmp_path: Path) -> None:
    """An example that comes out as it says, and a denial that hits, keep nothing from use."""
    text = (
        '[ceiling]\ndeny = ["git:git_commit"]\n'
        '[[example]]\ncall = { tool = "git_commit" }\nverdict = "deny"'
    )
    made = session(tmp_path, text)

    assert isinstance(made.call(made.frame(), GIT_LOG), Run)
    assert not made.frame().projection.compiled.admits("git_commit")


def test_all_else_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An allow entry that names nothing is a warning of a running host, not repeated a step."""
    made = session(tmp_path, '[ceiling]\nallow = ["tier:read", "git_lgo"]')
    with caplog.at_level(logging.WARNING, "remit"):
        for _ in range(3):
            assert isinstance(made.call(made.frame(), GIT_LOG), Run)

    assert len(caplog.messages) == 1
    assert "the allow entry `git_lgo` matches no tool" in caplog.messages[0]


def test_nothing_is_missed_before_there_are_tools(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Until a server has listed its tools, no entry is blamed for naming none."""
    made = session(tmp_path, '[ceiling]\ndeny = ["git_comit"]')
    made.set_catalog(Engine.load().operators)

    assert made.frame().projection.compiled.profile.ceiling.allow == frozenset()
    assert caplog.messages == []
