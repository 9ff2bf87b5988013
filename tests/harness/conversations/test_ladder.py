"""The ladder of scopes: workspace, space, conversation, turn; each only narrows."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from remit.cli.app import app
from remit.harness.engine import Engine
from remit.harness.inforce import InForce, Link
from remit.harness.natives import Answer
from remit.harness.session import Run
from remit.harness.store import Overlay
from remit.harness.workspace import Workspace
from remit.policy.problems import InputError
from remit.policy.tools import Call
from remit.policy.vocabulary import Dial
from remit.profiles.source import Source

AT = datetime(2026, 12, 1, tzinfo=UTC)
COMMIT = Call("git_commit", {"repo_path": "/w", "message": "m"})
TEXTS = (
    '[ceiling]\ntier = "read"\n',
    '[ceiling]\nrefuse = ["git.commit"]\n',
    '[ceiling]\nposture = "read-only"\n',
    '[ceiling]\nallow = ["git_status", "git_commit"]\n',
    '[ceiling]\ndeny = ["git_log"]\n',
    '[ceiling]\nunknown = "refuse"\n',
)
OVERLAYS = st.none() | st.sampled_from([Overlay(f"{n}.toml", text) for n, text in enumerate(TEXTS)])


def _open(home: Path, overlay: str | None = None) -> Workspace:
    if overlay is not None:
        (home / "all.toml").write_text(overlay)
        (home / "remit.toml").write_text('overlay = "all.toml"\n')
    environ = {"REMIT_HOME": str(home), "HOME": str(home)}
    return Workspace.open(create=True, environ=environ, clock=lambda: AT)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with _open(tmp_path_factory.mktemp("home")) as found:
        found.create_space("s", by="operator", dial=Dial.AUTO)
        found.modes.set_catalog(found.engine.catalogs(["mcp-git"]))
        yield found


def test_the_overlay_of_a_workspace_holds_in_every_space(tmp_path: Path) -> None:
    """What `remit.toml` names narrows chat too, by its own name."""
    with _open(tmp_path, TEXTS[1]) as workspace:
        git = workspace.engine.catalogs(["mcp-git"])
        for id in ("a", "b"):
            space = workspace.create_space(id, by="operator", dial=Dial.AUTO)
            with space.conversation(f"{id}/c").turn() as turn:
                step = turn.step(git)
                assert "git_commit" not in {t.name for t in step.tools}
                answer = step.decide(COMMIT)
                assert isinstance(answer, Answer)
                assert step.frame.profile.sides[-1].name == "workspace overlay"
                assert isinstance(step.decide(Call("git_status", {"repo_path": "/w"})), Run)


def test_explain_names_the_workspace(tmp_path: Path) -> None:
    """S000-87: who asks why a tool is missing is told the scope and the file that removed it."""
    with _open(tmp_path, TEXTS[1]):
        pass
    environ = {"REMIT_HOME": str(tmp_path), "HOME": str(tmp_path)}
    arguments = ["explain", "chat", "git_commit", "--catalog", "mcp-git"]
    told = CliRunner(env=environ).invoke(app, arguments)
    assert "workspace overlay" in told.output
    assert "all.toml" in told.output


@pytest.mark.parametrize("text", [None, '[ceiling]\nrefuse = ["git.comit"]\n'])
def test_an_overlay_that_cannot_be_read_opens_nothing(tmp_path: Path, text: str | None) -> None:
    """Fail closed: a workspace whose overlay is missing or wrong is not served without it."""
    (tmp_path / "remit.toml").write_text('overlay = "all.toml"\n')
    with pytest.raises(InputError, match=r"all\.toml|git\.comit"):
        _open(tmp_path, text)


@given(OVERLAYS, OVERLAYS, OVERLAYS, OVERLAYS)
def test_no_scope_widens(
    workspace: Workspace,
    every: Overlay | None,
    space: Overlay | None,
    talk: Overlay | None,
    turn: Overlay | None,
) -> None:
    """S000-87: any overlays at any scopes leave a part of what each leaves, in whatever order."""
    bare = workspace.engine

    def tools(above: Overlay | None, *rest: Overlay | None) -> frozenset[str]:
        engine: Engine = evolve(
            bare, overlaid=bare.overlay(Source(above.text, above.file)) if above else None
        )
        row = evolve(workspace.space("s").state, overlay=rest[0])
        force = InForce(row, (Link("c", "chat", overlay=rest[1], turn=rest[2]),))
        modes = workspace.modes
        modes.engine = engine
        modes._profiles.clear()
        made = engine.project(modes.profile(force), modes.catalog, modes.host, row.effects)
        return frozenset(t.name for t in made.tools)

    whole = tools(every, space, talk, turn)
    for alone in ((every, None, None, None), (None, space, None, None), (None, None, talk, None)):
        assert whole <= tools(*alone)
    assert whole <= tools(None, None, None, turn)
    assert whole == tools(turn, every, space, talk) == tools(talk, turn, every, space)
