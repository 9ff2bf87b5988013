"""Grants in the store: an operator's alone, added once, revoked for good."""

from collections.abc import Callable
from datetime import datetime

import pytest

from remit.harness.store import Store
from remit.policy.grants import Grant
from remit.policy.problems import InputError

COMMIT = Grant("mcp-git:git_commit", '{"message":"x"}')


def test_is_of_the_mode_that_the_space_is_in(store: Store, space: str, now: datetime) -> None:
    """What is granted, where, in which mode, by whom and when; and it is found by that."""
    given = store.grants.add(space, COMMIT, by="operator:ann", now=now)

    assert (given.grant, given.space, given.mode, given.added_by) == (
        COMMIT, space, "plan", "operator:ann",
    )  # fmt: skip
    assert given.active
    assert store.grants.get(given.id) == given
    assert store.grants.list() == store.grants.list(space) == (given,)
    assert store.grants.standing(space, COMMIT.tool, "plan") == (given,)
    assert store.grants.standing(space, COMMIT.tool, "chat") == ()
    assert store.grants.standing(space, "mcp-git:git_push", "plan") == ()


def test_is_added_once(store: Store, space: str, now: datetime) -> None:
    """The same grant again is the same; in another mode it is another one."""
    first = store.grants.add(space, COMMIT, by="operator", now=now)
    before = store.log.head()
    assert store.grants.add(space, COMMIT, by="operator:ann", now=now) == first
    assert store.log.head() == before

    store.spaces.set_mode(space, "chat", by="operator", why="", now=now)
    assert store.grants.add(space, COMMIT, by="operator", now=now).id != first.id


def test_is_revoked_once(store: Store, space: str, now: datetime) -> None:
    """A revoked grant stays in the list and stands for nothing; adding it again is a new one."""
    first = store.grants.add(space, COMMIT, by="operator", now=now)
    gone = store.grants.revoke(first.id, by="operator:bob", now=now, why="enough")
    before = store.log.head()
    assert store.grants.revoke(first.id, by="operator", now=now) == gone
    assert store.log.head() == before

    assert (gone.active, gone.revoked_by) == (False, "operator:bob")
    assert store.grants.standing(space, COMMIT.tool, "plan") == ()
    again = store.grants.add(space, COMMIT, by="operator", now=now)
    assert [g.id for g in store.grants.list()] == [again.id, first.id]


@pytest.mark.parametrize("by", ["agent:c1", "system", "pipeline"])
def test_is_an_operators_alone(store: Store, space: str, now: datetime, by: str) -> None:
    """Nobody else adds a grant or revokes one."""
    given = store.grants.add(space, COMMIT, by="operator", now=now)
    acts: tuple[Callable[[], object], ...] = (
        lambda: store.grants.add(space, Grant("a:b", "{}"), by=by, now=now),
        lambda: store.grants.revoke(given.id, by=by, now=now),
    )
    for act in acts:
        with pytest.raises(InputError) as caught:
            act()
        assert caught.value.problems[0].code == "not-operator"
    assert store.grants.list() == (given,)


@pytest.mark.parametrize(
    ("grant", "code"),
    [
        (Grant("git_commit", "{}"), "bad-grant"),
        (Grant("a b:c", "{}"), "bad-grant"),
        (Grant("a:", "{}"), "bad-grant"),
        (Grant("remit:submit_plan", "{}"), "bad-grant"),
        (Grant("a:b"), "bad-grant"),
        (Grant("a:b", "{}", "git.push", "**"), "bad-grant"),
        (Grant("a:b", effect="git.push"), "bad-grant"),
        (Grant("a:b", target="**"), "bad-grant"),
        (Grant("a:b", effect="process.spawn", target="**"), "bad-grant"),
        (Grant("a:b", effect="git.psuh", target="**"), "unknown-effect"),
        (Grant("a:b", effect="git.*", target="**"), "unknown-effect"),
        (Grant("a:b", effect="git.push", target=""), "bad-pattern"),
        (Grant("a:b", effect="git.push", target="!origin main"), "bad-pattern"),
        (Grant("a:b", effect="git.push", target="../x"), "bad-pattern"),
    ],
)
def test_that_could_not_hold_is_refused(
    store: Store, space: str, now: datetime, grant: Grant, code: str
) -> None:
    """A grant that no call could ever meet is told of, and not added."""
    with pytest.raises(InputError) as caught:
        store.grants.add(space, grant, by="operator", now=now)
    assert caught.value.problems[0].code == code
    assert store.grants.list() == ()


def test_unknown_ones(store: Store, space: str, now: datetime) -> None:
    """An unknown grant or space is an error with near misses."""
    given = store.grants.add(space, COMMIT, by="operator", now=now)
    acts: dict[str, Callable[[], object]] = {
        "unknown-grant": lambda: store.grants.revoke(f"{given.id}0", by="operator", now=now),
        "unknown-space": lambda: store.grants.list("demoo"),
    }
    for code, act in acts.items():
        with pytest.raises(InputError) as caught:
            act()
        assert caught.value.problems[0].code == code
        assert "did you mean" in caught.value.problems[0].hint


def test_a_class_of_a_plugin(store: Store, space: str, now: datetime) -> None:
    """The effect classes that there are, are the engine's."""
    grant = Grant("a:b", effect="acme.deploy", target="prod/**")
    with pytest.raises(InputError):
        store.grants.add(space, grant, by="operator", now=now)
    assert store.grants.add(space, grant, by="operator", now=now, known={"acme.deploy"}).active
