"""What narrows a space besides its mode: settings, an overlay, a lock."""

from collections.abc import Callable
from datetime import datetime

import pytest

from remit.harness.store import ApprovalKind, ApprovalState, Overlay, Store, StoreConflict
from remit.policy.gate import Setting
from remit.policy.problems import InputError
from remit.policy.vocabulary import Verdict

PUSH = Setting("git.push", Verdict.DENY)
DOCS = Setting("worktree.write", Verdict.ALLOW, "docs/**")
OVERLAY = Overlay("/tmp/ö\u202e.toml", '[ceiling]\r\nrefuse = ["git.push"] # \u2028\n')


def test_a_space_has_none(store: Store, space: str) -> None:
    """A fresh space has no settings, no overlay and no lock."""
    made = store.spaces.get(space)
    assert (made.effects, made.overlay, made.locked) == ((), None, False)


def test_settings_are_one_an_effect_and_pattern(store: Store, space: str, now: datetime) -> None:
    """A setting takes the place of the same effect's with the same pattern, and of no other."""
    where = {"by": "operator", "now": now}
    for setting in (PUSH, DOCS, Setting("worktree.write", Verdict.ASK)):
        store.spaces.set_effect(space, setting, **where)  # type: ignore[arg-type]
    changed = Setting(DOCS.effect, Verdict.DENY, DOCS.target)
    after = store.spaces.set_effect(space, changed, by="operator", now=now)

    assert after.effects == (PUSH, Setting("worktree.write", Verdict.ASK), changed)
    assert store.spaces.get(space) == after
    cleared = store.spaces.clear_effect(space, "worktree.write", by="operator", now=now)
    assert cleared.effects == (PUSH, changed)


def test_their_order_is_nothing(store: Store, now: datetime) -> None:
    """The same settings in another order make an equal space, so an equal projection."""
    made = []
    for id, order in (("a", (PUSH, DOCS)), ("b", (DOCS, PUSH))):
        store.spaces.create(id, "chat", by="operator", now=now)
        for setting in order:
            store.spaces.set_effect(id, setting, by="operator", now=now)
        made.append(store.spaces.get(id).effects)
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        (Setting("git.psuh", Verdict.DENY), "unknown-effect"),
        (Setting("git.*", Verdict.DENY), "unknown-effect"),
        (Setting("git.push", Verdict.DENY, "!origin main"), "bad-pattern"),
        (Setting("git.push", Verdict.DENY, " "), "bad-pattern"),
        (Setting("git.push", Verdict.DENY, "docs/"), "bad-pattern"),
    ],
)
def test_a_setting_that_would_hit_nothing_is_refused(
    store: Store, space: str, now: datetime, setting: Setting, code: str
) -> None:
    """Promise 7: a misspelled class or pattern is an error, never a denial that denies nothing."""
    with pytest.raises(InputError) as caught:
        store.spaces.set_effect(space, setting, by="operator", now=now)
    assert caught.value.problems[0].code == code
    assert store.spaces.get(space).effects == ()


def test_what_is_not_set_cannot_be_cleared(store: Store, space: str, now: datetime) -> None:
    """Clearing the wrong one is told, with those that are there."""
    store.spaces.set_effect(space, DOCS, by="operator", now=now)
    with pytest.raises(InputError) as caught:
        store.spaces.clear_effect(space, "worktree.write", by="operator", now=now)
    (problem,) = caught.value.problems
    assert problem.code == "unknown-setting"
    assert problem.hint == "set are `worktree.write` on `docs/**`"


def test_an_overlay_is_kept_as_it_is(store: Store, space: str, now: datetime) -> None:
    """Every character of the text comes back, whatever becomes of the file."""
    assert store.spaces.set_overlay(space, OVERLAY, by="operator", now=now).overlay == OVERLAY
    (event,) = store.log.read(kinds=("overlay.set",))
    assert event.body == {"overlay": {"file": OVERLAY.file, "text": OVERLAY.text}}
    assert store.spaces.set_overlay(space, None, by="operator", now=now).overlay is None


