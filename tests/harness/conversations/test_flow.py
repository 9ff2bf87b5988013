"""A conversation through its turns: what comes into force when, and what the model is told."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from remit.harness.natives import Answer
from remit.harness.session import Run
from remit.harness.store import Answer as Became
from remit.harness.store import ApprovalState
from remit.harness.workspace import OpenSpace, Workspace
from remit.policy.problems import InputError
from remit.policy.tools import Call, Catalog
from remit.policy.vocabulary import Dial

COMMIT = Call("git_commit", {"repo_path": "/w", "message": "m"})
STATUS = Call("git_status", {"repo_path": "/w"})
AT = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    home = {"REMIT_HOME": str(tmp_path), "HOME": str(tmp_path)}
    with Workspace.open(create=True, environ=home, clock=lambda: AT) as found:
        yield found


@pytest.fixture
def git(workspace: Workspace) -> Catalog:
    return workspace.engine.catalogs(["mcp-git"])


@pytest.fixture
def space(workspace: Workspace) -> OpenSpace:
    return workspace.create_space("s", by="operator", dial=Dial.AUTO)


def test_chat_adds_nothing(space: OpenSpace, git: Catalog) -> None:
    """S002-10: in the absence of policy a request is what it is without remit."""
    with space.conversation("c").turn() as turn:
        step = turn.step(git)
        assert (step.preamble, step.notices) == ("", ())
        assert isinstance(step.decide(COMMIT), Run)


def test_a_narrower_mode_bites_in_the_running_step(space: OpenSpace, git: Catalog) -> None:
    """A call is judged by its frame and by what the space has; the next step is in the mode."""
    talk = space.conversation("c")
    with talk.turn() as turn:
        step = turn.step(git)
        assert space.set("plan", by="operator").answer is Became.QUEUED
        assert talk.mode == "chat"
        assert isinstance(step.decide(COMMIT), Answer)
        after = turn.step(git)
        assert (after.mode, talk.mode) == ("plan", "plan")
        (notice,) = after.notices
        assert "plan" in notice.text
        assert "git_commit" not in {t.name for t in after.tools}
        assert turn.step(git).notices == ()


def test_a_wider_mode_waits_for_the_next_turn(space: OpenSpace, git: Catalog) -> None:
    """S002-4: what an operator widens, a running turn does not get."""
    space.set("plan", by="operator")
    talk = space.conversation("c")
    with talk.turn() as turn:
        assert turn.step(git).mode == "plan"
        assert space.set("chat", by="operator").answer is Became.QUEUED
        step = turn.step(git)
        assert step.mode == "plan"
        assert isinstance(step.decide(COMMIT), Answer)
    with talk.turn() as turn:
        step = turn.step(git)
        assert step.mode == "chat"
        assert isinstance(step.decide(COMMIT), Run)
        (notice,) = step.notices
        assert notice.what == "transition"
        assert turn.step(git).notices == ()


def test_there_and_back_is_nothing(space: OpenSpace, git: Catalog) -> None:
    """S002-R2: a switch that is taken back before a boundary leaves no trace in a conversation."""
    talk = space.conversation("c")
    with talk.turn() as turn:
        turn.step(git)
        assert space.set("plan", by="operator").answer is Became.QUEUED
        assert space.set("chat", by="operator").answer is Became.CANCELLED
        assert turn.step(git).notices == ()
    with talk.turn() as turn:
        assert turn.step(git).notices == ()
    flushed = talk.workspace.store.log.read(kinds=("mode.flushed",))
    assert flushed == []


def test_an_approved_exit_is_there_in_the_next_step(
    workspace: Workspace, space: OpenSpace, git: Catalog
) -> None:
    """S002-R7: the batch of the exit is judged as before; the step after it is wide."""
    space.set("plan", by="operator")
    talk = space.conversation("c")
    with talk.turn() as turn:
        turn.step(git).decide(Call("exit_plan_mode"))
        (asked,) = workspace.store.approvals.list(now=AT, state=ApprovalState.PENDING)
        workspace.store.approvals.decide(asked.id, True, by="operator", now=AT)
        step = turn.step(git)
        assert isinstance(step.decide(Call("exit_plan_mode")), Answer)
        assert isinstance(step.decide(COMMIT), Answer)
        after = turn.step(git)
        assert after.mode == "chat"
        assert after.notices == ()
        assert isinstance(after.decide(COMMIT), Run)


def test_a_wider_dial_waits_for_the_next_turn(space: OpenSpace, git: Catalog) -> None:
    """What an operator widens does not help the turn, whether it is a mode or a dial."""
    space.set_dial(Dial.ASK, by="operator")
    with space.conversation("c").turn() as turn:
        turn.step(git)
        space.set_dial(Dial.AUTO, by="operator")
        assert isinstance(turn.step(git).decide(COMMIT), Answer)
    with space.conversation("c").turn() as turn:
        assert isinstance(turn.step(git).decide(COMMIT), Run)


class TestChild:
    def test_holds_what_its_parent_holds(self, space: OpenSpace, git: Catalog) -> None:
        """A child has its own mode under its parent's, and nothing to leave by."""
        space.set("plan", by="operator")
        with space.conversation("c").turn() as turn:
            turn.step(git)
            child = turn.conversation.child()
            with child.turn("task") as inner:
                step = inner.step(git)
                assert step.mode == "read-only"
                assert not {"submit_plan", "exit_plan_mode"} & {t.name for t in step.tools}
                assert isinstance(step.decide(COMMIT), Answer)

    def test_is_narrowed_with_its_parent(self, space: OpenSpace, git: Catalog) -> None:
        """What narrows the parent bites a running child too; fault 1 of other hosts."""
        talk = space.conversation("c")
        child = talk.child()
        with child.turn("task") as turn:
            step = turn.step(git)
            space.set("plan", by="operator")
            assert isinstance(step.decide(COMMIT), Answer)

    def test_may_not_be_what_the_brief_does_not_name(self, space: OpenSpace) -> None:
        """`children` of the brief in force says which modes there are for a child."""
        with pytest.raises(InputError) as caught:
            space.conversation("c").child("chat")
        assert caught.value.problems[0].code == "child-mode"

    def test_is_three_deep_at_most(self, space: OpenSpace) -> None:
        """A child of a child of a child has none."""
        talk = space.conversation("c")
        for _ in range(3):
            talk = talk.child()
        with pytest.raises(InputError) as caught:
            talk.child()
        assert caught.value.problems[0].code == "child-depth"


