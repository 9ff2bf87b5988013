"""Spaces: one mode each, changed by compare-and-set, with a history of who and why."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from remit.harness.store import Answer, ApprovalKind, ApprovalState, Store, StoreConflict
from remit.policy.problems import InputError
from remit.policy.vocabulary import Dial, SpaceKind


def test_a_space_is_what_it_was_made_as(store: Store, now: datetime, tmp_path: Path) -> None:
    """S003-1: the mode is a property of the space, beside kind, worktree, dial and remote."""
    (tmp_path / "wt").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "wt")
    made = store.spaces.create(
        "pr-7",
        "review",
        by="system",
        now=now,
        kind=SpaceKind.PULL_REQUEST,
        worktree=str(tmp_path / "link"),
        dial=Dial.PROPOSE,
        remote=True,
    )
    assert made == store.spaces.get("pr-7") == store.spaces.list()[0]
    assert (made.mode, made.kind, made.dial, made.remote, made.revision) == (
        "review", SpaceKind.PULL_REQUEST, Dial.PROPOSE, True, 1,
    )  # fmt: skip
    assert made.worktree == str(tmp_path / "wt")


def test_an_unknown_space_is_an_error_with_near_misses(store: Store, now: datetime) -> None:
    """S003-23: an id that nobody made is never taken for a space in chat."""
    with pytest.raises(InputError) as caught:
        store.spaces.get("demo")
    assert "remit space create" in caught.value.problems[0].hint
    store.spaces.create("demo", "plan", by="operator", now=now)
    reads: tuple[Callable[[str], object], ...] = (
        store.spaces.get,
        store.spaces.history,
        lambda id: store.spaces.set_mode(id, "chat", by="operator", why="", now=now),
        lambda id: store.spaces.set_dial(id, Dial.AUTO, by="operator", now=now),
        lambda id: store.approvals.list(space=id, now=now),
        lambda id: store.plans.list(id),
    )
    for read in reads:
        with pytest.raises(InputError) as caught:
            read("demoo")
        assert caught.value.problems[0].code == "unknown-space"
        assert caught.value.problems[0].hint == "did you mean `demo`"


def test_a_space_is_made_once(store: Store, space: str, now: datetime) -> None:
    """A second one of the same id is a conflict that carries the first."""
    with pytest.raises(StoreConflict) as caught:
        store.spaces.create(space, "chat", by="operator", now=now)
    assert caught.value.now.mode == "plan"
    assert store.spaces.get(space).mode == "plan"


@pytest.mark.parametrize(
    ("id", "mode", "worktree", "code"),
    [
        ("", "plan", None, "bad-space-id"),
        ("a b", "plan", None, "bad-space-id"),
        ("../up", "plan", None, "bad-space-id"),
        ("x" * 65, "plan", None, "bad-space-id"),
        ("demo\n", "plan", None, "bad-space-id"),
        ("dämo", "plan", None, "bad-space-id"),
        ("demo", "Plan", None, "bad-mode-name"),
        ("demo", "", None, "bad-mode-name"),
        ("demo", "plan", "here", "bad-worktree"),
        ("demo", "plan", "/a\0b", "bad-worktree"),
        ("demo", "plan", "/a\ud800", "bad-worktree"),
    ],
)
def test_bad_names_are_refused(
    id: str, mode: str, worktree: str | None, code: str, store: Store, now: datetime
) -> None:
    """What could not be shown or compared safely never gets into the log."""
    with pytest.raises(InputError) as caught:
        store.spaces.create(id, mode, by="operator", now=now, worktree=worktree)
    assert caught.value.problems[0].code == code
    assert store.log.head() == 1


def test_a_switch_commits_at_once(store: Store, space: str, now: datetime) -> None:
    """S003-2: the space has the new mode, and the log says what was before, by whom and why."""
    switch = store.spaces.set_mode(space, "chat", by="operator:ann", why="ship", now=now, expect=1)
    assert (switch.answer, switch.space.mode, switch.space.revision) == (
        Answer.COMMITTED, "chat", 2,
    )  # fmt: skip
    assert store.spaces.get(space) == switch.space
    event = store.log.read(space)[-1]
    assert (event.kind, event.actor, event.body["previous"]) == ("mode.set", "operator:ann", "plan")


def test_the_mode_that_it_has_is_no_switch(store: Store, space: str, now: datetime) -> None:
    """A repetition changes nothing and records nothing, also with an old revision."""
    head = store.log.head()
    switch = store.spaces.set_mode(space, "plan", by="operator", why="", now=now, expect=99)
    assert (switch.answer, switch.space.revision, store.log.head()) == (Answer.NOOP, 1, head)


def test_whoever_is_late_is_told_what_is_there(store: Store, space: str, now: datetime) -> None:
    """Compare-and-set on the revision: the second of two is refused and shown the first's mode."""
    store.spaces.set_mode(space, "chat", by="operator:ann", why="", now=now, expect=1)
    with pytest.raises(StoreConflict) as caught:
        store.spaces.set_mode(space, "review", by="operator:bob", why="", now=now, expect=1)
    assert caught.value.problems[0].code == "space-changed"
    assert (caught.value.now.mode, caught.value.now.revision) == ("chat", 2)
    assert store.spaces.get(space).mode == "chat"


