"""Orchestrations in the store: proposed, decided on by an operator, carried out once."""

import os
import signal
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, field, frozen

from remit.harness.carrying import carry_out, carry_out_all, start_plan
from remit.harness.store import (
    OrchestrationRecord,
    OrchestrationState,
    Overlay,
    Store,
    StoreConflict,
)
from remit.policy.gate import Setting
from remit.policy.materialise import Act, actions
from remit.policy.orchestration import (
    Hire,
    Orchestration,
    OrchestrationBudget,
    OrchestrationRole,
    RoleTask,
    Ticket,
)
from remit.policy.pipeline import Pipeline
from remit.policy.plan import NodeType, Plan, PlanNode, TextPlan
from remit.policy.problems import InputError
from remit.policy.schedule import PipelineLimit
from remit.policy.vocabulary import Dial, Verdict
from tests.harness.store.where import NOW

PROPOSAL = Orchestration(
    "Ship it",
    (
        OrchestrationRole("lead", "Lead", agent="ada"),
        OrchestrationRole("dev", "Developer", hire=Hire("bo", ("python",))),
    ),
    (Ticket("a", "First", "do", "dev", parent="b"), Ticket("b", "Second", "do", "lead")),
    RoleTask("lead", "Report."),
    OrchestrationBudget(9, 90),
)
OTHER = evolve(PROPOSAL, synthesis=RoleTask("dev", "Say it."))
LATER = timedelta(minutes=2)


def propose(
    store: Store, proposal: Orchestration = PROPOSAL, now: datetime = NOW, **more: Any
) -> OrchestrationRecord:
    given = {"by": "agent:c1", "now": now, **more}
    return store.orchestrations.propose("demo", "c1", proposal, **given)


def decide(store: Store, record: OrchestrationRecord, yes: bool = True) -> OrchestrationRecord:
    store.approvals.decide(record.approval, yes, by="operator", now=NOW)
    return store.orchestrations.get(record.id)


def refusal(store: Store, proposal: Orchestration, now: datetime = NOW, **more: Any) -> str:
    head = store.log.head()
    with pytest.raises(StoreConflict) as caught:
        propose(store, proposal, now, **more)
    assert store.log.head() == head
    (problem,) = caught.value.problems
    return f"{problem.code}: {problem.message} {problem.hint}"


