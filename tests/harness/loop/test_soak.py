"""Many conversations in one process keep their modes apart; the long form is `tools/soak`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.harness.engine import Engine
from remit.harness.workspace import Workspace
from tests.harness.loop.soak import MODES, soak

COUNT = 16


@pytest.fixture(params=("sqlite", "postgres"))
def at(request: pytest.FixtureRequest, engine: Engine, tmp_path: Path) -> Iterator[Workspace]:
    """A workspace on each kind of database."""
    server = request.getfixturevalue("server") if request.param == "postgres" else None
    url = str(tmp_path / "remit.db") if server is None else server.make()
    home = {"REMIT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "home")}
    (tmp_path / "home").mkdir()
    with Workspace.open(url, create=True, environ=home, host="harness", engine=engine) as found:
        yield found
    if server is not None:
        server.drop(url)


def test_conversations_keep_their_modes_apart(at: Workspace, tmp_path: Path) -> None:
    """What one may write another may not, at the same time; the log is whole afterwards."""
    found = soak(at, tmp_path, COUNT)
    kept = Counter((mode, wrote) for mode, wrote, _ in found)
    assert kept == dict.fromkeys(MODES.items(), COUNT // 2)
    assert {ended.ok for mode, _, ended in found if MODES[mode]} == {True}
    assert {ended.outcome for mode, _, ended in found if not MODES[mode]} == {"unmet"}
    assert at.store.log.verify().ok
    assert at.store.log.rebuild().equal
