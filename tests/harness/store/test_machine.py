"""Any sequence of acts: the tables are the fold of the log, and the rules hold throughout."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from remit.harness.store import (
    Answer,
    ApprovalKind,
    ApprovalState,
    ExitState,
    Overlay,
    Store,
    StoreConflict,
)
from remit.policy.gate import Setting
from remit.policy.grants import Grant
from remit.policy.plan import Plan, PlanNode
from remit.policy.problems import InputError
from remit.policy.vocabulary import Dial, Verdict
from tests.server import Server

SPACES = ("one", "two")
MODES = ("chat", "plan", "review")
spaces = st.sampled_from(SPACES)
conversations = st.sampled_from(("c1", "c2"))
#: What an approval can go through; nothing leaves a final state.
AFTER = {
    # That of a plan is used by the act of approving it.
    "pending": {"pending", "approved", "used", "rejected", "expired", "superseded"},
    "approved": {"approved", "used", "expired", "superseded"},
}


class Life(RuleBasedStateMachine):
    """Spaces and all that they hold in one store, under random acts of random actors."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now = datetime(2026, 11, 30, tzinfo=UTC)
        self.location = self.place()
        self.store = Store.open(self.location, create=self.now)
        for space in SPACES:
            self.store.spaces.create(space, "plan", by="operator", now=self.now)
        self.states: dict[str, str] = {}
        self.granted: dict[str, int] = {}

    def place(self) -> str:
        """A place where nothing is yet."""
        return str(Path(self.folder.name) / "remit.db")

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @rule(minutes=st.sampled_from((1, 20, 40)))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(space=spaces, mode=st.sampled_from(MODES), late=st.booleans())
    def switch(self, space: str, mode: str, late: bool) -> None:
        there = self.store.spaces.get(space)
        try:
            done = self.store.spaces.set_mode(
                space,
                mode,
                by="operator",
                why="",
                now=self.now,
                expect=there.revision - 1 if late else there.revision,
            )
        except StoreConflict as error:
            now = error.now
            assert late
            assert now == there == self.store.spaces.get(space)
        else:
            assert done.space.mode == mode
            assert (done.answer is Answer.NOOP) == (mode == there.mode)
            assert done.space.revision == there.revision + (mode != there.mode)

    @rule(space=spaces, dial=st.sampled_from(Dial))
    def turn(self, space: str, dial: Dial) -> None:
        assert self.store.spaces.set_dial(space, dial, by="operator", now=self.now).dial is dial

    @rule(
        space=spaces,
        effect=st.sampled_from(("git.push", "worktree.write")),
        on=st.sampled_from((None, "docs/**")),
        verdict=st.sampled_from((None, *Verdict)),
    )
    def set_effect(self, space: str, effect: str, on: str | None, verdict: Verdict | None) -> None:
        before = set(self.store.spaces.get(space).effects)
        other = {s for s in before if (s.effect, s.target) != (effect, on)}
        mine = set() if verdict is None else {Setting(effect, verdict, on)}
        try:
            if verdict is None:
                after = self.store.spaces.clear_effect(
                    space, effect, on, by="operator", now=self.now
                )
            else:
                (setting,) = mine
                after = self.store.spaces.set_effect(space, setting, by="operator", now=self.now)
        except InputError:
            assert verdict is None
            assert before == other
        else:
            assert set(after.effects) == other | mine
            assert len(after.effects) == len(other | mine)

    @rule(space=spaces, text=st.sampled_from((None, "[ceiling]\n", "no overlay")))
    def overlay(self, space: str, text: str | None) -> None:
        overlay = None if text is None else Overlay("o.toml", text)
        after = self.store.spaces.set_overlay(space, overlay, by="operator", now=self.now)
        assert after.overlay == overlay

    @rule(space=spaces, locked=st.booleans())
    def lock(self, space: str, locked: bool) -> None:
        after = self.store.spaces.set_lock(space, locked, by="operator", now=self.now)
        assert after.locked is locked

    @rule(space=spaces, args=st.sampled_from(("{}", '{"a":1}')))
    def grant(self, space: str, args: str) -> None:
        what = Grant("t:x", args)
        added = self.store.grants.add(space, what, by="operator", now=self.now)
        mode = self.store.spaces.get(space).mode
        assert added in self.store.grants.standing(space, "t:x", mode)

    @rule(at=st.integers(0, 10))
    def revoke(self, at: int) -> None:
        if (all_ := self.store.grants.list()) and at < len(all_):
            gone = self.store.grants.revoke(all_[at].id, by="operator", now=self.now)
            assert gone not in self.store.grants.standing(gone.space, "t:x", gone.mode)

    @rule(
        space=spaces,
        conversation=conversations,
        kind=st.sampled_from((ApprovalKind.CALL, ApprovalKind.QUESTION)),
        digest=st.sampled_from(("d1", "d2")),
    )
    def ask(self, space: str, conversation: str, kind: ApprovalKind, digest: str) -> None:
        opened = self.store.approvals.open(
            kind,
            space=space,
            conversation=conversation,
            requested_by=f"agent:{conversation}",
            digest=digest,
            shown="x",
            now=self.now,
        )
        assert opened.state.open

    @rule(at=st.integers(0, 30), approve=st.booleans())
    def decide(self, at: int, approve: bool) -> None:
        if (all_ := self.store.approvals.list(now=self.now)) and at < len(all_):
            before = all_[at]
            try:
                after = self.store.approvals.decide(before.id, approve, by="operator", now=self.now)
            except StoreConflict:
                assert before.state is not ApprovalState.PENDING
            else:
                assert (after.state in ("approved", "used")) == approve

    @rule(at=st.integers(0, 30))
    def use(self, at: int) -> None:
        if (all_ := self.store.approvals.list(now=self.now)) and at < len(all_):
            before = all_[at]
            try:
                self.store.approvals.use(before.id, now=self.now)
            except StoreConflict:
                assert before.state is not ApprovalState.APPROVED
            else:
                assert before.state is ApprovalState.APPROVED

    @rule(space=spaces, conversation=conversations, to=st.sampled_from(("chat", "review")))
    def leave(self, space: str, conversation: str, to: str) -> None:
        there = self.store.spaces.get(space)
        before = self.store.approvals.find(
            space, conversation, ApprovalKind.PLAN_EXIT, now=self.now
        )
        try:
            answer = self.store.exits.request(
                space, conversation, to, by=f"agent:{conversation}", now=self.now
            )
        except StoreConflict:
            assert there.locked
            assert self.store.spaces.get(space) == there
            return
        assert not there.locked or answer.state is ExitState.THERE
        assert (answer.space.mode == to) == (answer.state is not ExitState.PENDING)
        if answer.state is ExitState.LEFT:
            assert before is not None
            assert before.state is ApprovalState.APPROVED
            assert before.revision == there.revision

    @rule(space=spaces, conversation=conversations, goal=st.sampled_from(("x", "y")))
    def submit(self, space: str, conversation: str, goal: str) -> None:
        plan = Plan(goal, (PlanNode("a", "first"),))
        before = self.store.plans.newest(space, conversation)
        after = self.store.plans.submit(
            space, conversation, plan, by=f"agent:{conversation}", now=self.now
        ).plan
        grew = before is None or before.plan != plan or not before.state.stands
        assert after.revision == (before.revision if before else 0) + grew

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.location)

    @rule()
    def sweep(self) -> None:
        self.store.approvals.expire(now=self.now)

    @invariant()
    def the_tables_are_the_fold_of_the_log(self) -> None:
        assert self.store.log.verify().problem is None
        assert self.store.log.rebuild().problems == ()

    @invariant()
    def an_approval_only_goes_forward(self) -> None:
        for approval in self.store.approvals.list(now=self.now):
            before = self.states.get(approval.id, "pending")
            assert approval.state in AFTER.get(before, {before})
            self.states[approval.id] = approval.state

    @invariant()
    def one_is_open_and_one_plan_holds(self) -> None:
        waiting = [a for a in self.store.approvals.list(now=self.now) if a.state.open]
        keys = [(a.space, a.conversation, a.kind, a.digest) for a in waiting]
        assert len(keys) == len(set(keys))
        exits = [(a.space, a.conversation) for a in waiting if a.kind is ApprovalKind.PLAN_EXIT]
        assert len(exits) == len(set(exits))
        held = [
            (p.space, p.conversation) for p in self.store.plans.list() if p.state == "submitted"
        ]
        assert len(held) == len(set(held))

    @invariant()
    def a_grant_stands_once(self) -> None:
        standing = [(g.space, g.mode, g.grant) for g in self.store.grants.list() if g.active]
        assert len(standing) == len(set(standing))

    @invariant()
    def bound_approvals_are_of_the_mode_that_is_there(self) -> None:
        for approval in self.store.approvals.list(now=self.now):
            # A question waits whatever the mode; so does a plan, which then leads out of none.
            if approval.state.open and approval.kind in (ApprovalKind.CALL, ApprovalKind.PLAN_EXIT):
                assert approval.revision == self.store.spaces.get(approval.space).revision


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_life_on_a_server(server: Server) -> None:
    """The same holds on PostgreSQL."""

    class Remote(Life):
        def place(self) -> str:
            return server.make()

        def teardown(self) -> None:
            super().teardown()
            server.drop(self.location)

    run_state_machine_as_test(
        Remote, settings=settings(TestLife.settings, max_examples=2, stateful_step_count=15)
    )