@pytest.mark.usefixtures("space")
class TestProposing:
    def test_it_waits_for_the_operator(self, store: Store) -> None:
        """S003-16: a proposal is stored whole, shown whole, and nothing of it is done."""
        made = propose(store)
        asked = store.approvals.get(made.approval, now=NOW)

        assert (made.state, made.revision, made.proposal) == ("proposed", 1, PROPOSAL)
        assert (asked.state, asked.kind, asked.shown) == ("pending", "orchestration", made.shown)
        with pytest.raises(StoreConflict, match="is proposed, so nothing of it is done"):
            carry_out(store, made.id, lambda: NOW)
        assert store.items.list() == ()

    @pytest.mark.parametrize("by", ["agent:c1", "agent:c2", "system", "pipeline"])
    def test_no_agent_approves(self, store: Store, by: str) -> None:
        """S003-16: fault 8: approval is an operator's alone, whoever else tries."""
        made = propose(store)
        with pytest.raises(InputError, match="not-operator"):
            store.approvals.decide(made.approval, True, by=by, now=NOW)
        assert store.orchestrations.get(made.id).state is OrchestrationState.PROPOSED

    def test_the_same_again_adds_nothing(self, store: Store) -> None:
        """A call that is repeated, as after a lost answer, finds what it made, in any state."""
        made, head = propose(store), store.log.head()
        assert (propose(store), store.log.head()) == (made, head)
        approved = decide(store, made)
        assert propose(store) == approved
        assert carry_out(store, made.id, lambda: NOW) == propose(store)

    @pytest.mark.parametrize("goal", ["Ship it", " ship  IT", "Ship-it!"])
    @pytest.mark.parametrize("named", [True, False])
    def test_the_cooldown(self, store: Store, goal: str, named: bool) -> None:
        """S003-17: fault 10: within two minutes a second proposal is refused, with an id or none.

        Neither another spelling nor another conversation of the space is a way around it.
        """
        made = propose(store)
        revised, revises = evolve(OTHER, goal=goal), made.id if named else None
        soon = NOW + LATER - timedelta(seconds=1)

        said = refusal(store, revised, soon, revises=revises)
        assert said.startswith("proposal-cooldown")
        assert "again at 12:02:00 UTC" in said
        with pytest.raises(StoreConflict, match="proposal-cooldown"):
            store.orchestrations.propose("demo", "c2", revised, by="agent:c2", now=soon)

        later = propose(store, revised, NOW + LATER, revises=revises)
        assert (later.state, later.revision) == ("proposed", 2)

    def test_who_need_not_wait(self, store: Store) -> None:
        """Another goal, an operator, and an answer to a rejection are not cooled down."""
        made = propose(store)
        propose(store, evolve(PROPOSAL, goal="Another"))
        propose(store, OTHER, by="operator")
        assert store.orchestrations.get(made.id).state is OrchestrationState.SUPERSEDED

    def test_after_a_rejection(self, store: Store) -> None:
        """An operator who rejects is answered at once by another proposal, not by the same."""
        made = decide(store, propose(store), False)
        assert propose(store) == made
        assert propose(store, OTHER).state is OrchestrationState.PROPOSED

    def test_a_newer_one_supersedes(self, store: Store) -> None:
        """What waited is superseded with its approval, so nobody approves what nobody means."""
        made = propose(store)
        later = propose(store, OTHER, NOW + LATER)
        old = store.orchestrations.get(made.id)

        assert (old.state, old.why) == ("superseded", later.id)
        with pytest.raises(StoreConflict, match="superseded"):
            store.approvals.decide(made.approval, True, by="operator", now=NOW + LATER)
        assert later.id in refusal(store, evolve(OTHER, goal="x"), NOW + 2 * LATER,
                                   revises=made.id)  # fmt: skip

    @pytest.mark.parametrize("goal", ["Ship it", "Another"])
    def test_a_revision_by_id(self, store: Store, goal: str) -> None:
        """Whoever names an id revises that one, for the same goal or another."""
        made = propose(store)
        later = propose(store, evolve(OTHER, goal=goal), NOW + LATER, revises=made.id)
        assert (later.revision, store.orchestrations.get(made.id).why) == (2, later.id)

    @pytest.mark.parametrize("done", [False, True])
    def test_what_is_approved_is_not_revised(self, store: Store, done: bool) -> None:
        """An approved proposal is carried out as it was shown, and another cannot replace it."""
        made = decide(store, propose(store))
        if done:
            carry_out(store, made.id, lambda: NOW)
        later = NOW + LATER
        assert refusal(store, OTHER, later, revises=made.id).startswith("orchestration-decided")
        if done:
            assert propose(store, OTHER, later).revision == 1
        else:
            assert refusal(store, OTHER, later).startswith("orchestration-decided")

    def test_ids_of_elsewhere(self, store: Store) -> None:
        """An id that the space does not have is named with near misses."""
        made = propose(store)
        with pytest.raises(InputError, match=made.id):
            propose(store, OTHER, NOW + LATER, revises=made.id[:-1])
        store.spaces.create("two", "plan", by="operator", now=NOW)
        with pytest.raises(InputError, match="unknown-orchestration"):
            store.orchestrations.propose(
                "two", "c9", OTHER, by="agent:c9", now=NOW, revises=made.id
            )

    def test_a_mode_that_was_left(self, store: Store) -> None:
        """A proposal of a mode that an operator left meanwhile is not stored."""
        store.spaces.set_mode("demo", "chat", by="operator", why="", now=NOW)
        assert refusal(store, PROPOSAL, expect=1).startswith("space-changed")


