"""What tests of the command line put into a workspace, as a conversation would."""

from datetime import UTC, datetime

from remit.harness.store import ApprovalKind, Store
from remit.policy.plan import read_plan

PLAN = {
    "goal": "See land",
    "nodes": [{"key": "sail", "title": "Sail", "description": "Northwards."}],
}


def asked(store: Store, space: str, kind: ApprovalKind, shown: str = "git push") -> str:
    """Open an approval; return its id."""
    return store.approvals.open(
        kind,
        space=space,
        conversation="c",
        requested_by="agent:c",
        digest=f"{kind}-{shown}",
        shown=shown,
        now=datetime.now(UTC),
    ).id


def planned(store: Store, space: str) -> str:
    """Submit a plan; return its id."""
    plan = read_plan(PLAN)
    now = datetime.now(UTC)
    return store.plans.submit(space, "c", plan, by="agent:c", now=now).plan.id
