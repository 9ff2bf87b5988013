"""The verbs of a review, called as a model calls them."""

from pathlib import Path

import pytest

from remit.harness.engine import Engine
from remit.harness.reviewing import check_anchor
from remit.harness.session import Answer, Session
from remit.harness.store import OPERATOR, Store
from remit.harness.workspace import Workspace
from remit.policy.problems import InputError
from remit.policy.projection import Host
from remit.policy.review import Anchor
from remit.policy.tools import Call
from remit.policy.vocabulary import SpaceKind
from tests.harness.desk import Clock


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "wt"
    folder.mkdir()
    (folder / "a.py").write_text("1\n2\n3\n")
    (tmp_path / "out.py").write_text("1\n")
    (folder / "link.py").symlink_to(tmp_path / "out.py")
    return folder


def test_a_place_is_held_against_the_worktree(tree: Path) -> None:
    """A file that is there with its lines passes; without a worktree nobody can say."""
    check_anchor(str(tree), Anchor("a.py", 1, 3))
    check_anchor(str(tree), None)
    check_anchor(None, Anchor("nowhere", 1, 1))


@pytest.mark.parametrize(
    "anchor", [Anchor("a.py", 1, 4), Anchor("b.py", 1, 1), Anchor("link.py", 1, 1)]
)
def test_a_place_that_is_not_there_is_a_problem(tree: Path, anchor: Anchor) -> None:
    """A line past the end, a missing file and a link out of the worktree are told."""
    with pytest.raises(InputError):
        check_anchor(str(tree), anchor)


FINDING = {
    "kind": "bug", "priority": "p0", "confidence": 0.8, "text": "it loops for ever",
    "file": "a.py", "first_line": 2, "last_line": 3,
}  # fmt: skip


class Reviewer:
    """An agent of the review, with a conversation of its own."""

    def __init__(self, engine: Engine, store: Store, clock: Clock, name: str) -> None:
        self.session = Session(engine, store, "pr", name, Host("test"), clock)

    def says(self, tool: str, **args: object) -> Answer:
        answer = self.session.call(self.session.frame(), Call(tool, args))
        assert isinstance(answer, Answer)
        return answer


@pytest.fixture
def agents(
    engine: Engine, store: Store, clock: Clock, tree: Path
) -> tuple[Store, Reviewer, Reviewer]:
    opened = Workspace(engine, store, Host("test"), clock).open_review("pr", str(tree), by=OPERATOR)
    assert opened.state.kind is SpaceKind.PULL_REQUEST
    one, two = (Reviewer(engine, store, clock, name) for name in ("c1", "c2"))
    return store, one, two


class TestVerbs:
    def test_two_agents_find_confirm_and_finalize(
        self, agents: tuple[Store, Reviewer, Reviewer]
    ) -> None:
        """S003-11 to 13: a finding is noted by one, confirmed by the other, and blocks."""
        store, one, two = agents
        noted = one.says("add_review_node", **FINDING)
        assert noted.data is not None
        id = str(noted.data["id"])

        own = one.says("confirm_review_node", id=id)
        assert own.error
        assert "cannot settle it" in own.text
        assert not two.says("confirm_review_node", id=id).error
        done = two.says("finalize_review", axes=[{"name": "tests", "verdict": "pass"}])

        assert done.data == {"space": "pr", "verdict": "block", "dropped": 0}
        (found,) = store.reviews.get("pr").findings
        assert (found.status, found.confirmed_by) == ("consensus-ready", ("agent:c2",))
        assert store.log.rebuild().problems == ()

    def test_a_peer_dismisses_with_a_reason(self, agents: tuple[Store, Reviewer, Reviewer]) -> None:
        """What a peer holds to be none weighs nothing."""
        store, one, two = agents
        noted = one.says("add_review_node", **FINDING)
        assert noted.data is not None

        two.says("dismiss_review_node", id=str(noted.data["id"]), reason="by design")

        assert store.reviews.get("pr").verdict == "ship"

    def test_every_problem_comes_in_one_answer(
        self, agents: tuple[Store, Reviewer, Reviewer]
    ) -> None:
        """A finding that is wrong in three ways is refused with three lines, and not noted."""
        store, one, _ = agents
        said = one.says(
            "add_review_node", **{**FINDING, "kind": "bugg", "confidence": 7, "text": ""}
        )

        assert said.error
        assert [line.partition(":")[0] for line in said.text.splitlines()[1:]] == [
            "- kind", "- confidence", "- text",
        ]  # fmt: skip
        assert "did you mean `bug`" in said.text
        assert store.reviews.get("pr").findings == ()

    def test_a_place_that_is_not_there_is_refused(
        self, agents: tuple[Store, Reviewer, Reviewer]
    ) -> None:
        """Anchors are held against the worktree."""
        store, one, _ = agents

        assert "has 3 lines" in one.says("add_review_node", **{**FINDING, "last_line": 9}).text
        assert "no file" in one.says("add_review_node", **{**FINDING, "file": "b.py"}).text
        assert store.reviews.get("pr").findings == ()

    def test_review_writes_findings_and_nothing_else(
        self, agents: tuple[Store, Reviewer, Reviewer]
    ) -> None:
        """S003-11: its verbs pass on any dial, and no other mode has them."""
        store, one, _ = agents
        assert not one.says("finalize_review").error

        store.spaces.set_mode("pr", "plan", by=OPERATOR, why="x", now=one.session.clock())

        refused = one.says("finalize_review")
        assert refused.error
        assert "plan mode refused" in refused.text