@frozen
class Flaky:
    """A platform of somebody else's, which fails after ``fails`` actions."""

    fails: int
    made: dict[str, str] = field(factory=dict)
    calls: list[str] = field(factory=list)

    def _make(self, key: str) -> str:
        if len(self.calls) == self.fails:
            raise ConnectionError(key)
        self.calls.append(key)
        return self.made.setdefault(key, f"x{len(self.made)}")

    def hire(self, key: str, body: Mapping[str, Any]) -> str:
        return self._make(key)

    def create_project(self, key: str, body: Mapping[str, Any]) -> str:
        return self._make(key)

    def create_ticket(self, key: str, body: Mapping[str, Any]) -> str:
        return self._make(key)

    def start_pipeline(self, key: str, body: Mapping[str, Any], pipeline: Pipeline) -> str:
        assert {n.role for n in pipeline.nodes} == {"ada", "x0"}
        return self._make(key)


@pytest.mark.usefixtures("space")
class TestCarryingOut:
    def test_all_of_it(self, store: Store, tmp_path: Path) -> None:
        """S003-16: an approval hires, makes a project and tickets, and files one pipeline."""
        made = decide(store, propose(store))
        done = carry_out(store, made.id, lambda: NOW)
        items = store.items.list()
        project, (pipeline,) = items[1], store.pipelines.list()

        assert done.state is OrchestrationState.STARTED
        assert [(i.act, i.body.get("title")) for i in items] == [
            (Act.HIRE, "Developer"), (Act.CREATE_PROJECT, "Ship it"),
            (Act.CREATE_TICKET, "Second"), (Act.CREATE_TICKET, "First"),
        ]  # fmt: skip
        assert items[3].body["agent"] == items[0].id
        assert items[3].body["parent"] == items[2].id
        assert (pipeline.space, pipeline.state) == (project.id, "running")
        assert pipeline.limit == PipelineLimit(9, "2026-11-30T13:30:00.000000Z")
        assert [(n.key, n.role) for n in pipeline.pipeline.nodes] == [
            ("ticket:a", items[0].id), ("ticket:b", "ada"), ("synthesis", "ada"),
        ]  # fmt: skip
        assert store.log.rebuild().equal
        head = store.log.head()
        assert carry_out(store, made.id, lambda: NOW) == done
        assert (carry_out_all(store, lambda: NOW), store.log.head()) == ((), head)

    def test_a_project_is_no_wider_than_its_space(self, store: Store, tmp_path: Path) -> None:
        """The space that the work runs in has the worktree, dial, settings, overlay and lock."""
        store.spaces.create("o", "plan", by="operator", now=NOW, worktree=str(tmp_path),
                            dial=Dial.PROPOSE)  # fmt: skip
        store.spaces.set_overlay("o", Overlay("o.toml", "[ceiling]\n"), by="operator", now=NOW)
        for effect in ("git.push", "git.commit"):
            store.spaces.set_effect("o", Setting(effect, Verdict.DENY), by="operator", now=NOW)
        store.spaces.set_lock("o", True, by="operator", now=NOW)
        made = store.orchestrations.propose("o", "c1", PROPOSAL, by="agent:c1", now=NOW)
        carry_out(store, decide(store, made).id, lambda: NOW)

        project = store.spaces.get(store.items.list(Act.CREATE_PROJECT)[0].id)
        like = store.spaces.get("o")
        assert project == evolve(like, id=project.id, mode="chat", revision=1)
        assert len(store.spaces.history(project.id)) == 5

    @pytest.mark.parametrize("fails", range(5))
    def test_another_platform_goes_on_where_it_failed(self, store: Store, fails: int) -> None:
        """S003-16: what was done is not done again; what failed is, by the same key."""
        made = decide(store, propose(store))
        platform = Flaky(fails)
        with pytest.raises(ConnectionError):
            carry_out(store, made.id, lambda: NOW, platform)
        assert store.orchestrations.get(made.id).state is OrchestrationState.APPROVED

        again = Flaky(9, platform.made)
        assert carry_out(store, made.id, lambda: NOW, again).state is OrchestrationState.STARTED
        assert platform.calls + again.calls == [a.key for a in actions(PROPOSAL, made.id)]

    def test_the_budget_ends_it(self, store: Store) -> None:
        """Once the minutes since the approval are over, nothing more is done, and it is told."""
        made = propose(store, evolve(PROPOSAL, budget=OrchestrationBudget(9, 1)))
        decide(store, made)
        times = iter([NOW] * 3 + [NOW + timedelta(minutes=1)] * 9)
        done = carry_out(store, made.id, lambda: next(times))

        assert done.state is OrchestrationState.STOPPED
        assert done.why == f"the budget's 1 minutes were over before `{made.id}/project`"
        assert [i.act for i in store.items.list()] == [Act.HIRE]
        assert carry_out(store, made.id, lambda: NOW) == done


