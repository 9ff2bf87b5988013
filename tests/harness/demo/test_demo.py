import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from remit.cli.app import app
from remit.cli.failures import run
from remit.harness.demo.disks import Span, tell_changes
from remit.harness.demo.scene import Disk, Scene, build
from remit.harness.demo.teller import Unmet, expect
from remit.harness.store import Store
from remit.policy.problems import Problem
from remit.policy.vocabulary import SpaceKind
from tests.needs import need, need_module


@pytest.fixture(scope="module", autouse=True)
def parts() -> None:
    """What the demo stands on."""
    need("git")
    need_module("mcp_server_git")


def git(where: Path, *args: str) -> str:
    return subprocess.check_output(["git", "-C", str(where), *args], text=True).strip()


def test_story(tmp_path: Path) -> None:
    """The demo keeps its promises, though nothing can be written at home.

    What it tells, what git and the log then say, and the commands that it leaves are looked at in
    one test, because it is played once.
    """
    folder = tmp_path / "here"
    nowhere = dict.fromkeys(("HOME", "GIT_DIR", "REMIT_DB"), "/nonexistent")
    done = subprocess.run(
        [sys.executable, "-m", "remit", "demo", "--dir", str(folder)],
        env={**os.environ, **nowhere},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    tells_each_act(done.stdout)
    leaves_what_was_allowed(folder)
    leaves_a_whole_log(folder)
    leaves_commands_that_work(folder, done.stdout)


def tells_each_act(told: str) -> None:
    """Every act has its title, and each kind of decision its words."""
    assert len([line for line in told.splitlines() if re.match(r"\d+\. ", line)]) == 14
    for words in (
        "plan mode refused `git_commit`: it would have `worktree.write`, `git.commit`",
        "it did not run; approval",
        "is used up",
        "every promise was kept",
        "sandbox: ",
        "is nudged: nothing was delivered",
        "refused `write`",
        "agent: Nobody could.",
    ):
        assert words in told


def leaves_what_was_allowed(folder: Path) -> None:
    """Git finds one commit where one was approved, none in review, none at the remote."""
    base = git(folder / "remote.git", "rev-parse", "HEAD")
    found = {
        space: git(folder / space, "log", "--format=%s", f"{base}..HEAD").splitlines()
        for space in ("chat", "plan", "review")
    }

    assert found == {
        "chat": ["Add the last boat"],
        "plan": ["Say what runs on Sundays"],
        "review": [],
    }
    assert all(git(folder / space, "status", "--porcelain") == "" for space in found)
    changed = git(folder / "desk", "status", "--porcelain").split()
    assert changed == ["M", "timetable.txt", "??", "fares.txt"]
    assert (folder / "desk" / "fares.txt").read_text() == "3.20 one way\n"


def leaves_a_whole_log(folder: Path) -> None:
    """The log verifies, and tells who changed the modes."""
    with Store.open(folder / "workspace" / "remit.db") as store:
        assert store.log.verify().ok
        assert store.log.rebuild(check=True).equal
        history = [(c.value, c.by.split(":")[0]) for c in store.spaces.history("plan")]

    assert history == [
        ("plan", "operator"),
        ("auto", "operator"),
        ("chat", "agent"),
        ("plan", "operator"),
    ]


def leaves_commands_that_work(folder: Path, told: str) -> None:
    """What it says to try next can be pasted."""
    token = (folder / "workspace" / "remit.db.operator").read_text().strip()
    lines = told.split("Look around")[1].splitlines()
    commands = [line.strip() for line in lines if line.startswith("  ")]
    ending = [c for c in commands if "--follow" not in c and " gateway --space" not in c]

    said = subprocess.run(
        ["bash", "-c", "\n".join(["set -e", *ending])],
        env={**os.environ, "REMIT_OPERATOR": token},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert said.returncode == 0, said.stderr
    assert (len(commands), len(ending)) == (6, 4)
    assert "chat: plan (committed" in said.stdout


class TestFailures:
    @pytest.fixture(autouse=True)
    def scratch(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What a demo leaves is left here."""
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def test_unmet(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A promise that is not kept is named, and the exit code is 1."""

        def play(*_: object) -> None:
            expect(False, "the sun rises")

        monkeypatch.setattr("remit.harness.demo.story.play", play)

        assert run(app, ["demo"]) == 1
        assert "a promise was not kept: the sun rises" in capsys.readouterr().err

    def test_no_server(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Without the server the demo says how to install it, and exits with 3."""
        monkeypatch.setattr(
            "remit.harness.demo.story.importlib.util.find_spec", lambda name: name == "mcp" or None
        )

        assert run(app, ["demo"]) == 3
        assert "pip install 'remit[demo]'" in capsys.readouterr().err

    def test_used_folder(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A folder with something in it is not played in."""
        (tmp_path / "letter").touch()

        assert run(app, ["demo", "--dir", str(tmp_path)]) == 2
        assert "is not empty" in capsys.readouterr().err


class Silent:
    """Hears the story and tells nobody."""

    def table(self, *_: object) -> None: ...

    act = say = command = decision = table


class TestDisks:
    @pytest.fixture
    def scene(self, tmp_path: Path) -> Scene:
        """A scene with one space."""
        return build(tmp_path, {"a": ("chat", SpaceKind.NORMAL)}, os.environ)

    def span(self, scene: Scene, before: Disk, commits: int) -> Span:
        return Span("a", "then", before, scene.disk("a"), commits)

    def test_nothing(self, scene: Scene) -> None:
        """Nothing changed where nothing was done."""
        tell_changes(scene, [self.span(scene, scene.disk("a"), 0)], Silent())

    @pytest.mark.parametrize(
        "slip",
        [
            ["commit", "--allow-empty", "-m", "slip"],
            ["branch", "slip"],
            ["config", "core.pager", "slip"],
            ["rm", "--cached", "README.md"],
            ["push", "origin", "HEAD:slip"],
        ],
        ids=lambda slip: slip[0],
    )
    def test_slips(self, scene: Scene, slip: list[str]) -> None:
        """Whatever slips in is found: a commit, a ref, a setting, the index."""
        before = scene.disk("a")
        scene.git(scene.worktree("a"), *slip)

        with pytest.raises(Unmet, match="only what was allowed changed"):
            tell_changes(scene, [self.span(scene, before, 0)], Silent())

    def test_pushed(self, scene: Scene) -> None:
        """A push is found at the remote."""
        before = scene.disk("a")
        where = scene.worktree("a")
        scene.git(where, "commit", "--allow-empty", "-m", "slip")
        scene.git(where, "push", "origin", "HEAD:main")

        with pytest.raises(Unmet, match="nothing was pushed"):
            tell_changes(scene, [self.span(scene, before, 1)], Silent())

    def test_problem(self) -> None:
        """A promise that was broken is a problem with a code of its own."""
        with pytest.raises(Unmet) as raised:
            expect(False, "this")

        assert [p.code for p in raised.value.problems] == ["demo-unmet"]
        assert isinstance(raised.value.problems[0], Problem)
