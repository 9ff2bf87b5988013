"""Plans: delivered the moment they are stored, then filed where nothing can lead them astray."""

import os
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from remit.harness.store import PlanState, Store, StoreConflict
from remit.harness.store.plan_file import PlanFileError, file_plan
from remit.policy.plan import MAX_TEXT, NodeType, Plan, PlanNode, markdown
from remit.policy.problems import InputError

PLAN = Plan(
    "ship it",
    (
        PlanNode("a", "look", "read the \x1b log", NodeType.RESEARCH, "scout"),
        PlanNode("b", "build", depends_on=("a",)),
    ),
)


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    folder = tmp_path / "wt"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


@pytest.fixture
def tree(store: Store, worktree: Path, now: datetime) -> str:
    """A space with a worktree."""
    return store.spaces.create("tree", "plan", by="operator", now=now, worktree=str(worktree)).id


def test_a_plan_comes_back_as_it_was_submitted(store: Store, space: str, now: datetime) -> None:
    """S003-7: the goal and the typed graph, with who, where and when."""
    done = store.plans.submit(space, "c1", PLAN, by="agent:c1", now=now)
    assert done.problem is None
    assert done.plan == store.plans.get(done.plan.id) == store.plans.newest(space, "c1")
    assert done.plan.plan == PLAN
    assert (done.plan.revision, done.plan.state, done.plan.path) == (1, PlanState.SUBMITTED, None)
    assert done.plan.author == "agent:c1"


def test_a_resubmission_supersedes_the_earlier_draft(
    store: Store, space: str, now: datetime
) -> None:
    """One revision more in the same conversation; other conversations count for themselves."""
    first = store.plans.submit(space, "c1", PLAN, by="agent:c1", now=now).plan
    other = store.plans.submit(space, "c2", PLAN, by="agent:c2", now=now).plan
    second = store.plans.submit(
        space, "c1", evolve(PLAN, goal="ship it well"), by="agent:c1", now=now
    ).plan
    assert (second.revision, other.revision) == (2, 1)
    states = {p.id: p.state.value for p in store.plans.list(space)}
    assert states == {first.id: "superseded", other.id: "submitted", second.id: "submitted"}
    assert [p.id for p in store.plans.list()] == [second.id, other.id, first.id]


def test_the_same_plan_again_is_no_revision(store: Store, space: str, now: datetime) -> None:
    """Whoever repeats after a crash, or a lost answer, adds nothing."""
    first = store.plans.submit(space, "c1", PLAN, by="agent:c1", now=now)
    head = store.log.head()
    assert store.plans.submit(space, "c1", PLAN, by="agent:c1", now=now) == first
    assert store.log.head() == head


def test_a_plan_of_a_mode_that_was_left_is_not_stored(
    store: Store, space: str, now: datetime
) -> None:
    """The verb belongs to the mode that the step began in."""
    store.spaces.set_mode(space, "chat", by="operator", why="", now=now)
    with pytest.raises(StoreConflict):
        store.plans.submit(space, "c1", PLAN, by="agent:c1", now=now, expect=1)
    assert store.plans.list() == ()


def test_an_unknown_plan_is_told(store: Store, space: str, now: datetime) -> None:
    """With near misses, as everything that has a name."""
    id = store.plans.submit(space, "c1", PLAN, by="agent:c1", now=now).plan.id
    with pytest.raises(InputError) as caught:
        store.plans.get(f"{id}0")
    assert id in caught.value.problems[0].hint


def test_a_plan_is_filed_where_git_does_not_see_it(
    store: Store, tree: str, worktree: Path, now: datetime
) -> None:
    """As Markdown in the plans folder, which a file of its own hides from git."""
    record = store.plans.submit(tree, "c1", PLAN, by="agent:c1", now=now).plan
    assert record.path == str(
        worktree / ".remit" / "plans" / f"{now.astimezone():%Y%m%d-%H%M}-ship-it.md"
    )
    text = Path(record.path).read_text()
    assert text == markdown(PLAN, id=record.id, revision=1)
    assert "read the \\x1b log" in text
    status = subprocess.run(
        ["git", "-C", worktree, "status", "--porcelain", "--untracked-files=all"],
        check=True,
        capture_output=True,
    )
    assert status.stdout == b""
    assert os.listdir(worktree / ".remit" / "plans") == [Path(record.path).name]


def test_what_keeps_a_plan_from_being_filed_undoes_nothing(
    store: Store, tree: str, worktree: Path, now: datetime
) -> None:
    """The plan is delivered and the problem told; the same plan again files it."""
    worktree.rename(worktree.with_name("away"))
    done = store.plans.submit(tree, "c1", PLAN, by="agent:c1", now=now)
    assert done.problem is not None
    assert done.problem.code == "plan-file-failed"
    assert done.plan.path is None
    worktree.with_name("away").rename(worktree)
    again = store.plans.submit(tree, "c1", PLAN, by="agent:c1", now=now)
    assert (again.problem, again.plan.id, again.plan.revision) == (None, done.plan.id, 1)
    assert again.plan.path is not None


