"""A step is judged by what held when it began and by what holds as of the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.harness.engine import Engine
from remit.harness.frames import Frame, judge
from remit.harness.inforce import InForce
from remit.harness.session import Answer, Run
from remit.harness.store import OPERATOR, ApprovalState, Store
from remit.policy.ceiling import Ceiling
from remit.policy.decision import Cause
from remit.policy.explain import explain
from remit.policy.gate import Setting
from remit.policy.profile import Brief, Profile, Side
from remit.policy.projection import Host, Judgement, Projection
from remit.policy.tools import Call, Catalog, Tool
from remit.policy.vocabulary import Dial, Layer, Tier, Unknown, Verdict
from tests.harness.desk import COMMIT, STATUS, Desk

REFUSING = '[ceiling]\nrefuse = ["git.commit"]\n'
PLAN = {"goal": "go", "nodes": [{"key": "a", "title": "A", "description": "a"}]}


def outcome(given: Run | Answer) -> str:
    return "runs" if isinstance(given, Run) else "asks" if given.data else "refused"


#: Each narrows a space in chat under `auto`, and what a commit of the step before comes to then.
NARROWINGS: Mapping[str, tuple[Callable[[Desk], object], str]] = {
    "mode": (lambda desk: desk.switch("plan"), "refused"),
    "overlay": (lambda desk: desk.overlay(REFUSING), "refused"),
    "broken overlay": (lambda desk: desk.overlay("[ceiling]\nrefuse = 3\n"), "refused"),
    "dial": (lambda desk: desk.dial(Dial.ASK), "asks"),
    "dial to propose": (lambda desk: desk.dial(Dial.PROPOSE), "refused"),
    "setting": (lambda desk: desk.set("git.commit", Verdict.ASK), "asks"),
    "denying setting": (lambda desk: desk.set("git.commit", Verdict.DENY), "refused"),
    "lock": (lambda desk: desk.lock(), "refused"),
    "tools": (
        lambda desk: desk.session.set_catalog(
            Catalog([Tool("mcp-git", "git_commit", Tier.WRITE, {"git.push", "vendor.write"})])
        ),
        "runs",
    ),
    "undeclared": (
        lambda desk: desk.session.set_catalog(
            Catalog([Tool("mcp-git", "git_commit", declared=False)])
        ),
        "asks",
    ),
    "no tool": (lambda desk: desk.session.set_catalog(Catalog()), "refused"),
}


class TestNarrowing:
    @pytest.mark.parametrize("what", NARROWINGS)
    def test_bites_the_step_in_flight(self, chat: Desk, what: str) -> None:
        """Whatever narrows since a frame holds for the calls of its step, from the next one on."""
        narrow, becomes = NARROWINGS[what]
        chat.dial(Dial.AUTO)
        frame = chat.frame()
        assert outcome(chat.later(frame)) == "runs"

        narrow(chat)

        assert outcome(chat.later(frame)) == becomes
        # And so it does for the next step.
        assert outcome(chat.commit()) == becomes

    @pytest.mark.parametrize("what", [w for w, (_, b) in NARROWINGS.items() if b == "refused"])
    def test_is_not_passed_by_an_approval(self, chat: Desk, what: str) -> None:
        """What is refused now is refused before anybody looks whether it was approved."""
        frame = chat.frame()
        chat.later(frame)
        approved = chat.decide(True)

        NARROWINGS[what][0](chat)

        assert outcome(chat.later(frame)) == "refused"
        state = chat.store.approvals.get(approved, now=chat.clock()).state
        gone = ApprovalState.SUPERSEDED if what == "mode" else ApprovalState.APPROVED
        assert state is gone

    def test_is_told_as_of_the_call(self, chat: Desk) -> None:
        """The refusal names the mode that is in force by now, and so does the log."""
        frame = chat.frame()
        chat.switch("plan")

        answer = chat.said(chat.later(frame))

        assert "plan mode refused `mcp-git:git_commit`" in answer.text
        assert chat.decisions()[-1]["mode"] == "plan"
        assert chat.decisions()[-1]["revision"] == 2

    def test_between_judging_and_recording(
        self, chat: Desk, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No call is recorded as allowed after a lock: one that was just judged is judged anew."""
        chat.dial(Dial.AUTO)
        frame = chat.frame()
        writing = store.log.writing
        locked: list[bool] = []

        def locking(now: object) -> object:
            # Another process is faster, once.
            if not locked:
                locked.append(True)
                with Store.open(store.path) as other:
                    other.spaces.set_lock("s", True, by=OPERATOR, now=chat.clock())
            return writing(now)  # type: ignore[arg-type]

        monkeypatch.setattr(store.log, "writing", locking)

        assert outcome(chat.later(frame)) == "refused"
        kinds = [e.kind for e in store.log.read(after=frame.seq)]
        assert kinds == ["lock.set", "decision"]


