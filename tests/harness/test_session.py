from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from remit.harness.session import Answer, Run
from remit.harness.store import OPERATOR, ApprovalKind, ApprovalState
from remit.policy.tools import Call
from remit.policy.vocabulary import Dial
from tests.harness.desk import COMMIT, START, Desk

PLAN = {
    "goal": "ship it",
    "nodes": [
        {"key": "a", "title": "Look", "description": "read", "type": "research"},
        {"key": "b", "title": "Do", "description": "write", "depends_on": ["a"]},
    ],
}


class TestCalls:
    def test_a_read_runs_in_every_mode(self, plan: Desk) -> None:
        """A reading tool runs without a question in a read-only mode."""
        assert isinstance(plan.call("git_status", repo_path="/repo"), Run)

    def test_a_refusal_says_mode_tool_and_cause(self, plan: Desk) -> None:
        """S003-7, S003-20: a commit in plan is refused, and the answer says by what."""
        answer = plan.said(plan.commit())

        assert answer.error
        assert "plan mode refused `mcp-git:git_commit`" in answer.text
        assert "`git.commit`" in answer.text
        assert "`submit_plan`" in answer.text

    def test_an_unknown_tool_gets_a_near_miss(self, plan: Desk) -> None:
        """A tool that does not exist is refused with the name that was meant."""
        answer = plan.said(plan.call("git_statuss"))

        assert answer.error
        assert "no tool of that name" in answer.text
        assert "`git_status`" in answer.text

    def test_every_call_is_in_the_log(self, plan: Desk) -> None:
        """Allowed, refused, unknown and pinned calls leave one decision each."""
        plan.call("git_status")
        plan.commit()
        plan.call("nope")
        plan.call("mode")

        assert [(d["verdict"], d["layer"]) for d in plan.decisions()] == [
            ("allow", "gate"),
            ("deny", "filter"),
            ("deny", "filter"),
            ("allow", "pin"),
        ]

    def test_the_mode_is_that_of_the_request(self, plan: Desk) -> None:
        """S003-2: a switch is seen by the next call, without another listing."""
        plan.switch("chat")

        assert plan.said(plan.commit()).data is not None
        plan.switch("plan")
        assert "plan mode refused" in plan.said(plan.commit()).text

    @pytest.mark.parametrize(
        ("tool", "told"),
        [
            ("git_commit", "so `git_commit` was refused"),
            ("submit_plan", "and gone mode refused `submit_plan`: the verb was not one"),
            ("git_comit", "and gone mode refused `git_comit`: no tool of that name was known"),
        ],
    )
    def test_a_mode_that_cannot_be_used_says_so_first(
        self, plan: Desk, tool: str, told: str
    ) -> None:
        """A refusal, and the log, begin with the state that has to be mended before all else."""
        plan.switch("gone")
        said = f"gone mode cannot be used: unknown mode `gone`; {told}"

        assert plan.said(plan.call(tool)).text.startswith(said)
        assert plan.decisions()[-1]["reason"].startswith(said)


