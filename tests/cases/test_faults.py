"""The control centre's faults 2 to 15, each shown not to be ours.

Each was found by reading that system. A docstring says which fault it is and what holds here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from remit.harness.carrying import carry_out
from remit.harness.engine import Engine
from remit.harness.session import Answer, Run
from remit.harness.store import OPERATOR, ApprovalKind, ApprovalState, OrchestrationState, Store
from remit.policy.cooldown import COOLDOWN
from remit.policy.decision import Cause
from remit.policy.materialise import Act
from remit.policy.pipeline import PIN, resolve_step_mode
from remit.policy.problems import InputError, RemitError, Severity
from remit.policy.projection import Host, Projection
from remit.policy.tools import Call, CallEffects, Catalog, Tool
from remit.policy.vocabulary import ADMITTED, Dial, Layer, Tier, Verdict
from remit.profiles.names import BUILT_IN, PULL_REQUEST_MODE, TOP_MODE
from remit.profiles.source import Source
from tests.harness.desk import COMMIT, START, Clock, Desk

HOST = Host("test")
NARROW = [mode for mode in BUILT_IN if mode != TOP_MODE]
BRANCHES = Tool("stack", "stack_checkout", Tier.READ, declared=False)
MADE = Tool("made", "touch", Tier.WRITE)


@cache
def engine() -> Engine:
    return Engine.load()


@cache
def projected(mode: str) -> Projection:
    """A built-in mode over all that is shipped, and two tools that say too little of themselves."""
    shipped = engine().catalogs(engine().shipped)
    more = Catalog([BRANCHES, MADE])
    tools = engine().with_natives(Catalog.union(shipped, more))
    return engine().project(engine().profile(mode), tools, HOST)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "remit.db", create=START) as store:
        yield store


@pytest.fixture
def plan(store: Store, tmp_path: Path) -> Desk:
    return Desk(engine(), store, Clock(), "plan", tmp_path)


@pytest.fixture
def chat(store: Store, tmp_path: Path) -> Desk:
    return Desk(engine(), store, Clock(), TOP_MODE, tmp_path)


@pytest.mark.parametrize("dial", Dial)
@pytest.mark.parametrize("mode", BUILT_IN)
def test_a_pin_holds_on_every_path(mode: str, dial: Dial) -> None:
    """Fault 2: a verb is allowed with somebody to ask or not, whatever is seen of it."""
    tools = projected(mode).compiled.catalog
    alone = engine().project(engine().profile(mode), tools, HOST, askable=False)
    worst = CallEffects({"git.push", "worktree.write"}, opaque=True, protected=("/x",))

    for projection in (projected(mode), alone):
        for pin in projection.compiled.profile.pins:
            decision = projection.judge(Call(pin), dial, seen=worst).decision
            assert (decision.verdict, decision.layer) == (Verdict.ALLOW, Layer.PIN)


def test_a_pin_holds_in_a_session(plan: Desk) -> None:
    """Fault 2: the one way that calls take serves the verb under the strictest dial and overlay."""
    plan.dial(Dial.PROPOSE)
    plan.overlay('[ceiling]\ntier = "read"\nallow = []\nrefuse = ["record.write"]\n')
    node = {"key": "a", "title": "Look", "description": "read"}

    assert not plan.said(plan.call("submit_plan", goal="ship", nodes=[node])).error


@pytest.mark.parametrize("mode", NARROW)
def test_a_profile_cannot_list_what_it_refuses(mode: str) -> None:
    """Fault 3: an allow entry whose tools the mode's own effects refuse is an error, by place."""
    text = f'name = "mine"\nextends = "{mode}"\n[ceiling]\nallow = ["git_log", "git_commit"]\n'
    profile = engine().library.parse(Source(text, "mine.toml"))
    tools = engine().with_natives(engine().catalogs(["mcp-git"]))

    (problem,) = (p for p in engine().fit(profile, tools, HOST) if p.severity is Severity.ERROR)

    assert (problem.code, problem.where.line) == ("allowed-in-vain", 4)