class TestWidening:
    @pytest.mark.parametrize(
        "widen",
        [
            lambda desk: desk.switch("chat"),
            lambda desk: desk.dial(Dial.AUTO),
            lambda desk: desk.overlay(None),
            lambda desk: desk.lock(False),
            lambda desk: desk.set("git.commit", Verdict.ALLOW),
        ],
    )
    def test_does_not_help_the_step_in_flight(
        self, plan: Desk, widen: Callable[[Desk], object]
    ) -> None:
        """A call of a step that began narrower is judged by that; the next step has the news."""
        plan.overlay(REFUSING)
        plan.lock()
        plan.set("git.commit", Verdict.DENY)
        plan.dial(Dial.PROPOSE)
        frame = plan.frame()

        widen(plan)

        assert outcome(plan.later(frame)) == "refused"

    def test_holds_from_the_next_step_on(self, plan: Desk) -> None:
        """What a frame of before refuses, one of after runs."""
        plan.dial(Dial.AUTO)
        frame = plan.frame()
        plan.switch("chat")

        assert outcome(plan.later(frame)) == "refused"
        assert "plan mode refused" in plan.said(plan.later(frame)).text
        assert outcome(plan.later(plan.frame())) == "runs"

    def test_sideways_is_the_meet(self, engine: Engine, chat: Desk) -> None:
        """A call of a step whose mode was left for another needs the leave of both."""
        chat.overlay('[ceiling]\ndeny = ["git_status"]\n')
        frame = chat.frame()
        chat.overlay('[ceiling]\ndeny = ["git_log"]\n')

        assert outcome(chat.later(frame, STATUS)) == "refused"
        assert outcome(chat.later(frame, Call("git_log"))) == "refused"
        assert outcome(chat.later(frame, Call("git_diff"))) == "runs"


class TestVerbs:
    @pytest.mark.parametrize("verb", ["submit_plan", "exit_plan_mode", "nothing_to_deliver"])
    def test_of_a_mode_that_was_left(self, plan: Desk, verb: str) -> None:
        """A verb of the step's mode answers that it was left, and does nothing."""
        frame = plan.frame()
        plan.switch("chat")
        args: Mapping[str, Mapping[str, object]] = {
            "submit_plan": PLAN,
            "exit_plan_mode": {},
            "nothing_to_deliver": {"reason": "x"},
        }

        answer = plan.said(plan.later(frame, Call(verb, args[verb])))

        assert answer.error
        assert "was left" in answer.text
        assert plan.store.plans.list() == ()
        assert plan.store.approvals.list(now=plan.clock()) == ()
        assert plan.store.log.read(kinds=("contract",)) == []

    def test_mode_tells_what_holds_now(self, plan: Desk) -> None:
        """`mode` is how a step learns that it is in another mode by now."""
        frame = plan.frame()
        plan.switch("chat")

        answer = plan.said(plan.later(frame, Call("mode")))

        assert answer.data is not None
        assert (answer.data["mode"], answer.data["revision"]) == ("chat", 2)

    def test_of_an_operator_in_a_mode_that_was_left(
        self, tmp_path: Path, store: Store, plan: Desk
    ) -> None:
        """A verb that is forwarded loses its leave with the mode whose verb it was."""
        catalog = tmp_path / "desk.toml"
        catalog.write_text('[tools.hand_over]\neffects = ["vendor.write"]\nverb = true\n')
        mode = tmp_path / "deliver.toml"
        mode.write_text('name = "deliver"\nextends = "read-only"\n[brief]\nverbs = ["hand_over"]\n')
        engine = Engine.load([mode], [catalog])
        plan.session.modes.engine = engine
        plan.session.set_catalog(engine.operators)
        plan.switch("deliver")
        frame, call = plan.frame(), Call("hand_over")
        assert isinstance(plan.later(frame, call), Run)

        plan.switch("plan")

        assert "plan mode refused `hand_over`" in plan.said(plan.later(frame, call)).text


