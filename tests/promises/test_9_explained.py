"""Promise 9: every verdict, and every absence from the list, is traced to the line that caused it.

That a flip which is told does flip is held in `tests/policy/test_explain.py` too.
"""

from __future__ import annotations

import pytest
from attrs import evolve

from remit.policy.ceiling import Ceiling
from remit.policy.decision import Cause, Decision, render
from remit.policy.explain import explain
from remit.policy.profile import Profile, Side
from remit.policy.projection import Projection
from remit.policy.tools import Call, CallEffects, Catalog, Tool
from remit.policy.vocabulary import Dial, Layer, Verdict
from remit.profiles.ceilings import parse_overlay
from remit.profiles.library import Library
from remit.profiles.source import Source
from tests.promises.modes import HOSTS, Case, built_in, engine, projected, worlds
from tests.reference.worlds import LOOK

#: Each key of a ceiling, and the line of the file below that states it.
LINES = {
    "tier": 'tier = "read"',
    "posture": 'posture = "read-only"',
    "refuse": 'refuse = ["git.*"]',
    "unknown": 'unknown = "refuse"',
    "allow": 'allow = ["git_log"]',
    "deny": 'deny = ["git_*"]',
    "limit": 'limit."worktree.write" = ["docs/**"]',
}
CATALOGS = ("mcp-git", "mcp-fetch", "mcp-filesystem")

_CASES = {c.name: c for c in (*built_in(), *(case for _, case in worlds(40, seed=91)))}


