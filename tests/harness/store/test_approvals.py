"""Approvals: asked once, decided by an operator, used once (design section 6)."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from remit.harness.store import Approval, ApprovalKind, ApprovalState, Store, StoreConflict
from remit.harness.store.approvals import CALL_TIME
from remit.policy.problems import InputError
from remit.policy.vocabulary import Dial

Ask = Callable[..., Approval]


@pytest.fixture
def ask(store: Store, space: str, now: datetime) -> Ask:
    def open(
        kind: ApprovalKind = ApprovalKind.CALL,
        digest: str = "d1",
        conversation: str = "c1",
        by: str = "agent:c1",
        shown: str = "run it",
        at: datetime = now,
    ) -> Approval:
        return store.approvals.open(
            kind,
            space=space,
            conversation=conversation,
            requested_by=by,
            digest=digest,
            shown=shown,
            now=at,
        )

    return open


def test_the_same_request_opens_no_second_one(store: Store, ask: Ask, now: datetime) -> None:
    """One digest in one conversation has one open approval, pending or approved."""
    first = ask()
    assert ask() == first
    store.approvals.decide(first.id, True, by="operator", now=now)
    assert ask().id == first.id
    others = [ask(digest="d2"), ask(conversation="c2"), ask(ApprovalKind.QUESTION)]
    assert len({first.id, *(a.id for a in others)}) == 4
    assert [a.id for a in store.approvals.list(now=now)] == [
        a.id for a in reversed([first, *others])
    ]


def test_a_request_after_the_end_of_one_opens_another(
    store: Store, ask: Ask, now: datetime
) -> None:
    """Rejected, used and expired are final: the same call is asked for anew."""
    seen = [ask()]
    store.approvals.decide(seen[-1].id, False, by="operator", now=now)
    seen.append(ask())
    store.approvals.decide(seen[-1].id, True, by="operator", now=now)
    store.approvals.use(seen[-1].id, now=now)
    seen.append(ask())
    seen.append(ask(at=now + CALL_TIME))
    assert len({a.id for a in seen}) == 4
    states = [store.approvals.get(a.id, now=now).state.value for a in seen]
    assert states == ["rejected", "used", "expired", "pending"]
    found = store.approvals.find("demo", "c1", ApprovalKind.CALL, digest="d1", now=now)
    assert found is not None
    assert found.id == seen[-1].id


def test_what_is_shown_can_all_be_seen(ask: Ask) -> None:
    """Control and bidirectional characters are escaped before anybody reads them."""
    assert ask(shown="rm\u202e x\x1b[2K\nline").shown == "rm\\u202e x\\x1b[2K\nline"


def test_one_is_used_exactly_once(store: Store, ask: Ask, now: datetime) -> None:
    """It is consumed in the transaction that records it; the second user is told."""
    id = ask().id
    with pytest.raises(StoreConflict) as caught:
        store.approvals.use(id, now=now)
    assert caught.value.problems[0].code == "approval-pending"
    store.approvals.decide(id, True, by="operator", now=now)
    used = store.approvals.use(id, now=now)
    assert (used.state, used.used_at) == (ApprovalState.USED, used.decided_at)
    assert store.log.read()[-1].kind == "approval.used"
    with pytest.raises(StoreConflict) as caught:
        store.approvals.use(id, now=now)
    assert caught.value.problems[0].code == "approval-used"
    assert [e.kind for e in store.log.read()].count("approval.used") == 1


def test_the_same_decision_again_changes_nothing(store: Store, ask: Ask, now: datetime) -> None:
    """A second operator who agrees is not told off, and nothing is recorded twice."""
    yes, no = ask().id, ask(digest="d2").id
    store.approvals.decide(yes, True, by="operator:ann", now=now, feedback="fine")
    store.approvals.decide(no, False, by="operator:ann", now=now, feedback="not\x07 now")
    head = store.log.head()
    assert (
        store.approvals.decide(yes, True, by="operator:bob", now=now).decided_by == "operator:ann"
    )
    assert store.approvals.decide(no, False, by="operator:bob", now=now).feedback == "not\\x07 now"
    assert store.log.head() == head
    store.approvals.use(yes, now=now)
    assert store.approvals.decide(yes, True, by="operator:bob", now=now).state == "used"


@pytest.mark.parametrize("first", [True, False])
def test_the_opposite_decision_is_told_the_outcome(
    first: bool, store: Store, ask: Ask, now: datetime
) -> None:
    """Two operators who disagree: one wins, the other is told who decided and how."""
    id = ask().id
    store.approvals.decide(id, first, by="operator:ann", now=now)
    with pytest.raises(StoreConflict) as caught:
        store.approvals.decide(id, not first, by="operator:bob", now=now)
    assert caught.value.now.state == ("approved" if first else "rejected")
    assert "`operator:ann`" in caught.value.problems[0].message


def test_a_call_expires_absolutely(store: Store, ask: Ask, now: datetime) -> None:
    """30 minutes from the asking, whether decided by then or not; the end is recorded."""
    pending, granted = ask().id, ask(digest="d2").id
    last = now + timedelta(minutes=30) - timedelta(microseconds=1)
    store.approvals.decide(granted, True, by="operator", now=last)
    over = now + timedelta(minutes=30)
    assert store.approvals.get(pending, now=last).state == "pending"
    assert store.approvals.get(pending, now=over).state == "expired"
    assert store.approvals.list(state=ApprovalState.PENDING, now=over) == ()
    with pytest.raises(StoreConflict) as caught:
        store.approvals.decide(pending, True, by="operator", now=over)
    assert caught.value.problems[0].code == "approval-expired"
    with pytest.raises(StoreConflict) as caught:
        store.approvals.use(granted, now=over)
    assert caught.value.now.state == "expired"
    assert [e.kind for e in store.log.read()].count("approval.expired") == 2
    assert store.approvals.expire(now=over) == ()


def test_what_has_expired_is_not_superseded_afterwards(
    store: Store, ask: Ask, now: datetime
) -> None:
    """An end is told once: a switch after the 30 minutes finds the approval over already."""
    id = ask().id
    over = now + CALL_TIME
    store.spaces.set_mode("demo", "chat", by="operator", why="", now=over)
    assert store.approvals.get(id, now=over).state == "expired"
    assert [e.kind for e in store.log.read()][-1] == "approval.expired"


def test_expiry_can_be_recorded_for_all(store: Store, ask: Ask, now: datetime) -> None:
    """A host may sweep; what waits without a limit is left alone."""
    over = now + CALL_TIME
    ids = [ask().id, ask(digest="d2").id]
    ask(ApprovalKind.QUESTION)
    ask(ApprovalKind.PLAN_EXIT)
    assert store.approvals.expire(now=now) == ()
    assert [a.id for a in store.approvals.expire(now=over)] == ids
    assert len(store.approvals.list(state=ApprovalState.PENDING, now=over)) == 2


def test_whoever_asked_never_decides(store: Store, ask: Ask, now: datetime) -> None:
    """Nor does anybody who is not an operator; nothing is recorded."""
    mine = ask(by="operator:ann", digest="d2")
    head = store.log.head()
    with pytest.raises(InputError) as caught:
        store.approvals.decide(mine.id, True, by="operator:ann", now=now)
    assert caught.value.problems[0].code == "own-request"
    for actor in ("agent:c1", "agent:c2", "system", "pipeline"):
        with pytest.raises(InputError) as caught:
            store.approvals.decide(mine.id, True, by=actor, now=now)
        assert caught.value.problems[0].code == "not-operator"
    assert store.log.head() == head
    assert store.approvals.decide(mine.id, True, by="operator:bob", now=now).state == "approved"


def test_a_decision_may_set_the_dial(store: Store, ask: Ask, now: datetime) -> None:
    """With an approval, in the same transaction; a rejection leaves the dial as it is."""
    no, yes = ask().id, ask(digest="d2").id
    store.approvals.decide(no, False, by="operator", now=now, dial=Dial.AUTO)
    assert store.spaces.get("demo").dial is Dial.ASK
    store.approvals.decide(yes, True, by="operator", now=now, dial=Dial.ACCEPT_EDITS)
    assert store.spaces.get("demo").dial is Dial.ACCEPT_EDITS
    assert store.approvals.use(yes, now=now).state == "used"


def test_an_unknown_approval_is_told_with_near_misses(
    store: Store, ask: Ask, now: datetime
) -> None:
    """A mistyped id decides nothing."""
    id = ask().id
    acts: tuple[Callable[[str], object], ...] = (
        lambda wrong: store.approvals.get(wrong, now=now),
        lambda wrong: store.approvals.decide(wrong, True, by="operator", now=now),
        lambda wrong: store.approvals.use(wrong, now=now),
    )
    for act in acts:
        with pytest.raises(InputError) as caught:
            act(f"{id}x")
        assert caught.value.problems[0].code == "unknown-approval"
        assert id in caught.value.problems[0].hint


def test_an_approval_belongs_to_a_space_that_is_there(store: Store, now: datetime) -> None:
    """What nobody could use is not asked for."""
    with pytest.raises(InputError):
        store.approvals.open(
            ApprovalKind.CALL,
            space="nowhere",
            conversation="c1",
            requested_by="agent:c1",
            digest="d",
            shown="",
            now=now,
        )
    assert store.log.head() == 1