class TestLock:
    def test_forwards_nothing(self, plan: Desk) -> None:
        """Whatever the dial and the mode say, a locked space hands no call on."""
        plan.dial(Dial.AUTO)
        plan.lock()

        answer = plan.said(plan.call("git_status", repo_path="/r"))

        assert answer.error
        assert "the operator had locked this space" in answer.text
        assert "switch" not in answer.text
        (decision,) = plan.decisions()
        assert (decision["layer"], decision["cause"]) == ("gate", "locked")

    def test_keeps_the_reason_of_another_layer(self, plan: Desk) -> None:
        """What the mode refuses anyway is refused in its words."""
        plan.lock()

        assert "`git.commit`" in plan.said(plan.commit()).text

    def test_serves_the_verbs(self, plan: Desk) -> None:
        """S003-18: a mode's own verb still delivers, and the operator can be reached."""
        plan.lock()

        assert not plan.said(plan.call("submit_plan", **PLAN)).error
        assert not plan.said(plan.call("ask_user", question="why?")).error
        assert not plan.said(plan.call("mode")).error

    def test_does_not_forward_a_verb(self, tmp_path: Path, plan: Desk) -> None:
        """A verb that somebody else serves is a call to them, so it waits."""
        catalog = tmp_path / "desk.toml"
        catalog.write_text('[tools.hand_over]\neffects = ["vendor.write"]\nverb = true\n')
        mode = tmp_path / "deliver.toml"
        mode.write_text('name = "deliver"\n[brief]\nverbs = ["hand_over"]\n')
        plan.session.modes.engine = Engine.load([mode], [catalog])
        plan.session.set_catalog(plan.session.engine.operators)
        plan.switch("deliver")
        plan.lock()

        assert "locked" in plan.said(plan.call("hand_over")).text

    def test_is_not_left_by_an_approval(self, plan: Desk) -> None:
        """An exit that was approved before waits for the unlocking, and is not used up."""
        plan.call("exit_plan_mode")
        approved = plan.decide(True)
        plan.lock()

        answer = plan.said(plan.call("exit_plan_mode"))

        assert answer.error
        assert "is locked" in answer.text
        assert plan.store.spaces.get("s").mode == "plan"
        assert plan.store.approvals.get(approved, now=plan.clock()).state is ApprovalState.APPROVED
        plan.lock(False)
        assert not plan.said(plan.call("exit_plan_mode")).error
        assert plan.store.spaces.get("s").mode == "chat"

    def test_asks_nothing(self, chat: Desk) -> None:
        """A call that would ask is refused, and no approval is opened for it."""
        chat.lock()
        chat.commit()

        assert chat.store.approvals.list(now=chat.clock()) == ()


class TestOverlay:
    def test_narrows_every_mode(self, chat: Desk) -> None:
        """An overlay holds whatever mode the space is given."""
        chat.overlay('[ceiling]\ndeny = ["git_status"]\n')

        for mode in ("chat", "plan", "review"):
            chat.switch(mode)
            assert "`git_status`" in chat.said(chat.call("git_status", repo_path="/r")).text
            assert "git_status" not in [t.name for t in chat.frame().projection.tools]

    def test_gives_chat_a_preamble(self, chat: Desk) -> None:
        """S002-10: chat says nothing, chat under an overlay says what it leaves."""
        assert chat.frame().projection.preamble == ""

        chat.overlay(REFUSING)

        assert chat.frame().projection.preamble != ""
        chat.overlay("[ceiling]\n")
        assert chat.frame().projection.preamble == ""

    def test_can_be_placed(self, chat: Desk) -> None:
        """Explaining a refusal names the overlay, and the line of the file that it came from."""
        chat.overlay(REFUSING)
        projection = chat.frame().projection
        judged = projection.judge(COMMIT)

        (fact,) = explain(projection, judged, Dial.ASK).decided

        assert (fact.side, str(fact.where)) == ("overlay", "/etc/overlay.toml:2:11")

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ('[ceiling]\nrefuse = ["gone.effect"]\n', "unknown effect class `gone.effect`"),
            ("[ceiling", "the text is not TOML"),
            ("[ceiling]\ntier = 3\n", "got the number `3` (`ceiling.tier`)"),
            ("", "`ceiling` is missing"),
            ('[ceiling]\ndeny = ["git_comit"]\n', "the deny entry `git_comit` matches no tool"),
        ],
    )
    def test_that_cannot_be_used_admits_nothing(self, chat: Desk, text: str, why: str) -> None:
        """A stored overlay that no longer loads never widens: nothing is admitted, and why."""
        chat.dial(Dial.AUTO)
        chat.overlay(text)

        assert outcome(chat.call("git_status", repo_path="/r")) == "refused"
        refused = chat.said(chat.call("git_status", repo_path="/r")).text
        assert refused.startswith("this space's overlay cannot be used: ")
        assert why in refused
        assert refused.count("mode refused") == 0
        told = chat.said(chat.call("mode")).text
        assert "This overlay cannot be used: " in told
        assert why in told
        assert not chat.said(chat.call("ask_user", question="what now?")).error

    def test_leaves_the_modes_verbs(self, plan: Desk) -> None:
        """S003-18: an overlay that allows nothing does not take the deliverable."""
        plan.overlay("[ceiling]\nallow = []\n")

        assert not plan.said(plan.call("submit_plan", **PLAN)).error