def test_an_agent_never_changes_a_space(store: Store, space: str, now: datetime) -> None:
    """Only an operator, the system or a pipeline does; an agent asks for an exit instead."""
    acts: tuple[Callable[[str], object], ...] = (
        lambda by: store.spaces.set_mode(space, "chat", by=by, why="", now=now),
        lambda by: store.spaces.set_dial(space, Dial.AUTO, by=by, now=now),
        lambda by: store.spaces.create("other", "chat", by=by, now=now),
    )
    for act in acts:
        for actor in ("agent:c1", "agent:operator"):
            with pytest.raises(InputError) as caught:
                act(actor)
            assert caught.value.problems[0].code == "not-operator"
    assert store.spaces.get(space).mode == "plan"
    assert (
        store.spaces.set_mode(space, "chat", by="pipeline", why="", now=now).answer == "committed"
    )


def test_a_switch_supersedes_what_was_asked_for_in_the_mode(
    store: Store, space: str, now: datetime
) -> None:
    """Approvals of calls and exits are bound to the mode; questions and other spaces are not."""
    store.spaces.create("other", "plan", by="operator", now=now)

    def ask(kind: ApprovalKind, digest: str, where: str = space) -> str:
        return store.approvals.open(
            kind,
            space=where,
            conversation="c1",
            requested_by="agent:c1",
            digest=digest,
            shown="x",
            now=now,
        ).id

    granted = ask(ApprovalKind.CALL, "d1")
    store.approvals.decide(granted, True, by="operator", now=now)
    bound = [granted, ask(ApprovalKind.CALL, "d2"), ask(ApprovalKind.PLAN_EXIT, "d3")]
    free = [ask(ApprovalKind.QUESTION, "d4"), ask(ApprovalKind.CALL, "d1", "other")]
    store.spaces.set_mode(space, "chat", by="operator", why="", now=now)
    states = {id: store.approvals.get(id, now=now).state for id in bound + free}
    assert {states[id] for id in bound} == {ApprovalState.SUPERSEDED}
    assert {states[id] for id in free} == {ApprovalState.PENDING}
    with pytest.raises(StoreConflict):
        store.approvals.use(granted, now=now)


def test_a_dial_is_no_mode(store: Store, space: str, now: datetime) -> None:
    """A dial keeps the revision, and so the approvals of the mode; the same one is no news."""
    assert store.spaces.set_dial(space, Dial.AUTO, by="operator", now=now).dial is Dial.AUTO
    head = store.log.head()
    assert store.spaces.set_dial(space, Dial.AUTO, by="operator", now=now).revision == 1
    assert store.log.head() == head


def test_history_tells_who_and_why(store: Store, space: str, now: datetime) -> None:
    """Every mode and dial that a space was given, oldest first."""
    later = now + timedelta(hours=1)
    store.spaces.set_mode(space, "chat", by="operator:ann", why="plan is done", now=later)
    store.spaces.set_dial(space, Dial.AUTO, by="system", now=later)
    told = [(c.what, c.value, c.by, c.why, c.revision) for c in store.spaces.history(space)]
    assert told == [
        ("space.made", "plan", "operator", "", 1),
        ("mode.set", "chat", "operator:ann", "plan is done", 2),
        ("dial.set", "auto", "system", "", None),
    ]
    assert store.spaces.history(space)[1].at == "2026-11-30T13:00:00.000000Z"
    assert store.spaces.history(space)[1].answer is Answer.COMMITTED
