"""Two processes at once: one wins, the other is told, and the log stays one chain."""

import os
from collections import Counter
from collections.abc import Callable
from datetime import datetime

import pytest

from remit.harness.store import ApprovalKind, ExitState, Store, StoreConflict
from tests.harness.store.where import Where, made, opened

Act = Callable[[Store, int], str]


@pytest.fixture
def race(where: Where, fork: Callable[[], int]) -> Callable[[Act, int], Counter[str]]:
    """Run an act in several processes that begin at the same moment; count what each was told."""

    def run(act: Act, processes: int = 2) -> Counter[str]:
        read, write = os.pipe()
        answers, answer = os.pipe()
        children = []
        for number in range(processes):
            child = fork()
            if child == 0:
                try:
                    os.close(write)
                    with opened(where) as store:
                        os.read(read, 1)  # ends when the parent lets all of them go
                        os.write(answer, f"{act(store, number)}\n".encode())
                except BaseException as error:  # else it would only be missing from the count
                    os.write(answer, f"{error!r}\n".replace(" ", "_").encode())
                finally:
                    os._exit(0)
            children.append(child)
        os.close(read)
        os.close(write)
        os.close(answer)
        with open(answers) as lines:
            told = Counter(lines.read().split())
        for child in children:
            os.waitpid(child, 0)
        return told

    return run


Race = Callable[[Act, int], Counter[str]]


def whole(where: Where) -> None:
    with opened(where) as store:
        assert store.log.verify().ok
        assert store.log.verify().ahead == 0
        assert store.log.rebuild().equal


def test_of_two_switches_one_wins(where: Where, now: datetime, race: Race) -> None:
    """Compare-and-set holds between processes, and the loser is shown the winner's mode."""
    modes = ("chat", "review")
    with made(where) as store:
        for n in range(8):
            store.spaces.create(f"s{n}", "plan", by="operator", now=now)

    for n in range(8):

        def act(store: Store, number: int, space: str = f"s{n}") -> str:
            try:
                store.spaces.set_mode(
                    space, modes[number], by="operator", why="", now=now, expect=1
                )
            except StoreConflict as error:
                there = error.now
                assert there.mode == modes[1 - number]
                return "told"
            return "won"

        assert race(act, 2) == {"won": 1, "told": 1}
    whole(where)


def test_of_two_decisions_one_wins(where: Where, now: datetime, race: Race) -> None:
    """Opposite decisions: one holds. A grant: one use of it."""
    with made(where) as store:
        store.spaces.create("demo", "plan", by="operator", now=now)

    for n in range(6):
        with opened(where) as store:
            id = store.approvals.open(
                ApprovalKind.CALL,
                space="demo",
                conversation="c1",
                requested_by="agent:c1",
                digest=f"d{n}",
                shown="",
                now=now,
            ).id

        def decide(store: Store, number: int, id: str = id) -> str:
            try:
                store.approvals.decide(id, number == 0, by=f"operator:{number}", now=now)
            except StoreConflict as error:
                there = error.now
                assert there.decided_by == f"operator:{1 - number}"
                return "told"
            return "won"

        assert race(decide, 2) == {"won": 1, "told": 1}
    whole(where)


def test_of_two_equal_decisions_both_hold(where: Where, now: datetime, race: Race) -> None:
    """The same decision twice at once is one: neither is told of a conflict, one stands as made."""
    with made(where) as store:
        store.spaces.create("demo", "plan", by="operator", now=now)
        asked = store.approvals.open(
            ApprovalKind.CALL,
            space="demo",
            conversation="c1",
            requested_by="agent:c1",
            digest="d",
            shown="",
            now=now,
        )

    def decide(store: Store, number: int) -> str:
        held = store.approvals.decide(asked.id, True, by=f"operator:{number}", now=now)
        return str(held.state)

    assert race(decide, 3) == {"approved": 3}
    with opened(where) as store:
        told = [e for e in store.log.read() if e.kind == "approval.decided"]
        assert len(told) == 1
    whole(where)


def test_one_grant_is_used_by_one(where: Where, now: datetime, race: Race) -> None:
    """Four processes that all see an approved call: one forwards it."""
    with made(where) as store:
        store.spaces.create("demo", "plan", by="operator", now=now)
        id = store.approvals.open(
            ApprovalKind.CALL,
            space="demo",
            conversation="c1",
            requested_by="agent:c1",
            digest="d",
            shown="",
            now=now,
        ).id
        store.approvals.decide(id, True, by="operator", now=now)

    def use(store: Store, number: int) -> str:
        try:
            store.approvals.use(id, now=now)
        except StoreConflict:
            return "told"
        return "won"

    assert race(use, 4) == {"won": 1, "told": 3}
    whole(where)


def test_requests_at_once_open_one_approval(where: Where, now: datetime, race: Race) -> None:
    """The same call and the same exit, asked for by several processes, wait as one."""
    with made(where) as store:
        store.spaces.create("demo", "plan", by="operator", now=now)

    def ask(store: Store, number: int) -> str:
        left = store.exits.request("demo", "c1", "chat", by="agent:c1", now=now)
        assert left.state is ExitState.PENDING
        assert left.approval is not None
        return left.approval.id

    assert sorted(race(ask, 4).values()) == [4]
    whole(where)


def test_a_workspace_is_made_once(where: Where, now: datetime, race: Race) -> None:
    """Processes that make the same database at the same moment make one."""
    for _ in range(5):
        there = where.another()

        def make(store: Store, number: int, there: Where = there) -> str:
            with made(there) as new:
                new.log.record("decision", {}, actor="system", now=now)
            return "made"

        made(where).close()
        assert race(make, 3) == {"made": 3}
        with opened(there) as store:
            kinds = Counter(e.kind for e in store.log.read())
        assert kinds == {"workspace.made": 1, "decision": 3}
        whole(there)
        there.remove()


def test_another_process_is_seen_by_the_next_look(
    where: Where, now: datetime, forked: Callable[[Callable[[], None]], int]
) -> None:
    """`data_version` grows with what others write, so a poll is one cheap read."""
    made(where).close()

    def switch() -> None:
        with opened(where) as other:
            other.spaces.create("demo", "plan", by="operator", now=now)

    # The fork comes before the store: a connection must not be carried into a child.
    assert forked(switch) == 0
    with opened(where) as store:
        before = store.data_version()
        with opened(where) as other:
            other.spaces.set_mode("demo", "chat", by="operator", why="", now=now)
        assert store.data_version() > before
        assert store.spaces.get("demo").mode == "chat"