class TestSettings:
    def test_are_compiled_in(self, chat: Desk) -> None:
        """A setting replaces the cell of its effect, and is part of the projection."""
        before = chat.frame().projection.hash
        chat.set("git.commit", Verdict.ALLOW)
        chat.set("worktree.write", Verdict.ALLOW)

        assert chat.frame().projection.hash != before
        assert outcome(chat.commit()) == "runs"

    def test_are_cleared(self, chat: Desk) -> None:
        """A setting that is taken away leaves the dial to speak."""
        chat.set("git.commit", Verdict.DENY)
        assert outcome(chat.commit()) == "refused"

        chat.store.spaces.clear_effect("s", "git.commit", by=OPERATOR, now=chat.clock())

        assert outcome(chat.commit()) == "asks"

    def test_do_not_lift_propose(self, chat: Desk) -> None:
        """The operator's `allow` does not replace a denial of `propose`."""
        chat.dial(Dial.PROPOSE)
        for effect in ("git.commit", "worktree.write"):
            chat.set(effect, Verdict.ALLOW)

        assert outcome(chat.commit()) == "refused"


#: Pieces of spaces that differ in what they let through.
EFFECTS = ("worktree.write", "git.commit", "network.egress")
TOOLS = Catalog(
    [
        Tool("t", "look"),
        Tool("t", "read", Tier.READ, groups={"g"}),
        Tool("t", "edit", Tier.WRITE, {"worktree.write"}),
        Tool("t", "commit", Tier.WRITE, {"worktree.write", "git.commit"}),
        Tool("t", "fetch", Tier.READ, {"network.egress"}),
        Tool("t", "odd", declared=False),
        Tool("t", "done", Tier.WRITE, {"git.commit"}, verb=True),
    ]
)
ceilings = st.builds(
    Ceiling,
    tier=st.sampled_from(Tier),
    refuse=st.frozensets(st.sampled_from(EFFECTS), max_size=2),
    unknown=st.sampled_from(Unknown),
    allow=st.sampled_from([frozenset(), frozenset({frozenset({"tier:read"})})]),
    deny=st.frozensets(st.sampled_from(["edit", "t:*", "group:g"]), max_size=1),
)
briefs = st.sampled_from([None, Brief(("t:done",))])
State = tuple[Ceiling, Brief | None, Dial, tuple[Setting, ...], bool]
states = st.tuples(
    ceilings,
    briefs,
    st.sampled_from(Dial),
    st.lists(
        st.builds(Setting, st.sampled_from(EFFECTS), st.sampled_from(Verdict)),
        max_size=2,
        unique_by=lambda s: s.effect,
    ).map(tuple),
    st.booleans(),
)


class TestMeet:
    @given(states, states, st.sampled_from([t.key for t in TOOLS.tools]))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    def test_is_never_wider_than_either(
        self, engine: Engine, chat: Desk, before: State, after: State, tool: str
    ) -> None:
        """Promise 4: frame and now, in either order, give what neither of them alone refuses."""
        space = chat.store.spaces.get("s")

        def frame(state: State) -> Frame:
            ceiling, brief, dial, effects, locked = state
            profile = Profile("m", brief=brief, sides=(Side(str(ceiling), ceiling),))
            projection = engine.project(profile, TOOLS, Host("test"), effects)
            force = InForce(evolve(space, dial=dial, effects=effects, locked=locked))
            return Frame(force, projection)

        def look(projection: Projection, dial: Dial) -> Judgement:
            return projection.judge(Call(tool), dial)

        one, two = frame(before), frame(after)
        met = judge(engine, one, two, look).judgement.decision
        turned = judge(engine, two, one, look).judgement.decision
        alone = [judge(engine, f, f, look).judgement.decision for f in (one, two)]

        assert met.verdict is turned.verdict
        assert met.verdict >= max(d.verdict for d in alone)
        if one.space.locked or two.space.locked:
            assert met.verdict is Verdict.DENY
        elif Layer.PIN not in [d.layer for d in alone]:
            both = one.profile.under(*two.profile.sides)
            metas = [
                engine.project(both, TOOLS, Host("test"), f.space.effects).judge(
                    Call(tool), f.space.dial
                )
                for f in (one, two)
            ]
            assert met.verdict is max(m.decision.verdict for m in metas)
            assert met.cause is not Cause.LOCKED
