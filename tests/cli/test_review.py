"""`remit review` shows what was found, as people, scripts and code hosts read it."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from remit.harness.store import Store
from remit.policy.review import Anchor, NodeKind, Priority, ReviewNode
from tests.cli.conftest import Remit
from tests.needs import need, need_npm

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 30, tzinfo=UTC)
BUG = ReviewNode(NodeKind.BUG, Priority.P1, 0.6, "it \x1b breaks", Anchor("a.py", 1, 1))


@pytest.fixture
def db(remit: Remit, workspace: dict[str, str], tmp_path: Path) -> str:
    """A pull request's space, with one finding."""
    tree = tmp_path / "wt"
    tree.mkdir()
    (tree / "a.py").write_text("1\n")
    remit("space", "create", "pr", "--kind", "pull-request", "--worktree", tree)
    with Store.open(workspace["db"]) as store:
        store.reviews.add("pr", "c1", BUG, by="agent:c1", now=NOW)
    return workspace["db"]


def test_show(remit: Remit, db: str) -> None:
    """The verdict comes first, and a review that holds ends with 1 (S003-12, S003-13)."""
    said = remit("review", "show", "pr")

    assert said.code == 1
    assert said.out.startswith("# Review of pr: hold\n")
    assert "## P1, bug in `a.py`, lines 1 to 1" in said.out
    assert "it \\x1b breaks" in said.out


def test_finalize(remit: Remit, db: str) -> None:
    """An operator's axes only harden, and are kept with who said them."""
    said = remit("review", "finalize", "pr", "--axis", "tests=fail", "--format", "json")

    assert said.code == 1
    assert (said.json["verdict"], said.json["finalized_by"]) == ("block", "operator")
    assert said.json["axes"] == [{"name": "tests", "verdict": "fail", "gated": True}]
    assert remit("review", "show", "pr", "--format", "json").json == said.json


@pytest.mark.parametrize("axis", ["tests", "tests=perhaps", "=pass"])
def test_an_axis_that_is_none_is_a_usage_error(remit: Remit, db: str, axis: str) -> None:
    """What was given is named with the words that there are; nothing is recorded."""
    said = remit("review", "finalize", "pr", "--axis", axis)

    assert said.code == 2
    assert "pass, warn, fail, partial, unavailable" in said.err
    assert remit("review", "show", "pr", "--format", "json").json["finalized_at"] is None


def test_an_agent_does_not_finalize_as_operator(
    remit: Remit, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the operator's token the command refuses."""
    monkeypatch.delenv("REMIT_OPERATOR")

    assert remit("review", "finalize", "pr").code == 2


def test_an_unknown_space_is_an_error(remit: Remit, db: str) -> None:
    """There is no review of a space that is not there."""
    said = remit("review", "show", "prr")

    assert said.code == 2
    assert "did you mean `pr`" in said.err


def test_a_review_of_a_commit_of_ours_validates(remit: Remit, workspace: dict[str, str]) -> None:
    """SARIF is what its own schema says, for each kind and priority, over files of a commit."""
    git = need("git")
    shipped = need_npm("@microsoft/jest-sarif") / "lib/schemas/sarif-2.1.0-rtm.5.json"
    listed = subprocess.check_output(
        [git, "-C", ROOT, "ls-tree", "-r", "--name-only", "HEAD", "docs/"], text=True
    ).split()
    remit("space", "create", "pr", "--kind", "pull-request", "--worktree", ROOT)
    with Store.open(workspace["db"]) as store:
        for i, kind in enumerate(NodeKind):
            anchor = Anchor(listed[i], 1, i + 1) if i else None
            node = ReviewNode(kind, list(Priority)[i % 4], i / 4, f"finding {i} in ü", anchor)
            made = store.reviews.add("pr", "c1", node, by="agent:c1", now=NOW)
        store.reviews.dismiss("pr", "c2", made.id, by="agent:c2", now=NOW, why="no")

    said = remit("review", "show", "pr", "--format", "sarif")

    validator = jsonschema.Draft4Validator(json.loads(shipped.read_text()))
    assert [e.message for e in validator.iter_errors(said.json)] == []
    results = said.json["runs"][0]["results"]
    assert len(results) == len(NodeKind)
    places = [r["locations"][0]["physicalLocation"] for r in results if "locations" in r]
    assert all(os.path.isfile(ROOT / p["artifactLocation"]["uri"]) for p in places)
