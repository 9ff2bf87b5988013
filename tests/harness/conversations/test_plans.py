"""Plans in a conversation: shown, decided on, and carried out in the same turn (seed 004)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.harness.natives import Answer
from remit.harness.session import Run
from remit.harness.store import ApprovalState, PlanState, StoreConflict
from remit.harness.turns import Turn
from remit.harness.workspace import OpenSpace, Workspace
from remit.policy.tools import Call
from remit.policy.vocabulary import Dial

AT = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
PRESENT = "remit:present_plan"
PLAN = Call("present_plan", {"title": "Mend the gate!", "plan": "- oil it\n- paint it\n"})
GRAPH = Call(
    "submit_plan", {"goal": "go", "nodes": [{"key": "a", "title": "A", "description": ""}]}
)
COMMIT = Call("git_commit", {"repo_path": "/w", "message": "m"})


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    home = {"REMIT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "home")}
    with Workspace.open(create=True, environ=home, offers=(PRESENT,), clock=lambda: AT) as found:
        found.modes.set_catalog(found.engine.catalogs(["mcp-git"]))
        yield found


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    made.mkdir()
    return made


@pytest.fixture
def space(workspace: Workspace, tree: Path) -> OpenSpace:
    return workspace.create_space("s", "plan", by="operator", worktree=str(tree), dial=Dial.ASK)


def files(tree: Path) -> list[str]:
    return sorted(p.name for p in (tree / ".remit" / "plans").glob("*.md"))


def asked(workspace: Workspace) -> str:
    (one,) = workspace.store.approvals.list(now=AT, state=ApprovalState.PENDING)
    return one.id


def step(turn: Turn, workspace: Workspace, call: Call) -> Answer:
    answer = turn.step(workspace.engine.catalogs(["mcp-git"])).decide(call)
    assert isinstance(answer, Answer)
    return answer


def test_an_approved_plan_is_carried_out_in_the_same_turn(
    workspace: Workspace, space: OpenSpace, tree: Path
) -> None:
    """S004-5, S003-8: approval, dial and flip are one act; the next step has write tools."""
    talk = space.conversation("c")
    with talk.turn() as turn:
        waiting = step(turn, workspace, PLAN)
        assert waiting.data is not None
        assert (waiting.data["kind"], waiting.data["state"]) == ("plan", "pending")
        assert len(files(tree)) == 1
        assert "mend-the-gate" in files(tree)[0]
        assert (tree / ".remit/plans" / files(tree)[0]).read_text().startswith("# Mend the gate!\n")
        at = turn.step()
        id = asked(workspace)
        workspace.store.approvals.decide(id, True, by="operator", now=AT, dial=Dial.AUTO)
        assert space.mode == "chat"
        told = at.decide(PLAN)
        assert isinstance(told, Answer)
        assert "approved" in told.text
        assert isinstance(at.decide(COMMIT), Answer)
        after = turn.step()
        assert (after.mode, after.notices) == ("chat", ())
        assert isinstance(after.decide(COMMIT), Run)


def test_a_rejected_plan_keeps_the_mode(workspace: Workspace, space: OpenSpace, tree: Path) -> None:
    """S004-6, 8: the feedback is told once, the file stays, and the same plan may come again."""
    with space.conversation("c").turn() as turn:
        step(turn, workspace, PLAN)
        workspace.store.approvals.decide(
            asked(workspace), False, by="operator", now=AT, feedback="no paint"
        )
        assert space.mode == "plan"
        assert "no paint" in step(turn, workspace, PLAN).text
        again = step(turn, workspace, PLAN)
        assert again.data is not None
        assert again.data["state"] == "pending"
        assert len(files(tree)) == 1 or files(tree)[1].endswith("-2.md")


@pytest.mark.parametrize("call", [PLAN, GRAPH], ids=["text", "graph"])
def test_a_message_of_the_user_takes_its_place(
    workspace: Workspace, space: OpenSpace, call: Call
) -> None:
    """S004-7: a plan that waits is superseded by what the user says next, and never approved."""
    talk = space.conversation("c")
    with talk.turn() as turn:
        step(turn, workspace, call)
    id = asked(workspace)
    with talk.turn():
        pass
    assert workspace.store.plans.list()[0].state is PlanState.SUPERSEDED
    with pytest.raises(StoreConflict):
        workspace.store.approvals.decide(id, True, by="operator", now=AT)
    assert space.mode == "plan"


def test_a_turn_that_goes_on_keeps_it(workspace: Workspace, space: OpenSpace) -> None:
    """What no user said takes no plan's place: a restart leaves it waiting."""
    talk = space.conversation("c")
    with talk.turn() as turn:
        step(turn, workspace, PLAN)
    with talk.turn("resume"):
        pass
    assert workspace.store.plans.list()[0].state is PlanState.SUBMITTED