def outside(worktree: Path) -> Path:
    folder = worktree.parent / "outside"
    folder.mkdir()
    return folder


def linked_own(worktree: Path) -> None:
    (worktree / ".remit").symlink_to(outside(worktree))


def linked_plans(worktree: Path) -> None:
    (worktree / ".remit").mkdir()
    (worktree / ".remit" / "plans").symlink_to(outside(worktree))


def linked_file(worktree: Path) -> None:
    (worktree / ".remit" / "plans").mkdir(parents=True)
    (worktree / ".remit" / "plans" / "p1.md").symlink_to(outside(worktree) / "x")


def linked_ignore(worktree: Path) -> None:
    (worktree / ".remit").mkdir()
    (worktree / ".remit" / ".gitignore").symlink_to(outside(worktree) / "x")


def linked_worktree(worktree: Path) -> None:
    worktree.rename(outside(worktree) / "wt")
    worktree.symlink_to(worktree.parent / "outside" / "wt")


def a_file(worktree: Path) -> None:
    (worktree / ".remit").write_text("")


def another_ignore(worktree: Path) -> None:
    (worktree / ".remit").mkdir()
    (worktree / ".remit" / ".gitignore").write_text("*\n!plans\n")


def another_plan(worktree: Path) -> None:
    (worktree / ".remit" / "plans").mkdir(parents=True)
    (worktree / ".remit" / "plans" / "p1.md").write_text("precious")


def a_folder(worktree: Path) -> None:
    (worktree / ".remit" / "plans" / "p1.md").mkdir(parents=True)


def a_pipe(worktree: Path) -> None:
    (worktree / ".remit" / "plans").mkdir(parents=True)
    os.mkfifo(worktree / ".remit" / "plans" / "p1.md")


@pytest.mark.parametrize(
    ("prepare", "code"),
    [
        (linked_own, "plan-file-link"),
        (linked_plans, "plan-file-link"),
        (linked_file, "plan-file-link"),
        (linked_ignore, "plan-file-link"),
        (linked_worktree, "plan-file-link"),
        (a_file, "plan-file-link"),
        (another_ignore, "plan-file-exists"),
        (another_plan, "plan-file-exists"),
        (a_folder, "plan-file-exists"),
        (a_pipe, "plan-file-exists"),
    ],
)
def test_a_worktree_cannot_lead_a_plan_astray(
    worktree: Path, prepare: Callable[[Path], None], code: str
) -> None:
    """No link is followed, nothing is written over, and nothing appears outside."""
    prepare(worktree)
    before = sorted(p for p in worktree.parent.rglob("*") if ".git/" not in str(p))
    with pytest.raises(PlanFileError) as caught:
        file_plan(str(worktree), "p1.md", "# plan\n")
    assert caught.value.problems[0].code == code
    elsewhere = worktree.parent / "outside"
    if elsewhere.exists():
        assert {p.name for p in elsewhere.rglob("p1.md")} == set()
    for path in before:
        if path.name == "p1.md" and path.is_file():
            assert path.read_text() == "precious"
    assert not list(worktree.rglob("*.part"))


def test_filing_again_is_filing_once(worktree: Path) -> None:
    """The same text in its place is as good as written."""
    first = file_plan(str(worktree), "p1.md", "# plan\n")
    assert file_plan(str(worktree), "p1.md", "# plan\n") == first


@pytest.mark.parametrize("theirs", ["# plan\n", "precious"])
def test_what_appears_at_the_last_moment_is_not_written_over(
    theirs: str, worktree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the linking another file may come: the same is fine, another stays."""
    there = worktree / ".remit" / "plans" / "p1.md"
    real: Any = os.link

    def link(part: str, name: str, **more: Any) -> None:
        if name == there.name:
            there.write_text(theirs)
        real(part, name, **more)

    monkeypatch.setattr(os, "link", link)
    if theirs == "precious":
        with pytest.raises(PlanFileError):
            file_plan(str(worktree), "p1.md", "# plan\n")
    else:
        file_plan(str(worktree), "p1.md", "# plan\n")
    assert there.read_text() == theirs
    assert os.listdir(there.parent) == ["p1.md"]


def test_a_plan_file_is_bounded(worktree: Path) -> None:
    """512 KiB, and nothing is left of one that is longer."""
    with pytest.raises(PlanFileError) as caught:
        file_plan(str(worktree), "p1.md", "x" * (MAX_TEXT + 1))
    assert caught.value.problems[0].code == "plan-file-size"
    assert not (worktree / ".remit").exists()