class TestBranches:
    def test_a_fork_is_as_its_parent_was(self, space: OpenSpace, git: Catalog) -> None:
        """Case 002-020: a fork inherits the mode up to its branch point."""
        talk = space.conversation("c")
        with talk.turn() as turn:
            early = turn.step(git).position
        space.set("plan", by="operator")
        with talk.turn() as turn:
            turn.step(git)
        assert talk.fork("f").mode == "plan"
        # The space is in plan now, so the fork is not in chat when it goes on.
        assert talk.fork("g", at=early).mode == "plan"

    def test_a_branch_keeps_what_it_had(self, space: OpenSpace, git: Catalog) -> None:
        """S001-9 case: the mode of a branch is there without a transition, never wider."""
        space.set("plan", by="operator")
        talk = space.conversation("c")
        with talk.turn() as turn:
            early = turn.step(git).position
        space.set("chat", by="operator")
        with talk.turn() as turn:
            turn.step(git)
        talk.move(early)
        with talk.turn() as turn:
            step = turn.step(git)
            assert step.mode == "plan"
            (marker,) = step.notices
            assert marker.what == "marker"
            assert isinstance(step.decide(COMMIT), Answer)


def test_what_is_made_of_the_log_is_what_is_there(
    workspace: Workspace, space: OpenSpace, git: Catalog
) -> None:
    """A rebuild reproduces conversations, their turns, and their plans."""
    talk = space.conversation("c")
    talk.activate("p", "# Tasks\n- [ ] one\n- [ ] two\n")
    with talk.turn() as turn:
        turn.step(git)
        talk.child()
    assert talk.plan is not None
    task = talk.plan.next
    assert task is not None
    before = talk.position
    assert (talk.tick(task.id), talk.tick(task.id)) == (True, False)
    fork = talk.fork("f", at=before)
    assert fork.plan is not None
    assert (fork.plan.done, talk.plan.done) == (0, 1)
    talk.move(before)
    assert talk.plan.done == 0
    assert workspace.store.log.rebuild().equal
    assert workspace.store.log.verify().ok