def test_an_edited_plan_is_shown_again(workspace: Workspace, space: OpenSpace, tree: Path) -> None:
    """S004-R2: an edit is shown before it counts, then told; white space at ends is none."""
    with space.conversation("c").turn() as turn:
        step(turn, workspace, PLAN)
        id, at = asked(workspace), turn.step()
        file = tree / ".remit/plans" / files(tree)[0]
        file.write_text(file.read_text() + "- lock it\n")
        with pytest.raises(StoreConflict) as caught:
            workspace.store.approvals.decide(id, True, by="operator", now=AT)
        assert caught.value.problems[0].code == "plan-edited"
        assert "lock it" in workspace.store.approvals.get(id, now=AT).shown
        assert space.mode == "plan"
        file.write_text(file.read_text() + "  \n\n")
        workspace.store.approvals.decide(id, True, by="operator", now=AT)
        told = at.decide(PLAN)
        assert isinstance(told, Answer)
        assert "lock it" in told.text
    assert workspace.store.log.rebuild().equal


def test_a_plan_whose_file_is_gone_counts_as_presented(
    workspace: Workspace, space: OpenSpace, tree: Path
) -> None:
    """S004-R2: what was presented is approved where nobody kept its file."""
    with space.conversation("c").turn() as turn:
        step(turn, workspace, PLAN)
        (tree / ".remit/plans" / files(tree)[0]).unlink()
        workspace.store.approvals.decide(asked(workspace), True, by="operator", now=AT)
    assert space.mode == "chat"


def test_a_sealed_plan_is_refused_on_a_mismatch(
    workspace: Workspace, space: OpenSpace, tree: Path
) -> None:
    """S000-R8: a graph is carried out as it was submitted, so its file must say that."""
    with space.conversation("c").turn() as turn:
        step(turn, workspace, GRAPH)
        file = tree / ".remit/plans" / files(tree)[0]
        was = file.read_text()
        file.write_text(was.replace("go", "stay"))
        with pytest.raises(StoreConflict) as caught:
            workspace.store.approvals.decide(asked(workspace), True, by="operator", now=AT)
        assert caught.value.problems[0].code == "plan-changed"
        file.write_text(was)
        workspace.store.approvals.decide(asked(workspace), True, by="operator", now=AT)
    assert space.mode == "chat"


def test_a_plan_presented_in_chat_changes_no_mode(workspace: Workspace, tree: Path) -> None:
    """S004-R3: presenting is possible in every mode, and leaves none that declares no exit."""
    space = workspace.create_space("chat", by="operator")
    with space.conversation("d").turn() as turn:
        assert step(turn, workspace, PLAN).data is not None
        workspace.store.approvals.decide(asked(workspace), True, by="operator", now=AT)
        assert (space.mode, space.state.revision) == ("chat", 1)
        assert "approved" in step(turn, workspace, PLAN).text
    assert not (tree / ".remit").exists()


@pytest.mark.parametrize(
    "args",
    [
        {"title": " ", "plan": "x"},
        {"title": "x", "plan": ""},
        {"title": "x"},
        {"title": "x", "plan": "a\ud800"},
        {"title": "x", "plan": "y" * (512 * 1024 + 1)},
        {"title": "x", "plan": "y", "mode": "chat"},
    ],
    ids=["blank title", "no text", "missing", "no text that can be written", "long", "unknown key"],
)
def test_what_is_no_plan_opens_nothing(
    workspace: Workspace, space: OpenSpace, tree: Path, args: dict[str, str]
) -> None:
    """S004-R4: an error, nothing filed, nothing that waits."""
    with space.conversation("c").turn() as turn:
        assert step(turn, workspace, Call("present_plan", args)).error
    assert workspace.store.plans.list() == ()
    assert workspace.store.approvals.list(now=AT) == ()
    assert not (tree / ".remit").exists()


def test_two_plans_of_one_minute_lie_side_by_side(
    workspace: Workspace, space: OpenSpace, tree: Path
) -> None:
    """S004-R5: neither is overwritten; the second's name ends in -2."""
    other = Call("present_plan", {"title": "mend the gate", "plan": "- otherwise\n"})
    with space.conversation("c").turn() as turn:
        step(turn, workspace, PLAN)
        step(turn, workspace, other)
    one, two = files(tree)
    assert {one, two} == {one.replace("-2.md", ".md"), one.replace(".md", "-2.md")} or two > one
    assert any(name.endswith("-2.md") for name in (one, two))


def test_no_child_presents(workspace: Workspace, space: OpenSpace) -> None:
    """A child has no plan approval, on a host that offers one everywhere too."""
    with space.conversation("c").child().turn("task") as turn:
        assert "present_plan" not in {t.name for t in turn.step().tools}
        assert step(turn, workspace, PLAN).error


def test_a_mode_that_was_left_meanwhile_is_not_left_twice(
    workspace: Workspace, space: OpenSpace
) -> None:
    """An approval leads out of the mode that the plan was made in, and out of no other."""
    with space.conversation("c").turn() as turn:
        step(turn, workspace, GRAPH)
    space.set("explore", by="operator")
    workspace.store.approvals.decide(asked(workspace), True, by="operator", now=AT)
    assert space.mode == "explore"
