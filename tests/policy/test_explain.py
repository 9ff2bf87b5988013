from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.harness.engine import Engine
from remit.policy.ceiling import Ceiling
from remit.policy.compile import compile_profile
from remit.policy.decision import Cause
from remit.policy.explain import Explanation, explain
from remit.policy.gate import Setting
from remit.policy.profile import Profile, Side
from remit.policy.projection import Guard, Host, Projection
from remit.policy.tools import Call, CallEffects, Catalog, Facts, Tool
from remit.policy.vocabulary import Dial, Tier, Unknown, Verdict
from tests.policy import worlds

GIT = "built-in/mcp-git.toml"
#: Mode, tool, dial, the files whose lines decided, and what the flip says.
CASES = [
    ("plan", "git_add", Dial.ASK, ["built-in/read-only.toml:9:11"],
     "take `worktree.write` out of `refuse` of `read-only` (built-in/read-only.toml:9:11) and add "
     "`mcp-git:git_add` to `allow` of `plan` (built-in/plan.toml:8:1), and it becomes ask"),
    ("chat", "git_add", Dial.ASK, [GIT], "set `worktree.write` to allow in this space"),
    ("chat", "git_commit", Dial.ASK, [GIT, GIT], "set `worktree.write` and `git.commit` to allow"),
    ("chat", "git_add", Dial.AUTO, [GIT], "set `worktree.write` to ask in this space"),
    ("chat", "git_add", Dial.PROPOSE, [GIT], "turn the dial to `ask`"),
    ("chat", "git_status", Dial.ASK, [GIT], "name `mcp-git:git_status` in a `deny`"),
    ("plan", "submit_plan", Dial.ASK, ["built-in/plan.toml:11:1"],
     "take `submit_plan` out of `verbs` in the brief of `plan`, and it becomes deny"),
    ("plan", "exit_plan_mode", Dial.ASK, ["built-in/plan.toml:14:1"], "take `exit_plan_mode` out"),
    ("plan", "nothing_to_deliver", Dial.ASK, ["built-in/plan.toml:12:1"],
     "say `required = false` in the brief of `plan`"),
    ("plan", "ask_user", Dial.ASK, [""], ""),
    ("review", "submit_plan", Dial.ASK, ["built-in/review.toml"], "name `submit_plan` under"),
    ("plan", "nope", Dial.ASK, [], ""),
]  # fmt: skip


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

        assert len(found.decided) == len(lines)
        for fact, line in zip(found.decided, lines, strict=True):
            assert str(fact.where).startswith(line)
            assert bool(fact.where.line) == bool(line)
        assert found.flip.startswith(flip)
        assert bool(found.flip) == bool(flip)

    def test_shadowed_rules_are_listed(self, engine: Engine) -> None:
        """What would have refused as well, had the first not, is told apart."""
        catalog = engine.with_natives(engine.catalogs(["mcp-git"]))
        projection = engine.project(engine.profile("plan"), catalog, Host("test"))

        found = explain(projection, projection.judge(Call("git_add")), Dial.ASK)

        assert any(f.name == "allow" and f.side == "plan" for f in found.shadowed)


NOTHING = CallEffects()
OPEN = Tool("acme", "sync", Tier.WRITE, {"vendor.write"})
READ = Tool("acme", "read", Tier.READ)
MYSTERY = Tool("acme", "mystery", declared=False)
BARE = Tool("acme", "bare", Tier.WRITE)
LOOKED = Tool("acme", "look", Tier.READ, {"git.push", "worktree.write"}, classify="look")
MADE = Catalog((OPEN, READ, MYSTERY, BARE, LOOKED), {"look"})


def told(
    tool: Tool,
    *sides: Side,
    dial: Dial = Dial.ASK,
    settings: tuple[Setting, ...] = (),
    seen: CallEffects | None = None,
    guards: dict[str, Guard] | None = None,
    askable: bool = True,
    found: CallEffects | Exception = NOTHING,
) -> Explanation:
    def look(call: Call, tool: Tool, facts: Facts) -> CallEffects:
        if isinstance(found, Exception):
            raise found
        return found

    profile = Profile("made", sides=(Side("made"), *sides))
    compiled = compile_profile(profile, MADE, settings, askable=askable)
    projection = Projection(compiled, Host("test"), {}, {"look": look}, guards or {})
    return explain(projection, projection.judge(Call(tool.key), dial, seen=seen), dial, seen=seen)


def names(explanation: Explanation) -> list[tuple[str, str]]:
    return [(f.side, f.name) for f in explanation.decided]


class TestSides:
    def test_every_side_of_a_meet_that_removes_a_tool_is_named(self) -> None:
        """Parent, overlay and a child's parent each say what they refuse; no other does."""
        refuse = Ceiling(refuse={"vendor.write"})
        sides = [Side("overlay", refuse), Side("child of plan", refuse), Side("other")]

        assert names(told(OPEN, *sides)) == [
            ("overlay", "refuse.vendor.write"),
            ("child of plan", "refuse.vendor.write"),
        ]
        assert told(OPEN, *sides).flip == (
            "take `vendor.write` out of `refuse` of `overlay` and take `vendor.write` out of "
            "`refuse` of `child of plan`, and it becomes ask"
        )

    @pytest.mark.parametrize(
        ("ceiling", "name", "flip"),
        [
            (Ceiling(tier=Tier.READ), "tier", "raise `tier` of `s` to `write`"),
            (Ceiling(deny={"acme:*"}), "deny.acme:*", "take `acme:*` out of `deny` of `s`"),
            (Ceiling(allow=frozenset({frozenset({"read"})})), "allow",
             "add `acme:sync` to `allow` of `s`"),
            (Ceiling(limit={"vendor.write": frozenset({frozenset({"x"})})}), "limit.vendor.write",
             "take `vendor.write` out of `limit` of `s`"),
        ],
    )  # fmt: skip
    def test_each_key(self, ceiling: Ceiling, name: str, flip: str) -> None:
        """Each key of a ceiling is a fact of its own with a change of its own."""
        found = told(OPEN, Side("s", ceiling))

        assert names(found) == [("s", name)]
        assert found.flip == f"{flip}, and it becomes ask"

    def test_all_at_once_where_no_few_do(self) -> None:
        """However many facts refuse a call, dropping them is one change that is tried and told."""
        effects = [f"x.{i}" for i in range(9)]
        tool = Tool("acme", "all", Tier.READ, effects)
        profile = Profile("made", sides=(Side("s", Ceiling(refuse=effects)),))
        projection = Projection(compile_profile(profile, Catalog([tool])), Host("test"), {})

        found = explain(projection, projection.judge(Call("all")), Dial.ASK)

        assert found.becomes is Verdict.ASK
        assert "`x.0`, `x.1`" in found.flip


