"""`remit orchestrations` shows what was proposed, and approving one carries it out."""

import json
from datetime import UTC, datetime

import pytest

from remit.harness.store import Store
from remit.policy.orchestration import (
    Hire,
    Orchestration,
    OrchestrationBudget,
    OrchestrationRole,
    RoleTask,
    Ticket,
)
from tests.cli.conftest import Remit

NOW = datetime(2026, 11, 30, tzinfo=UTC)
PROPOSAL = Orchestration(
    "Ship \x1b it",
    (OrchestrationRole("dev", "Developer", hire=Hire("bo")),),
    (Ticket("t", "Do", "all", "dev"),),
    RoleTask("dev", "Report."),
    OrchestrationBudget(4, 5),
)


@pytest.fixture
def made(remit: Remit, workspace: dict[str, str]) -> tuple[str, str]:
    """The ids of a proposal and of its approval."""
    remit("space", "create", "lab", "--mode", "orchestrate")
    with Store.open(workspace["db"]) as store:
        record = store.orchestrations.propose("lab", "c1", PROPOSAL, by="agent:c1", now=NOW)
    return record.id, record.approval


def test_approving_carries_it_out(remit: Remit, made: tuple[str, str]) -> None:
    """S003-16: the operator approves, and agent, project, ticket and pipeline come into being."""
    id, approval = made
    before = remit("orchestrations", "show", id)
    assert "# Ship \\x1b it" in before.out
    assert before.out.count("not done") == 4

    assert remit("approvals", "approve", approval).code == 0

    after = remit("orchestrations", "show", id, "--json").json
    assert after["state"] == "started"
    assert [a["act"] for a in after["actions"]] == [
        "hire", "create_project", "create_ticket", "start_pipeline",
    ]  # fmt: skip
    assert all(a["result"] for a in after["actions"])
    spaces = [s["id"] for s in remit("space", "list", "--json").json]
    assert after["actions"][1]["result"] in spaces
    assert remit("orchestrations", "carry-out").code == 0
    assert [r["id"] for r in remit("orchestrations", "list", "--json").json] == [id]
    assert "started" in remit("orchestrations", "list", "--space", "lab").out


def test_what_a_crash_left_is_carried_out(
    remit: Remit, made: tuple[str, str], workspace: dict[str, str]
) -> None:
    """What was approved and not done is done by hand; a budget whose minutes are over ends it."""
    id, approval = made
    assert remit("orchestrations", "carry-out", id).code == 2
    with Store.open(workspace["db"]) as store:
        store.approvals.decide(approval, True, by="operator", now=NOW)

    said = remit("orchestrations", "carry-out", "--json")

    (record,) = json.loads(said.out)
    assert (said.code, record["state"]) == (1, "stopped")
    assert record["why"].startswith("the budget's 5 minutes were over")


def test_an_unknown_one_is_told_with_near_misses(remit: Remit, made: tuple[str, str]) -> None:
    """A slip in an id is answered with what was meant."""
    said = remit("orchestrations", "show", made[0][:-1])
    assert said.code != 0
    assert made[0] in said.err
