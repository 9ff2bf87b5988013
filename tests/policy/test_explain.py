from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.harness.engine import Engine
from remit.policy.compile import compile_profile
from remit.policy.explain import explain
from remit.policy.gate import Setting
from remit.policy.profile import Profile
from remit.policy.projection import Host, Projection
from remit.policy.tools import Call, CallEffects, Catalog
from remit.policy.vocabulary import Dial, Layer, Verdict
from tests.policy import worlds

#: Mode, tool, dial, the lines that decided, and what the flip says.
CASES = [
    ("plan", "git_add", Dial.ASK, ["built-in/read-only.toml:9:11"], "take `worktree.write` out of"),
    ("chat", "git_add", Dial.ASK, [""], "set `worktree.write` to allow in this space"),
    ("chat", "git_commit", Dial.ASK, ["", ""], "set `worktree.write` and `git.commit` to allow"),
    ("chat", "git_add", Dial.AUTO, [""], "set `worktree.write` to ask in this space"),
    ("chat", "git_add", Dial.PROPOSE, [""], "turn the dial to `ask`"),
    ("chat", "git_status", Dial.ASK, [], "name `mcp-git:git_status` in a `deny`"),
    ("plan", "submit_plan", Dial.ASK, ["built-in/plan.toml:11:1"], ""),
    ("plan", "nope", Dial.ASK, [], ""),
]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine.load()


class TestBuiltIn:
    @pytest.mark.parametrize(("mode", "tool", "dial", "lines", "flip"), CASES)
    def test_names_the_line_and_a_flip(
        self, engine: Engine, mode: str, tool: str, dial: Dial, lines: list[str], flip: str
    ) -> None:
        """A verdict is traced to the lines that decided it, and a change that would flip it."""
        catalog = engine.with_natives(engine.catalogs(["mcp-git"]))
        projection = engine.project(engine.profile(mode), catalog, Host("test"))

        found = explain(projection, projection.judge(Call(tool), dial), dial)

        assert [str(f.where) for f in found.decided] == lines
        assert found.flip.startswith(flip)
        assert bool(found.flip) == bool(flip)

    def test_shadowed_rules_are_listed(self, engine: Engine) -> None:
        """What would have refused as well, had the first not, is told apart."""
        catalog = engine.with_natives(engine.catalogs(["mcp-git"]))
        projection = engine.project(engine.profile("plan"), catalog, Host("test"))

        found = explain(projection, projection.judge(Call("git_add")), Dial.ASK)

        assert any(f.name == "allow" and f.side == "plan" for f in found.shadowed)


class TestProperties:
    @given(worlds.catalogs(), worlds.profiles, worlds.found, worlds.settings, st.sampled_from(Dial))
    def test_every_verdict_is_traced_and_no_flip_is_wrong(
        self,
        catalog: Catalog,
        profile: Profile,
        found: CallEffects,
        settings: tuple[Setting, ...],
        dial: Dial,
    ) -> None:
        """Promise 9: a refusal names a declared fact, and a told flip does flip."""
        compiled = compile_profile(profile, catalog, settings)
        look = {worlds.CLASSIFIER: lambda call, tool, facts: found}
        projection = Projection(compiled, Host("test"), {}, look)
        for tool in catalog.tools:
            judged = projection.judge(Call(tool.key), dial)
            told = explain(projection, judged, dial)
            if judged.decision.layer in (Layer.FILTER, Layer.GUARD):
                assert told.decided
            if judged.decision.verdict is Verdict.ASK:
                assert told.flip
            assert told.becomes is not judged.decision.verdict