class TestApprovals:
    def test_an_ask_is_a_durable_approval(self, chat: Desk) -> None:
        """A call that asks did not run, and its answer says how it is approved."""
        answer = chat.said(chat.commit())

        (asked,) = chat.store.approvals.list(now=START)
        assert answer.error
        assert answer.data == {"approval": asked.id, "kind": "call", "state": "pending"}
        assert f"remit approvals approve {asked.id}" in answer.text
        assert "git_commit" in asked.shown
        assert "rm -rf / is quoted" in asked.shown

    def test_shows_where_it_would_run(self, chat: Desk) -> None:
        """The folder that an approval is bound to is among what is shown."""
        chat.commit()

        (asked,) = chat.store.approvals.list(now=START)
        assert f"in {Path.cwd()}" in asked.shown.splitlines()

    def test_the_log_says_which_call_ran(self, chat: Desk) -> None:
        """A decision says whether the call was handed on: asked, pending, approved, allowed."""
        chat.commit()
        chat.commit()
        approved = chat.decide(True)
        chat.commit()
        chat.call("git_status", repo_path="/r")
        chat.call("mode")

        told = [(d["verdict"], d["approval"], d["forwarded"]) for d in chat.decisions()]
        assert told == [
            ("ask", None, False),
            ("ask", approved, False),
            ("ask", approved, True),
            ("allow", None, True),
            ("allow", None, False),
        ]

    def test_the_same_call_opens_no_second_one(self, chat: Desk) -> None:
        """While a call's approval is pending, repeating the call changes nothing."""
        chat.commit()
        chat.commit()

        assert len(chat.store.approvals.list(now=START)) == 1

    def test_runs_once_per_approval(self, chat: Desk) -> None:
        """An approved call runs once; the next one asks anew."""
        chat.commit()
        approved = chat.decide(True)

        run = chat.commit()

        assert isinstance(run, Run)
        assert run.approval == approved
        assert chat.store.approvals.get(approved, now=START).state is ApprovalState.USED
        assert isinstance(chat.commit(), Answer)

    def test_other_arguments_are_another_call(self, chat: Desk) -> None:
        """An approval is bound to the arguments, so another message asks for itself."""
        chat.commit()
        chat.decide(True)

        assert isinstance(chat.call("mcp-git:git_commit", repo_path="/repo", message="x"), Answer)

    def test_a_changed_tool_is_another_call(self, chat: Desk) -> None:
        """An approval is bound to the tool as the model saw it."""
        chat.commit()
        chat.decide(True)

        assert isinstance(chat.session.call(chat.session.frame(), COMMIT, "other"), Answer)

    def test_a_rejection_is_told(self, chat: Desk) -> None:
        """A rejected call stays rejected and carries what the operator said."""
        chat.commit()
        chat.decide(False, "not today")

        answer = chat.said(chat.commit())

        assert answer.error
        assert "rejected" in answer.text
        assert "not today" in answer.text

    def test_expires(self, chat: Desk) -> None:
        """After thirty minutes an approved call is asked for anew."""
        chat.commit()
        chat.decide(True)
        chat.clock.now = START + timedelta(minutes=30)

        assert isinstance(chat.commit(), Answer)

    def test_does_not_survive_a_mode_change(self, chat: Desk) -> None:
        """A grant given before a switch is gone after the return."""
        chat.commit()
        chat.decide(True)
        chat.switch("plan")
        chat.switch("chat")

        assert isinstance(chat.commit(), Answer)

    def test_the_dial_has_its_say(self, chat: Desk) -> None:
        """Under auto the same call runs unasked, under propose it is refused."""
        chat.store.spaces.set_dial("s", Dial.AUTO, by=OPERATOR, now=START)
        assert isinstance(chat.commit(), Run)
        chat.store.spaces.set_dial("s", Dial.PROPOSE, by=OPERATOR, now=START)
        assert "dial `propose`" in chat.said(chat.commit()).text


class TestProtectedPaths:
    @pytest.mark.parametrize("path", [".git/hooks/pre-commit", "./.remit/../.remit/plans/p.md"])
    def test_are_refused_to_what_writes(self, chat: Desk, path: str) -> None:
        """No tool writes a protected path, even in chat under auto."""
        chat.store.spaces.set_dial("s", Dial.AUTO, by=OPERATOR, now=START)

        answer = chat.said(chat.call("write_file", path=str(chat.tree / path), content="x"))

        assert "protected" in answer.text

    def test_through_a_link(self, chat: Desk) -> None:
        """A link into a protected folder is seen through."""
        (chat.tree / ".git/hooks").mkdir(parents=True)
        (chat.tree / "innocent").symlink_to(chat.tree / ".git/hooks")

        answer = chat.said(chat.call("write_file", path="innocent/pre-commit", content="x"))

        assert "protected" in answer.text

    def test_the_token_is_not_even_read(self, chat: Desk) -> None:
        """The operator token is refused to a tool that only reads."""
        token = str(chat.store.path) + ".token"

        assert "protected" in chat.said(chat.call("read_text_file", path=token)).text
        assert isinstance(chat.call("read_text_file", path=".git/hooks/x"), Run)

    def test_words_about_a_path_are_no_path(self, chat: Desk) -> None:
        """A commit message that speaks of a hook is a message."""
        chat.store.spaces.set_dial("s", Dial.AUTO, by=OPERATOR, now=START)

        message = "explain .git/hooks and the token"

        assert isinstance(chat.call("git_commit", repo_path="/r", message=message), Run)


class TestSubmitPlan:
    def test_delivers(self, plan: Desk) -> None:
        """S003-7: the one deliverable of plan is a typed graph; it is stored and filed."""
        answer = plan.said(plan.call("submit_plan", **PLAN))

        assert not answer.error
        (record,) = plan.store.plans.list("s")
        assert [n["key"] for n in record.plan.value()["nodes"]] == ["a", "b"]
        assert record.path is not None
        assert "# ship it" in Path(record.path).read_text()

    def test_every_problem_in_one_answer(self, plan: Desk) -> None:
        """A wrong plan is answered with all that is wrong, and nothing is stored."""
        answer = plan.said(
            plan.call(
                "submit_plan",
                goal=" ",
                nodes=[
                    {"key": "a", "title": "", "description": "", "depends_on": ["a"]},
                    {"key": "a", "title": "x", "description": "", "depends_on": ["zz"]},
                ],
            )
        )

        assert answer.error
        for said in ("`goal` is missing", "`title` is missing", "depends on itself", "`zz`"):
            assert said in answer.text
        assert plan.store.plans.list("s") == ()

    def test_is_not_a_verb_of_chat(self, chat: Desk) -> None:
        """A mode's verb exists in that mode alone."""
        answer = chat.said(chat.call("submit_plan", **PLAN))

        assert answer.error
        assert "not one of this mode's" in answer.text

    def test_passes_the_dial(self, plan: Desk) -> None:
        """S003-18: the dial cannot silence a mode's own verb."""
        plan.store.spaces.set_dial("s", Dial.PROPOSE, by=OPERATOR, now=START)

        assert not plan.said(plan.call("submit_plan", **PLAN)).error

    def test_a_frame_from_before_a_switch_does_nothing(self, plan: Desk) -> None:
        """If the mode was left since the frame, the verb says so and stores nothing."""
        frame = plan.session.frame()
        plan.switch("chat")

        answer = plan.said(plan.session.call(frame, Call("submit_plan", PLAN)))

        assert answer.error
        assert "was left" in answer.text
        assert plan.store.plans.list("s") == ()