@pytest.mark.parametrize("mode", NARROW)
def test_words_name_no_tool_that_is_not_there(mode: str) -> None:
    """Fault 3: what the prompt recommends, the mode has."""
    projection = projected(mode)
    problems = engine().fit(projection.compiled.profile, projection.compiled.catalog, HOST)

    assert [p for p in problems if p.code == "words-name-hidden"] == []


@pytest.mark.parametrize("mode", BUILT_IN)
def test_what_is_visible_can_be_called(mode: str) -> None:
    """Fault 4: of every tool that is listed some call passes, under the dial that asks least."""
    projection = projected(mode)
    for tool in projection.tools:
        shape = projection.compiled.catalog.shape(tool)
        ways = shape.least or [frozenset[str]()] if shape.classify else [shape.effects]
        verdicts = [
            projection.compiled.decide(tool.key, Dial.AUTO, CallEffects(way)).verdict
            for way in ways
        ]
        assert min(verdicts) is not Verdict.DENY, tool.key


@pytest.mark.parametrize("dial", Dial)
@pytest.mark.parametrize("mode", BUILT_IN)
def test_what_is_not_listed_does_not_run(mode: str, dial: Dial) -> None:
    """Fault 5: each hidden tool is refused when it is called all the same, harmless or not."""
    projection = projected(mode)
    hidden = projection.hidden
    assert hidden
    for tool, _ in hidden:
        decision = projection.judge(Call(tool.key), dial, seen=CallEffects()).decision
        assert (decision.verdict, decision.layer) == (Verdict.DENY, Layer.FILTER)


def test_the_session_agrees(plan: Desk) -> None:
    """Fault 5: a session refuses exactly what its frame does not list."""
    frame = plan.frame()
    listed = {tool.key for tool in frame.projection.tools}
    for tool in frame.catalog.tools:
        if not tool.native:
            assert isinstance(plan.call(tool.key), Run) is (tool.key in listed)


@pytest.mark.parametrize("mode", NARROW)
def test_what_nobody_declared_is_not_free(mode: str) -> None:
    """Fault 6: a tool of tier read that declares no effects moves no branch in a read-only mode."""
    decision = projected(mode).judge(Call(BRANCHES.key), Dial.AUTO).decision

    assert (decision.verdict, decision.cause) == (Verdict.DENY, Cause.UNDECLARED)


def test_what_moves_branches_is_declared() -> None:
    """Fault 6: the shipped tools that move or make branches say that they write."""
    tools = projected(TOP_MODE).compiled.catalog

    for name in ("mcp-git:git_checkout", "mcp-git:git_create_branch"):
        tool = tools.get(name)
        assert tool is not None
        assert "worktree.write" in tool.effects
        assert tool.tier > Tier.READ


@pytest.mark.parametrize("mode", NARROW)
def test_research_is_there(mode: str) -> None:
    """Fault 7: read-only modes have what fetches pages, and it runs unasked."""
    decision = projected(mode).judge(Call("mcp-fetch:fetch")).decision

    assert decision.verdict is Verdict.ALLOW


def test_an_approved_exit_is_used_up(plan: Desk) -> None:
    """Fault 8: after a return to plan the next exit asks anew, and nobody approves their own."""
    plan.call("exit_plan_mode")
    plan.decide(True)
    plan.call("exit_plan_mode")
    assert plan.store.spaces.get("s").mode == TOP_MODE
    plan.switch("plan")

    plan.call("exit_plan_mode")

    assert plan.store.spaces.get("s").mode == "plan"
    (pending,) = plan.store.approvals.list(now=START, state=ApprovalState.PENDING)
    for who in (pending.requested_by, "agent:other", "system"):
        with pytest.raises(RemitError):
            plan.store.approvals.decide(pending.id, True, by=who, now=START)
    assert plan.store.approvals.get(pending.id, now=START).state is ApprovalState.PENDING


@pytest.fixture
def lab(store: Store, tmp_path: Path) -> Desk:
    return Desk(engine(), store, Clock(), "orchestrate", tmp_path)


def proposal(goal: str = "Ship it", **more: Any) -> dict[str, Any]:
    return {
        "goal": goal,
        "roles": [{"key": "dev", "title": "Developer", "agent": "ada"}],
        "tickets": [{"key": "t", "title": "Do", "description": "all", "role": "dev"}],
        "synthesis": {"role": "dev", "prompt": "Report."},
        "budget": {"steps": 4},
        **more,
    }