@pytest.fixture(params=sorted(_CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return _CASES[request.param]


class TestWords:
    def test_every_decision_says_mode_tool_and_cause(self, case: Case) -> None:
        """S001-11: each verdict is one sentence in which mode and tool are named, and no more."""
        names = [t.key for t in case.compiled.catalog.tools] + ["nope", "git.push"]
        for name in names:
            for dial in Dial:
                judged = case.projection.judge(Call(name), dial)
                text = case.projection.text(judged)
                assert text.reason.startswith(f"{case.projection.mode} mode ")
                assert f"`{name.removeprefix('remit:')}`" in text.reason
                assert not set("{}\n") & set(text.reason)
                assert "  " not in text.reason
                assert not text.reason.endswith((".", " ", ":"))
                assert text.reason.count("`") % 2 == 0
                for mode in engine().library.names():
                    assert f"switch to {mode}" not in text.hint

    def test_every_cause_has_words_of_its_own(self) -> None:
        """Two causes never read the same."""
        said = {c: _sentence(c) for c in Cause if c not in (Cause.PLUGIN, Cause.INPUT)}
        assert len(set(said.values())) == len(said)


def _sentence(cause: Cause) -> str:
    return render(Decision(Verdict.DENY, Layer.GUARD, cause, ("x",)), "m", "t").reason


class TestFacts:
    @pytest.mark.parametrize("dial", list(Dial))
    def test_every_refusal_names_what_was_declared(self, case: Case, dial: Dial) -> None:
        """Filter and guard refuse for a fact of a side of the mode, or a word of remit's own."""
        sides = {*case.profile.chain, case.profile.name, "remit"}
        for tool in case.compiled.catalog.tools:
            told = explain(case.projection, case.projection.judge(Call(tool.key), dial), dial)
            if told.judgement.decision.layer in (Layer.FILTER, Layer.GUARD):
                assert told.decided, tool
                assert {fact.side for fact in told.decided} <= sides
                assert all(fact.what for fact in (*told.decided, *told.shadowed))

    def test_every_absence_from_the_list_is_told(self, case: Case) -> None:
        """Each tool that is not shown is hidden for a fact, and a verb for the brief in force."""
        for tool, _ in case.projection.hidden:
            told = explain(case.projection, case.projection.judge(Call(tool.key)), Dial.ASK)
            assert told.decided
            if tool.native:
                assert told.decided[0].name == "verbs"

    def test_a_question_has_a_flip_and_a_flip_flips(self, case: Case) -> None:
        """Every ask tells one change that makes it an allow, and no told flip changes nothing."""
        for tool in case.compiled.catalog.tools:
            for dial in Dial:
                judged = case.projection.judge(Call(tool.key), dial)
                told = explain(case.projection, judged, dial)
                if judged.decision.verdict is Verdict.ASK:
                    assert told.flip
                assert told.becomes is not judged.decision.verdict

    def test_dropping_what_decided_changes_the_decision(self) -> None:
        """The fact that is named is the one: without it the decision is another."""
        tried = 0
        for world, case in worlds(240, seed=92):
            for tool in world.tools:
                judged = case.projection.judge(Call(tool.key), Dial.ASK)
                told = explain(case.projection, judged, Dial.ASK)
                names = {(f.side, f.name) for f in told.decided if f.name.startswith("deny.")}
                if judged.decision.cause is not Cause.DENIED or not names:
                    continue
                tried += 1
                sides = tuple(
                    Side(s.name, _without(s.ceiling, {n for side, n in names if side == s.name}))
                    for s in world.sides
                )
                other = projected(evolve(world, sides=sides)).judge(Call(tool.key), Dial.ASK)
                assert other.decision.cause is not Cause.DENIED
        assert tried > 20


def _without(ceiling: Ceiling, names: set[str]) -> Ceiling:
    return evolve(ceiling, deny=ceiling.deny - {n.removeprefix("deny.") for n in names})


class TestLines:
    @pytest.mark.parametrize("key", LINES)
    def test_a_refusal_points_to_its_line(self, key: str) -> None:
        """What a file refuses is traced to that file and the line that says so."""
        text = f'name = "mine"\n# why\n[ceiling]\n\n{LINES[key]}\n'
        profile = Library.load([Source(text, "mine.toml")]).get("mine")
        judged = 0
        for tool, projection in _over(profile):
            told = explain(projection, projection.judge(Call(tool.key)), Dial.ASK)
            for fact in told.decided:
                if fact.side == "mine" and fact.verdict is Verdict.DENY and not tool.native:
                    judged += 1
                    assert (fact.where.file, fact.where.line) == ("mine.toml", 5)
        assert judged

    @pytest.mark.parametrize("key", LINES)
    def test_an_overlays_line_is_told_as_its_own(self, key: str) -> None:
        """Which side of a meet removed a tool is told by name and line."""
        overlay = parse_overlay(Source(f"[ceiling]\n\n\n{LINES[key]}\n", "over.toml"))
        profile = engine().profile("chat").under(overlay)
        found = [
            fact
            for tool, projection in _over(profile)
            for fact in explain(projection, projection.judge(Call(tool.key)), Dial.ASK).decided
            if fact.verdict is Verdict.DENY and not tool.native
        ]
        assert found
        assert {(f.side, f.where.file, f.where.line) for f in found} == {
            ("overlay", "over.toml", 4)
        }

    @pytest.mark.parametrize("mode", [n for n in engine().library.names() if n != "chat"])
    def test_of_a_built_in_mode(self, mode: str) -> None:
        """What a built-in mode hides is traced to a line of a file that remit ships."""
        for tool, projection in _over(engine().profile(mode)):
            if not projection.compiled.admits(tool.key):
                told = explain(projection, projection.judge(Call(tool.key)), Dial.ASK)
                assert all(
                    f.where.line and f.where.file.endswith((".toml", ".md")) for f in told.decided
                )


def _over(profile: Profile) -> list[tuple[Tool, Projection]]:
    mystery = Catalog([Tool("acme", "mystery", declared=False)])
    tools = engine().with_natives(Catalog.union(engine().catalogs(CATALOGS), mystery))
    projection = engine().project(profile, tools, HOSTS[0])
    return [(tool, projection) for tool in tools.tools]


def test_what_was_seen_of_a_call_is_told() -> None:
    """A refusal by the guard names the effect that was found, not all that the tool may do."""
    for world, case in worlds(40, seed=93):
        for tool in world.tools:
            if case.compiled.catalog.shape(tool).classify is None:
                continue
            found = CallEffects(sorted(tool.effects)[:1])
            projection = Projection(case.compiled, HOSTS[0], {}, {LOOK: lambda *_, f=found: f})
            judged = projection.judge(Call(tool.key), Dial.ASK)
            if judged.decision.layer is Layer.GUARD and judged.decision.cause is Cause.REFUSED:
                assert set(judged.decision.detail) <= found.effects