@pytest.mark.usefixtures("space")
def test_an_approved_plan_starts_once(store: Store) -> None:
    """S003-8: a plan that is approved is started, once; one that is not, or is words, is not."""
    plan = Plan("g", (PlanNode("a", "Look", type=NodeType.RESEARCH), PlanNode("b", "Do")))
    record = store.plans.submit("demo", "c1", plan, by="agent:c1", now=NOW, leave_to="chat").plan
    with pytest.raises(StoreConflict, match="plan-not-approved"):
        start_plan(store, record.id, by="operator", now=NOW)
    store.approvals.decide(record.approval or "", True, by="operator", now=NOW)

    made = start_plan(store, record.id, by="operator", now=NOW)

    assert [n.extras for n in made.pipeline.nodes] == [{"mode": "review"}, {"mode": "chat"}]
    assert (made.space, store.spaces.get("demo").mode) == ("demo", "chat")
    assert start_plan(store, record.id, by="operator", now=NOW) == made
    words = store.plans.submit("demo", "c2", TextPlan("t", "do"), by="agent:c2", now=NOW).plan
    with pytest.raises(InputError, match="plan-no-steps"):
        start_plan(store, words.id, by="operator", now=NOW)


def test_killed_between_any_two_steps(
    path: Path,
    forked: Callable[[Callable[[], None]], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """S003-16: killed at every write, whoever comes after finishes, and makes nothing twice."""
    from remit.harness.store.log import Writer

    record = Writer.record
    with Store.open(path, create=NOW) as store:
        store.spaces.create("demo", "plan", by="operator", now=NOW)
        id = decide(store, propose(store)).id

    def act(left: list[int]) -> None:
        def counted(*args: Any, **more: Any) -> Any:
            made = record(*args, **more)
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return made

        monkeypatch.setattr(Writer, "record", counted)
        with Store.open(path) as store:
            carry_out(store, id, lambda: NOW)

    # Each child gets one record further than the one before could: the last has nothing left.
    ends = []
    for at in (1, 2, 1, 2, 3, 2, 3, 2, 1, 2, 3, 2, 9):
        ends.append(forked(lambda at=at: act([at])))  # type: ignore[misc]
    assert (ends[0], ends[-1]) == (-signal.SIGKILL, 0)
    assert ends.count(-signal.SIGKILL) > 5

    with Store.open(path) as store:
        assert store.orchestrations.get(id).state is OrchestrationState.STARTED
        keys = [a.key for a in actions(PROPOSAL, id)]
        assert [i.key for i in store.items.list()] == keys[:-1]
        assert [p.id for p in store.pipelines.list()] == [
            store.orchestrations.results(id)[keys[-1]]
        ]
        assert sorted(store.orchestrations.results(id)) == sorted(keys)
        assert store.log.verify().ok
        assert store.log.rebuild().equal
        assert [e.body["action"] for e in store.log.read(kinds=("orchestration.acted",))] == keys