class TestOthers:
    def test_what_nobody_declared(self) -> None:
        """An undeclared tool is hidden or asks because nobody declared it; declaring it flips."""
        closed = told(MYSTERY, Side("s", Ceiling(unknown=Unknown.REFUSE)))
        open = told(MYSTERY, dial=Dial.AUTO)

        assert names(closed) == [("s", "unknown")]
        assert names(open) == [("catalogue acme", "undeclared")]
        for found in (closed, open):
            assert found.flip == (
                "declare in a catalogue that `acme:mystery` only reads, and it becomes allow"
            )

    def test_a_write_tool_without_effects(self) -> None:
        """A tool that can write and declares no effect asks for that."""
        found = told(BARE, dial=Dial.AUTO)

        assert names(found) == [("catalogue acme", "no-effects")]
        assert found.becomes is Verdict.ALLOW

    def test_a_setting_of_the_space(self) -> None:
        """An operator's setting is named with its target; one of another target is no fact."""
        settings = (
            Setting("vendor.write", Verdict.DENY, "crm"),
            Setting("vendor.write", Verdict.ALLOW, "erp"),
        )
        seen = CallEffects({"vendor.write"}, {"vendor.write": ("crm",)})
        found = told(OPEN, dial=Dial.AUTO, settings=settings, seen=seen)

        assert [(f.side, f.what) for f in found.decided] == [
            ("space", "the operator set `vendor.write` on `crm` to deny")
        ]
        assert not any("erp" in f.what for f in found.shadowed)
        assert found.flip.startswith("set `vendor.write` to allow in this space")

    def test_nobody_to_ask(self) -> None:
        """Where nobody can be asked, both that and what asks are told."""
        found = told(OPEN, askable=False)

        assert found.judgement.decision.cause is Cause.NOBODY
        assert names(found) == [("dial", "effect.vendor.write"), ("host", "nobody")]
        assert found.becomes is Verdict.ALLOW

    def test_plugins(self) -> None:
        """Every guard that refuses is named, and a flip leaves all of them out."""
        guards: dict[str, Guard] = {
            "a": lambda *_: None, "b": lambda *_: "not today", "c": lambda *_: "nor tomorrow",
        }  # fmt: skip
        found = told(READ, guards=guards)

        assert names(found) == [("plugin b", "plugin.b")]
        assert ("plugin c", "plugin.c") in [(f.side, f.name) for f in found.shadowed]
        assert found.flip == (
            "leave out the plugin `b` and leave out the plugin `c`, and it becomes allow"
        )

    def test_a_plugin_stands_in_the_way_of_a_flip(self) -> None:
        """A change of the profile alone is not told where a guard refuses the call anyway."""
        guards: dict[str, Guard] = {"b": lambda *_: "not today"}
        found = told(OPEN, Side("s", Ceiling(refuse={"vendor.write"})), guards=guards)

        assert found.becomes in (None, Verdict.ASK)
        assert "take `vendor.write` out of `refuse` of `s`, and" not in found.flip

    def test_a_classifier_that_fails(self) -> None:
        """It is named as what refused."""
        found = told(LOOKED, found=ValueError("odd"))

        assert [(f.side, f.what) for f in found.decided] == [
            ("classifier look", "classifier `look` failed with ValueError: odd")
        ]

    def test_a_protected_path(self) -> None:
        """No change of a declaration lets a call through that touches what is protected."""
        found = told(READ, seen=CallEffects(protected=("/etc/remit.toml",)))

        assert names(found) == [("remit", "protected./etc/remit.toml")]
        assert (found.flip, found.becomes) == ("", None)

    def test_what_was_seen_of_the_call_decides_what_a_flip_gives(self) -> None:
        """A tool that comes back is judged by its classifier, not by the worst that it can do."""
        found = told(LOOKED, Side("s", Ceiling(deny={"look"})), found=CallEffects())

        assert found.becomes is Verdict.ALLOW


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
        """Promise 9: a verdict names declared facts, and has a flip that does flip it."""
        compiled = compile_profile(profile, catalog, settings)
        look = {worlds.CLASSIFIER: lambda call, tool, facts: found}
        projection = Projection(compiled, Host("test"), {}, look)
        for tool in catalog.tools:
            judged = projection.judge(Call(tool.key), dial)
            told = explain(projection, judged, dial)
            assert told.decided
            held = bool(found.protected) or told.decided[0].kind == "always"
            verbs = tool.native and judged.decision.cause is Cause.OTHER_VERB
            if not held and not verbs:
                assert told.flip
            assert told.becomes is not judged.decision.verdict