class TestExit:
    def test_is_a_gate(self, plan: Desk) -> None:
        """S003-10: first pending, repeats stay pending, nothing changes until the grant."""
        first = plan.said(plan.call("exit_plan_mode", reason="done"))
        again = plan.said(plan.call("exit_plan_mode"))

        assert not first.error
        assert not again.error
        assert first.data is not None
        assert again.data is not None
        assert first.data["approval"] == again.data["approval"]
        assert len(plan.store.approvals.list(now=START)) == 1
        assert plan.store.spaces.get("s").mode == "plan"

    def test_leaves_after_the_grant_once(self, plan: Desk) -> None:
        """S003-10: only a call after the grant flips the space, and it uses the grant up."""
        plan.call("exit_plan_mode")
        plan.decide(True)
        assert plan.store.spaces.get("s").mode == "plan"

        left = plan.said(plan.call("exit_plan_mode"))

        assert not left.error
        assert plan.store.spaces.get("s").mode == "chat"
        plan.switch("plan")
        plan.call("exit_plan_mode")
        assert plan.store.spaces.get("s").mode == "plan"

    def test_after_a_rejection_a_fresh_one(self, plan: Desk) -> None:
        """S003-10: after a rejection a fresh request is opened, and the feedback is told."""
        plan.call("exit_plan_mode")
        first = plan.decide(False, "plan first")

        answer = plan.said(plan.call("exit_plan_mode"))

        assert answer.data is not None
        assert answer.data["approval"] != first
        assert "plan first" in answer.text
        assert plan.store.spaces.get("s").mode == "plan"


class TestQuestions:
    def test_waits_and_is_answered(self, plan: Desk) -> None:
        """S003-19: a question reaches the operator under any dial, and its answer comes back."""
        plan.store.spaces.set_dial("s", Dial.PROPOSE, by=OPERATOR, now=START)
        first = plan.said(plan.call("ask_user", question="Which?", options=["a", "b"]))
        plan.decide(True, "b")

        answer = plan.said(plan.call("ask_user", question="Which?", options=["a", "b"]))

        assert not first.error
        assert answer.text == "The operator answered: b"
        (asked,) = plan.store.approvals.list(now=START)
        assert asked.kind is ApprovalKind.QUESTION

    @pytest.mark.parametrize("args", [{}, {"question": " "}, {"question": 3}, {"ask": "x"}])
    def test_wrong_arguments(self, plan: Desk, args: dict[str, Any]) -> None:
        """A verb that is called wrongly says how it is called, and does nothing."""
        answer = plan.said(plan.call("ask_user", **args))

        assert answer.error
        assert "`question`" in answer.text
        assert plan.store.approvals.list(now=START) == ()


class TestContract:
    def test_an_honest_nothing(self, plan: Desk) -> None:
        """S003-9: `nothing_to_deliver` is recorded as declined, with its reason."""
        answer = plan.said(plan.call("nothing_to_deliver", reason="a plain question"))

        assert not answer.error
        (event,) = plan.store.log.read(kinds=("contract",))
        assert event.body["contract"] == "plan.delivered"
        assert event.body["outcome"] == "declined"
        assert event.body["reason"] == "a plain question"

    def test_is_not_there_without_a_contract(self, chat: Desk) -> None:
        """S003-6: chat owes nothing, so there is nothing to decline."""
        assert chat.said(chat.call("nothing_to_deliver", reason="x")).error


class TestMode:
    def test_returns_the_preamble(self, plan: Desk) -> None:
        """The verb `mode` returns the preamble in force and the facts."""
        answer = plan.said(plan.call("mode"))

        assert answer.text.startswith("# Mode: Plan")
        assert answer.data is not None
        assert answer.data["posture"] == "read-only"
        assert answer.data["contract"] == "plan.delivered"
        assert "git_commit" not in answer.data["tools"]

    def test_a_mode_that_is_gone_admits_nothing(self, chat: Desk) -> None:
        """A stored mode that no longer resolves never widens: only the verbs of all are left."""
        chat.switch("vanished")

        assert chat.said(chat.call("git_status")).error
        assert "cannot be used" in chat.said(chat.call("mode")).text
        assert not chat.said(chat.call("ask_user", question="what now?")).error