def test_none_of_it_counts_as_another_mode(store: Store, space: str, now: datetime) -> None:
    """The revision counts modes, and open approvals stay open: they are judged again when used."""
    asked = store.approvals.open(
        ApprovalKind.CALL,
        space=space,
        conversation="c1",
        requested_by="agent:c1",
        digest="d",
        shown="x",
        now=now,
    )
    store.spaces.set_effect(space, PUSH, by="operator", now=now)
    store.spaces.set_overlay(space, OVERLAY, by="operator", now=now)
    store.spaces.set_lock(space, True, by="operator", now=now)

    assert store.spaces.get(space).revision == 1
    assert store.approvals.get(asked.id, now=now).state is ApprovalState.PENDING


def test_the_same_again_is_no_news(store: Store, space: str, now: datetime) -> None:
    """Setting what is set writes no record."""
    acts: tuple[Callable[[], object], ...] = (
        lambda: store.spaces.set_effect(space, PUSH, by="operator", now=now),
        lambda: store.spaces.set_overlay(space, OVERLAY, by="operator", now=now),
        lambda: store.spaces.set_lock(space, True, by="operator", now=now),
    )
    for act in acts:
        act()
    before = store.log.head()
    for act in acts:
        act()
    assert store.log.head() == before


@pytest.mark.parametrize("by", ["agent:c1", "system", "pipeline"])
def test_it_is_an_operators_alone(store: Store, space: str, now: datetime, by: str) -> None:
    """Nobody else narrows a space or lets it out again."""
    acts: tuple[Callable[[], object], ...] = (
        lambda: store.spaces.set_effect(space, PUSH, by=by, now=now),
        lambda: store.spaces.clear_effect(space, "git.push", by=by, now=now),
        lambda: store.spaces.set_overlay(space, None, by=by, now=now),
        lambda: store.spaces.set_lock(space, False, by=by, now=now),
    )
    before = store.log.head()
    for act in acts:
        with pytest.raises(InputError) as caught:
            act()
        assert caught.value.problems[0].code == "not-operator"
    assert store.log.head() == before


@pytest.mark.parametrize("by", ["system", "pipeline"])
def test_a_locked_space_keeps_its_mode(store: Store, space: str, now: datetime, by: str) -> None:
    """A pin and the system wait for the unlocking; an operator does not."""
    store.spaces.set_lock(space, True, by="operator", now=now)
    with pytest.raises(StoreConflict) as caught:
        store.spaces.set_mode(space, "chat", by=by, why="", now=now)
    assert caught.value.problems[0].code == "space-locked"
    assert store.spaces.get(space).mode == "plan"
    assert store.spaces.set_mode(space, "chat", by="operator", why="", now=now).space.locked


def test_a_locked_space_is_not_left(store: Store, space: str, now: datetime) -> None:
    """No exit is asked for, and none that was granted is used."""
    asked = store.exits.request(space, "c1", "chat", by="agent:c1", now=now).approval
    assert asked is not None
    store.approvals.decide(asked.id, True, by="operator", now=now)
    store.spaces.set_lock(space, True, by="operator", now=now)
    for conversation in ("c1", "c2"):
        with pytest.raises(StoreConflict):
            store.exits.request(space, conversation, "chat", by="agent:c1", now=now)
    assert [a.state for a in store.approvals.list(now=now)] == [ApprovalState.APPROVED]
    assert store.spaces.get(space).mode == "plan"


def test_history_tells_all_of_it(store: Store, space: str, now: datetime) -> None:
    """Each thing that the operator gave the space is a line, in order, with who and why."""
    store.spaces.set_effect(space, DOCS, by="operator:ann", now=now)
    store.spaces.clear_effect(space, DOCS.effect, DOCS.target, by="operator", now=now)
    store.spaces.set_overlay(space, OVERLAY, by="operator", now=now)
    store.spaces.set_overlay(space, None, by="operator", now=now)
    store.spaces.set_lock(space, True, by="operator", now=now, why="look into it")
    store.spaces.set_lock(space, False, by="operator", now=now)

    assert [(c.what, c.value, c.by, c.why) for c in store.spaces.history(space)[1:]] == [
        ("effects.set", "worktree.write on docs/**: allow", "operator:ann", ""),
        ("effects.set", "worktree.write on docs/**: as the dial says", "operator", ""),
        ("overlay.set", OVERLAY.file, "operator", ""),
        ("overlay.set", "none", "operator", ""),
        ("lock.set", "locked", "operator", "look into it"),
        ("lock.set", "unlocked", "operator", ""),
    ]