def test_an_agent_decides_no_proposal(lab: Desk) -> None:
    """Fault 8: neither who proposed nor another agent approves, and an approval is used once."""
    lab.call("propose_orchestration", **proposal())
    (asked,) = lab.store.approvals.list(now=START)
    for who in (asked.requested_by, "agent:other", "system", "pipeline"):
        with pytest.raises(RemitError):
            lab.store.approvals.decide(asked.id, True, by=who, now=START)

    lab.decide(True)

    assert lab.store.approvals.get(asked.id, now=START).state is ApprovalState.USED
    with pytest.raises(RemitError):
        lab.store.approvals.use(asked.id, now=START)


@pytest.mark.parametrize("goal", ["Ship it", "  ship IT", "Ship it!"])
@pytest.mark.parametrize("named", [True, False])
def test_the_cooldown_is_not_dodged(lab: Desk, goal: str, named: bool) -> None:
    """Fault 10: leaving the id out, or spelling the goal otherwise, does not get around it."""
    made = lab.said(lab.call("propose_orchestration", **proposal()))
    assert made.data is not None
    more = {"revises": made.data["orchestration"]} if named else {}

    again = lab.said(
        lab.call("propose_orchestration", **proposal(goal, drift="stop-and-ask", **more))
    )

    assert again.error
    assert "may be proposed again at" in again.text
    assert len(lab.store.orchestrations.list()) == 1


@pytest.mark.parametrize("count", [1, 16, 17, 64])
def test_what_is_taken_does_not_fail_at_approval(lab: Desk, count: int) -> None:
    """Fault 9: a proposal that is taken is carried out, of however many tickets."""
    tickets = [
        {"key": f"t{i}", "title": "Do", "description": "all", "role": "dev",
         "depends_on": [f"t{i - 1}"] if i else []}
        for i in range(count)
    ]  # fmt: skip
    made = lab.said(
        lab.call("propose_orchestration", **proposal(tickets=tickets, budget={"steps": 99}))
    )
    assert made.data is not None
    lab.decide(True)

    done = carry_out(lab.store, made.data["orchestration"], lab.clock)

    assert done.state is OrchestrationState.STARTED
    assert len(lab.store.items.list(Act.CREATE_TICKET)) == count


@pytest.mark.parametrize("decided", [True, False])
def test_what_was_decided_is_not_decided_again(lab: Desk, decided: bool) -> None:
    """Fault 9: approval heeds how a proposal stands: rejected or superseded is not approved."""
    made = lab.said(lab.call("propose_orchestration", **proposal()))
    assert made.data is not None
    if decided:
        lab.decide(False)
    else:
        lab.clock.now += COOLDOWN
        lab.call("propose_orchestration", **proposal(drift="stop-and-ask"))

    with pytest.raises(RemitError):
        lab.store.approvals.decide(made.data["approval"], True, by=OPERATOR, now=lab.clock())
    with pytest.raises(RemitError):
        carry_out(lab.store, made.data["orchestration"], lab.clock)


@pytest.mark.parametrize("wrong", ["", "plna", "Review", "chat ", "unknown"])
def test_an_unknown_step_mode_is_no_mode(wrong: str) -> None:
    """Fault 15: a step's mode that is not known is an error, and falls back to none."""
    with pytest.raises(InputError):
        resolve_step_mode({PIN: wrong}, TOP_MODE, BUILT_IN)
    with pytest.raises(InputError):
        resolve_step_mode({}, wrong, BUILT_IN)


def test_a_spaces_settings_reach_its_conversations(chat: Desk) -> None:
    """Fault 11: what an operator sets for a space is looked up by the space, not the thread."""
    chat.dial(Dial.AUTO)
    assert isinstance(chat.commit(), Run)

    chat.set("git.commit", Verdict.DENY)

    assert chat.session.conversation != chat.session.space
    assert "the operator set `git.commit`" in chat.said(chat.commit()).text


