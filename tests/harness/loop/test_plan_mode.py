"""What the harness lists and does in the mode that plans, beside the mode that is free."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.harness.store import ApprovalState
from remit.harness.workspace import Workspace
from remit.policy.problems import RemitError
from remit.policy.vocabulary import Dial
from tests.harness.loop.driver import Chat, call, says
from tests.harness.loop.wires import BASES, wired

PLAN = call("present_plan", title="Write b", plan="# Write b\n- [ ] b.txt")


@pytest.mark.parametrize("provider", BASES)
def test_what_is_offered_is_the_same_for_every_provider(chat: Chat, provider: str) -> None:
    """004-002, 004-003, S004-1, S004-3: reads in plan; in chat all, `present_plan` too."""
    from remit.harness.loop.models import model_of

    offered = {}
    with wired() as wire:
        for mode in ("plan", "chat"):
            wire.asked.clear()

            def model(script: object) -> object:
                wire.script = script  # type: ignore[assignment]
                return model_of(f"{provider}:tale", wire.url + BASES[provider], {})

            chat.model = model  # type: ignore[assignment]
            chat.space.set(mode, by="operator")
            chat.run(says("."), says("."), id=mode)
            offered[mode] = wire.tools(0)
    assert offered["chat"] - offered["plan"] == {"write", "edit", "apply_patch"}
    assert {"read", "search", "submit_plan", "present_plan"} <= offered["plan"]
    assert "present_plan" in offered["chat"]


def test_without_a_worktree_a_plan_is_decided_and_filed_nowhere(
    workspace: Workspace, tmp_path: Path
) -> None:
    """004-011, S004-8: an approval works as well; there is no file."""
    chat = Chat(workspace.create_space("bare", "plan", by="operator"), tmp_path)
    chat.operator["plan"] = chat.decide()
    chat.run(says(PLAN), says("I begin."))
    (plan,) = workspace.store.plans.list()
    assert plan.path is None
    assert chat.space.mode == "chat"


def test_an_approval_whose_dial_is_refused_decides_nothing(chat: Chat) -> None:
    """004-014, S004-R1: dial and approval are one act; neither is without the other."""
    chat.space.set("plan", by="operator")
    refused: list[str] = []

    def approve(id: str) -> None:
        store, now = chat.at.store, chat.at.clock()
        with pytest.raises((RemitError, ValueError)):
            store.approvals.decide(id, True, by="operator", now=now, dial="any")  # type: ignore[arg-type]
        refused.append(store.approvals.get(id, now=now).state)
        chat.decide(False, "later")(id)

    chat.operator["plan"] = approve
    chat.run(says(PLAN), says("."), says("."))
    assert refused == [ApprovalState.PENDING]
    assert chat.space.mode == "plan"


def test_choosing_a_mode_leaves_the_dial(chat: Chat) -> None:
    """004-015, S004-2: what is armed stays so, and what is shown is the mode."""
    chat.space.set_dial(Dial.ACCEPT_EDITS, by="operator")
    chat.space.set("plan", by="operator")
    assert (chat.space.mode, chat.space.state.dial) == ("plan", Dial.ACCEPT_EDITS)
