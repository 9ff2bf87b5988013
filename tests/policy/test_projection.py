from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from remit.policy.ceiling import Ceiling
from remit.policy.compile import compile_profile
from remit.policy.decision import Cause
from remit.policy.profile import Brief, Profile, Side
from remit.policy.projection import Classifier, Guard, Host, Projection
from remit.policy.tools import Call, CallEffects, Catalog, Facts, Tool
from remit.policy.vocabulary import Dial, Layer, Tier, Unknown, Verdict
from tests.policy.worlds import NATIVES

SHELL = Tool("sh", "run", Tier.EXECUTE, {"worktree.write", "git.push"}, classify="look")
CATALOG = Catalog((Tool("git", "log", Tier.READ), SHELL, *NATIVES), {"look"})
PLAN = Brief(("remit:submit_plan",), True, "plan")


def _look(call: Call, tool: Tool, facts: Facts) -> CallEffects:
    return CallEffects({"git.push"} if "push" in call.args.get("command", "") else ())


def _broken(call: Call, tool: Tool, facts: Facts) -> CallEffects:
    raise KeyError("command")


def _projection(
    classifiers: Mapping[str, Classifier] | None = None,
    guards: Mapping[str, Guard] | None = None,
    brief: Brief | None = PLAN,
    **ceiling: Any,
) -> Projection:
    side = Side("made", Ceiling(**ceiling))
    compiled = compile_profile(Profile("made", sides=(side,), brief=brief), CATALOG)
    return Projection(
        compiled, Host("test"), {}, {"look": _look} if classifiers is None else classifiers,
        guards or {},
    )  # fmt: skip


class TestClassifiers:
    def test_judge_by_the_call(self) -> None:
        """Two calls of one tool are judged by what each does."""
        projection = _projection(refuse={"git.push"})

        status = projection.judge(Call("run", {"command": "git status"}))
        push = projection.judge(Call("run", {"command": "git push"}))

        assert status.decision.verdict is Verdict.ALLOW
        assert (push.decision.layer, push.found.effects) == (Layer.GUARD, frozenset({"git.push"}))

    def test_one_that_raises_refuses_and_is_named(self) -> None:
        """A classifier that fails is a refusal that names it, never a pass."""
        judged = _projection({"look": _broken}).judge(Call("run"), Dial.AUTO)

        assert (judged.decision.verdict, judged.decision.cause) == (Verdict.DENY, Cause.PLUGIN)
        assert judged.found.opaque
        assert "classifier `look` failed with KeyError" in judged.decision.detail[0]

    def test_what_the_host_saw_is_added(self) -> None:
        """What the host itself saw of a call joins what the classifier found."""
        projection = _projection()
        seen = CallEffects(protected=(".git/hooks",))

        judged = projection.judge(Call("run", {"command": "ls"}), Dial.AUTO, seen=seen)

        assert judged.decision.cause is Cause.PROTECTED

    def test_without_the_function_a_call_is_opaque(self) -> None:
        """A classifier that is declared and not there leaves the call unread."""
        judged = _projection({}, unknown=Unknown.REFUSE).judge(Call("run"))

        assert judged.found.opaque
        assert judged.decision.verdict is Verdict.DENY


class TestGuards:
    def test_adds_a_refusal(self) -> None:
        """A guard refuses what everything else allowed, and is quoted."""
        guards: dict[str, Guard] = {"acme": lambda call, tool, found, facts: "not on a friday"}

        judged = _projection(guards=guards).judge(Call("log"), Dial.AUTO)

        assert judged.decision.verdict is Verdict.DENY
        text = _projection(guards=guards).text(judged)
        assert text.reason == "made mode refused `log`: guard `acme` says: not on a friday"

    def test_one_that_raises_refuses_and_is_named(self) -> None:
        """A guard that fails is a refusal that names it."""

        def fail(call: Call, tool: Tool, found: CallEffects, facts: Facts) -> str | None:
            raise RuntimeError("odd")

        judged = _projection(guards={"acme": fail}).judge(Call("log"))

        assert judged.decision.detail == ("guard `acme` failed with RuntimeError: odd",)

    def test_has_no_say_over_a_pin(self) -> None:
        """S003-18: no guard silences a mode's own verb."""
        guards: dict[str, Guard] = {"acme": lambda call, tool, found, facts: "no"}

        judged = _projection(guards=guards).judge(Call("submit_plan"), Dial.PROPOSE)

        assert judged.decision.layer is Layer.PIN


#: Ceiling, tool called, and the sentence and hint that the model reads.
TEXTS: list[tuple[dict[str, Any], str, dict[str, str], str, str]] = [
    ({"refuse": {"git.push"}}, "run", {"command": "git push"},
     "made mode refused `run`: it would have `git.push`",
     "this mode delivers its plan by `submit_plan`; `mode` tells what is there"),
    ({}, "lgo", {}, "made mode refused `lgo`: no tool of that name was known",
     "did you mean `log`"),
    ({"tier": Tier.READ}, "run", {}, "made mode refused `run`: it needed tier `execute`",
     "this mode delivers its plan by `submit_plan`; `mode` tells what is there"),
    ({"deny": {"sh:*"}}, "run", {}, "made mode refused `run`: the mode denied `sh:*`",
     "this mode delivers its plan by `submit_plan`; `mode` tells what is there"),
    ({}, "run", {"command": "git push"},
     "made mode asks before `run`: it has `git.push` (dial `ask`)",
     ""),
    ({}, "log", {}, "made mode allowed `log`: it has no world-changing effect", ""),
]  # fmt: skip


class TestText:
    @pytest.mark.parametrize(("ceiling", "tool", "args", "reason", "hint"), TEXTS)
    def test_names_mode_tool_and_cause(
        self, ceiling: dict[str, Any], tool: str, args: dict[str, str], reason: str, hint: str
    ) -> None:
        """S001-11: a refusal names mode, tool and cause as of the call, in the past tense."""
        projection = _projection(**ceiling)

        text = projection.text(projection.judge(Call(tool, args)))

        assert (text.reason, text.hint) == (reason, hint)

    @pytest.mark.parametrize("dial", list(Dial))
    def test_every_cause_renders(self, dial: Dial) -> None:
        """No decision of any tool fails to be put into words."""
        for ceiling in (c for c, *_ in TEXTS):
            projection = _projection(**ceiling)
            for name in (*(t.key for t in CATALOG.tools), "nope"):
                text = projection.text(projection.judge(Call(name), dial))
                assert text.reason.startswith("made mode ")
                assert "{" not in text.reason


def test_a_host_tells_what_it_cannot_hold() -> None:
    """S003-26: each thing that a host does not enforce is listed as advisory."""
    assert Host("all", sandbox="bubblewrap").advisory == ()
    assert Host("gateway", observes_contract=False).advisory == ("sandbox mounts", "contract")