@pytest.mark.parametrize("key", ["enforcement", "advisory", "level"])
def test_there_is_one_level_of_enforcement(key: str) -> None:
    """Fault 12: no key makes a refusal a hint, and a key that would is an error, not ignored."""
    text = f'name = "mine"\n[ceiling]\nrefuse = ["git.push"]\n{key} = "advisory"\n'
    entry = engine().library.examine(Source(text, "mine.toml"))

    assert entry.profile is None
    assert "unknown-key" in [p.code for p in entry.problems]


def test_advisory_is_said_of_layers_that_do_not_hold() -> None:
    """Fault 12: what a host cannot enforce is told as that, and no verdict is laxer for it."""
    weak = Host("weak", gates_calls=False)
    tools = projected("plan").compiled.catalog
    projection = engine().project(engine().profile("plan"), tools, weak)

    assert {"approval gate", "action guard"} <= set(weak.advisory)
    assert all(layer in projection.preamble for layer in weak.advisory)
    assert projection.judge(COMMIT).decision == projected("plan").judge(COMMIT).decision


@pytest.mark.parametrize("mode", NARROW)
@pytest.mark.parametrize("dial", Dial)
def test_what_is_not_proven_is_not_let_through(mode: str, dial: Dial) -> None:
    """Fault 13: where the unknown is refused, no dial makes a question or a yes of it."""
    projection = projected(mode)
    tool = next(t for t in projection.tools if not t.native and not t.effects and not t.classify)
    opaque = CallEffects(opaque=True)

    assert projection.judge(Call(tool.key), dial, seen=opaque).decision.verdict is Verdict.DENY
    assert projection.judge(Call(BRANCHES.key), dial).decision.verdict is Verdict.DENY


@pytest.mark.parametrize("tool", [MADE, BRANCHES], ids=lambda tool: tool.name)
def test_what_asks_is_never_let_through_in_silence(tool: Tool) -> None:
    """Fault 14: what can write and says nothing, or nobody declared, asks under auto."""
    judge = projected(TOP_MODE).judge

    assert judge(Call(tool.key), Dial.AUTO).decision.verdict is Verdict.ASK
    assert judge(Call(tool.key), Dial.PROPOSE).decision.verdict is Verdict.DENY


@pytest.mark.parametrize("effect", sorted(ADMITTED))
def test_an_operators_ask_survives(chat: Desk, effect: str) -> None:
    """Fault 14: what is allowed by default asks under auto where the operator said so."""
    chat.session.set_catalog(engine().catalogs(["mcp-git", "mcp-memory", "mcp-fetch"]))
    chat.dial(Dial.AUTO)
    chat.set(effect, Verdict.ASK)
    tools = chat.frame().catalog.tools
    tool = next(t for t in tools if t.effects == {effect} and not t.native)

    answer = chat.said(chat.call(tool.key))

    assert answer.data is not None
    (asked,) = chat.store.approvals.list(now=START)
    assert (asked.kind, answer.data["approval"]) == (ApprovalKind.CALL, asked.id)
    assert tool.key in asked.shown


@pytest.mark.parametrize("wrong", ["", "plna", "Plan", "review ", "chat-", "unknown"])
def test_an_unknown_mode_is_no_mode(store: Store, wrong: str) -> None:
    """Fault 15: no text falls back to a mode, neither the widest nor another."""
    with pytest.raises(RemitError):
        engine().profile(wrong)
    text = f'name = "mine"\n[brief]\nchildren = ["{wrong}"]\n'
    assert engine().library.examine(Source(text, "mine.toml")).profile is None
    parent = f'name = "mine"\nextends = "{wrong}"\n'
    assert engine().library.examine(Source(parent, "mine.toml")).profile is None


def test_a_stored_mode_that_is_gone_admits_nothing(chat: Desk) -> None:
    """Fault 15: a mode that no longer resolves is neither the widest one nor that of reviews."""
    chat.store.spaces.set_mode("s", "gone", by=OPERATOR, why="", now=START)
    frame = chat.frame()

    assert frame.projection.mode not in (TOP_MODE, PULL_REQUEST_MODE)
    assert all(tool.native for tool in frame.projection.tools)
    assert isinstance(chat.call("mcp-git:git_status"), Answer)
