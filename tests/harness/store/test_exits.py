"""Leaving a mode by approval: S003-10 exactly, and never again with a grant that was used."""

from datetime import datetime

import pytest

from remit.harness.store import ApprovalKind, Exit, ExitState, Store, StoreConflict


def leave(
    store: Store,
    now: datetime,
    *,
    conversation: str = "c1",
    to: str = "chat",
    expect: int | None = None,
) -> Exit:
    return store.exits.request(
        "demo", conversation, to, by=f"agent:{conversation}", now=now, expect=expect
    )


def decide(store: Store, asked: Exit, approve: bool, now: datetime) -> None:
    assert asked.approval is not None
    store.approvals.decide(asked.approval.id, approve, by="operator:ann", now=now)


def test_an_exit_is_asked_for_once_and_used_by_the_flip(
    store: Store, space: str, now: datetime
) -> None:
    """S003-10: pending stays pending with one approval; only a call after the grant leaves."""
    first = leave(store, now)
    assert (first.state, first.space.mode) == (ExitState.PENDING, "plan")
    assert leave(store, now) == first
    assert len(store.approvals.list(now=now)) == 1
    decide(store, first, True, now)
    assert store.spaces.get(space).mode == "plan", "a grant alone flips nothing"
    left = leave(store, now)
    assert (left.state, left.space.mode, left.space.revision) == (ExitState.LEFT, "chat", 2)
    assert left.approval is not None
    assert left.approval.state == "used"
    change = store.spaces.history(space)[-1]
    assert (change.by, change.approval) == ("agent:c1", left.approval.id)
    assert "operator:ann" in change.why


def test_a_grant_is_used_up(store: Store, space: str, now: datetime) -> None:
    """S003-10, and fault 8 of the old system: back in plan, the next exit needs a new approval."""
    decide(store, leave(store, now), True, now)
    leave(store, now)
    store.spaces.set_mode(space, "plan", by="operator", why="back", now=now)
    assert leave(store, now).state is ExitState.PENDING
    assert store.spaces.get(space).mode == "plan"


def test_a_grant_that_was_not_used_does_not_outlive_the_stay(
    store: Store, space: str, now: datetime
) -> None:
    """An operator's switch in between supersedes it, pending or approved."""
    for approve in (True, None):
        asked = leave(store, now)
        if approve is not None:
            decide(store, asked, approve, now)
        store.spaces.set_mode(space, "chat", by="operator", why="", now=now)
        store.spaces.set_mode(space, "plan", by="operator", why="", now=now)
        again = leave(store, now)
        assert again.state is ExitState.PENDING
        assert again.approval != asked.approval


def test_after_a_rejection_a_fresh_one_may_be_opened(
    store: Store, space: str, now: datetime
) -> None:
    """S003-10: the rejected one stays rejected, and the space stays where it is."""
    first = leave(store, now)
    decide(store, first, False, now)
    second = leave(store, now)
    assert second.state is ExitState.PENDING
    assert second.approval is not None
    assert first.approval is not None
    assert second.approval.id != first.approval.id
    assert store.approvals.get(first.approval.id, now=now).state == "rejected"
    assert second.space.mode == "plan"


def test_conversations_ask_for_themselves(store: Store, space: str, now: datetime) -> None:
    """A grant to one is no grant to another, and the flip ends what the other asked for."""
    mine, other = leave(store, now), leave(store, now, conversation="c2")
    assert mine.approval != other.approval
    decide(store, mine, True, now)
    assert leave(store, now, conversation="c2").state is ExitState.PENDING
    assert leave(store, now).state is ExitState.LEFT
    assert other.approval is not None
    assert store.approvals.get(other.approval.id, now=now).state == "superseded"


def test_a_grant_leads_where_it_was_asked_to(store: Store, space: str, now: datetime) -> None:
    """A way out that changed after the asking is asked for anew."""
    first = leave(store, now)
    decide(store, first, True, now)
    second = leave(store, now, to="explore")
    assert second.state is ExitState.PENDING
    assert first.approval is not None
    assert store.approvals.get(first.approval.id, now=now).state == "superseded"
    assert store.spaces.get(space).mode == "plan"


def test_a_mode_that_was_left_meanwhile_is_not_left_again(
    store: Store, space: str, now: datetime
) -> None:
    """The verb answers that it is in another mode now, and does nothing."""
    decide(store, leave(store, now), True, now)
    store.spaces.set_mode(space, "review", by="operator", why="", now=now)
    head = store.log.head()
    with pytest.raises(StoreConflict) as caught:
        leave(store, now, expect=1)
    assert caught.value.now.mode == "review"
    assert store.log.head() == head


def test_where_it_is_already_nothing_is_asked(store: Store, space: str, now: datetime) -> None:
    """A repetition after the flip opens no approval."""
    store.spaces.set_mode(space, "chat", by="operator", why="", now=now)
    answer = leave(store, now, expect=1)
    assert (answer.state, answer.approval) == (ExitState.THERE, None)
    assert store.approvals.find(space, "c1", ApprovalKind.PLAN_EXIT, now=now) is None
