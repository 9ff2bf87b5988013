from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.ceiling import Ceiling
from remit.policy.compile import compile_profile
from remit.policy.decision import Cause
from remit.policy.gate import Setting
from remit.policy.profile import Brief, Profile, Side
from remit.policy.selectors import admits_nothing, admits_targets
from remit.policy.tools import CallEffects, Catalog, Tool
from remit.policy.vocabulary import Dial, Layer, Tier, Unknown, Verdict, world_changing
from tests.policy import worlds

PATTERNS = (
    "docs/**", "docs/*", "docs/a", "src/**", "**/a", "?ocs/in/*", "**", "*",
    "!docs/**", "!docs/a", "!**", "!**/a", "!docs/*", "!s?c/**",
)  # fmt: skip

READ = Tool("git", "log", Tier.READ, groups={"git"})
COMMIT = Tool("git", "commit", Tier.WRITE, {"worktree.write", "git.commit"}, {"git"})
SHELL = Tool("sh", "run", Tier.EXECUTE, {"worktree.write", "process.spawn"}, classify="look")
MYSTERY = Tool("acme", "mystery", declared=False)
CATALOG = Catalog((READ, COMMIT, SHELL, MYSTERY, *worlds.NATIVES), {"look"})
PLAN = Brief(("remit:submit_plan",), True, "plan", exit="remit:exit_plan_mode")


def _profile(brief: Brief | None = None, **ceiling: Any) -> Profile:
    return Profile("made", sides=(Side("made", Ceiling(**ceiling)),), brief=brief)


READ_ONLY: dict[str, Any] = {"refuse": world_changing(), "unknown": Unknown.REFUSE}

#: What is declared, the tool, and the layer and cause that decide a call of it at dial ask.
ORDER: list[tuple[str, dict[str, Any], str, Layer, Cause]] = [
    ("pin over all", {"tier": Tier.READ, "deny": {"*"}}, "submit_plan", Layer.PIN, Cause.PINNED),
    ("other verb", {}, "submit_plan", Layer.FILTER, Cause.OTHER_VERB),
    ("unknown tool", {}, "nope", Layer.FILTER, Cause.UNKNOWN_TOOL),
    ("denied before tier", {"deny": {"c*"}, "tier": Tier.READ}, "commit",
     Layer.FILTER, Cause.DENIED),
    ("tier before allow", {"allow": {frozenset({"log"})}, "tier": Tier.READ}, "commit",
     Layer.FILTER, Cause.TIER),
    ("effects before allow", {"allow": {frozenset({"log"})}, **READ_ONLY}, "commit",
     Layer.FILTER, Cause.REFUSED),
    ("not admitted", {"allow": {frozenset({"log"})}}, "commit",
     Layer.FILTER, Cause.NOT_ADMITTED),
    ("empty list admits nothing", {"allow": {frozenset()}}, "log",
     Layer.FILTER, Cause.NOT_ADMITTED),
    ("every list must admit", {"allow": {frozenset({"log"}), frozenset({"c*"})}}, "log",
     Layer.FILTER, Cause.NOT_ADMITTED),
    ("undeclared", {"unknown": Unknown.REFUSE}, "mystery", Layer.FILTER, Cause.UNDECLARED),
    ("certainly refused", READ_ONLY, "commit", Layer.FILTER, Cause.REFUSED),
    ("limited without classifier", {"limit": {"git.commit": frozenset({frozenset({"**"})})}},
     "commit", Layer.FILTER, Cause.LIMIT),
    ("guard of a classified tool", READ_ONLY, "run", Layer.GUARD, Cause.REFUSED),
    ("gate", {}, "commit", Layer.GATE, Cause.EFFECT),
    ("harmless", {}, "log", Layer.GATE, Cause.HARMLESS),
]  # fmt: skip


class TestOrder:
    @pytest.mark.parametrize(
        ("what", "ceiling", "tool", "layer", "cause"), ORDER, ids=[o[0] for o in ORDER]
    )
    def test_first_that_decides_wins(
        self, what: str, ceiling: dict[str, Any], tool: str, layer: Layer, cause: Cause
    ) -> None:
        """The layers speak in the order pin, filter, guard, gate, and the filter in its own."""
        brief = PLAN if what == "pin over all" else None

        decision = compile_profile(_profile(brief, **ceiling), CATALOG).decide(tool, Dial.ASK)

        assert (decision.layer, decision.cause) == (layer, cause)

    def test_spawn_is_the_unknown(self) -> None:
        """A tool declared to spawn is hidden where the unknown is refused, though spawn is not."""
        catalog = Catalog([Tool("sh", "run", Tier.EXECUTE, {"process.spawn"})])

        compiled = compile_profile(_profile(unknown=Unknown.REFUSE), catalog)

        assert compiled.decide("run", Dial.AUTO).cause is Cause.UNREAD
        assert compiled.surface == ()

    def test_a_classifier_that_nobody_brings(self) -> None:
        """A tool whose classifier is unknown is undeclared: hidden or always asking."""
        catalog = Catalog([SHELL])

        assert compile_profile(_profile(**READ_ONLY), catalog).surface == ()
        assert compile_profile(_profile(), catalog).decide("run", Dial.AUTO).verdict is Verdict.ASK


class TestClassified:
    def test_is_judged_by_what_was_found(self) -> None:
        """A tool with a classifier passes with a harmless call and not with another."""
        compiled = compile_profile(_profile(**READ_ONLY), CATALOG)

        assert compiled.decide("run", Dial.ASK, CallEffects()).verdict is Verdict.ALLOW
        writes = compiled.decide("run", Dial.ASK, CallEffects({"worktree.write"}))
        assert (writes.layer, writes.detail) == (Layer.GUARD, ("worktree.write",))

    @pytest.mark.parametrize(
        "found",
        [
            CallEffects(opaque=True),
            CallEffects({"network.egress"}),
            CallEffects({"process.spawn"}),
        ],
        ids=["opaque", "beyond the declared bound", "spawn"],
    )
    def test_what_is_not_understood_is_refused(self, found: CallEffects) -> None:
        """Where the unknown is refused, a call that was not understood is."""
        compiled = compile_profile(_profile(unknown=Unknown.REFUSE), CATALOG)

        assert compiled.decide("run", Dial.AUTO, found).cause is Cause.UNREAD

    def test_protected_paths_are_refused_everywhere(self) -> None:
        """A protected path is refused in the widest mode, under every dial."""
        compiled = compile_profile(_profile(), CATALOG)
        found = CallEffects(protected=(".git/hooks",))

        for dial in Dial:
            assert compiled.decide("log", dial, found).cause is Cause.PROTECTED

    @pytest.mark.parametrize(
        ("lists", "visible"),
        [
            ([["docs/**"], ["docs/*.md"]], True),
            ([["docs/**"], ["src/**"]], False),
            ([["docs/**"], ["src/**", "**/a"]], True),
            ([["docs/in/*", "!docs/**"]], False),
            ([["docs/**", "!docs/in/**"]], True),
            ([["docs/a"], ["!docs/a"]], False),
            ([["**"], ["a/**"], ["b/**", "!**"]], False),
            ([[]], False),
        ],
    )
    def test_limits_without_a_target_hide(self, lists: list[list[str]], visible: bool) -> None:
        """A tool that always has an effect for which plainly no target is left is not shown."""
        limit = {"worktree.write": frozenset(map(frozenset[str], lists))}
        tool = Tool("s", "edit", Tier.WRITE, {"worktree.write"}, (), "c", [["worktree.write"]])
        compiled = compile_profile(_profile(limit=limit), Catalog([tool], {"c"}))

        assert compiled.admits("edit") is visible

    @given(st.sets(st.frozensets(st.sampled_from(PATTERNS), min_size=1), min_size=1, max_size=3))
    def test_what_has_a_target_is_not_given_up(self, lists: set[frozenset[str]]) -> None:
        """No limits are taken to leave nothing while a target is within all of them."""
        targets = ("docs/a", "docs/in/a", "src/a", "a", "docs/", "")
        reached = any(all(admits_targets(one, [t]) for one in lists) for t in targets)

        assert not (reached and admits_nothing(frozenset(lists)))

    @pytest.mark.parametrize(
        ("targets", "verdict"),
        [
            (("docs/a.md",), Verdict.ALLOW),
            (("docs/a.md", "src/a.py"), Verdict.DENY),
            (("docs/private/a.md",), Verdict.DENY),
            ((), Verdict.DENY),
        ],
    )
    def test_limits_admit_targets(self, targets: tuple[str, ...], verdict: Verdict) -> None:
        """A limited effect passes only if every target was seen and lies within."""
        limit = {"worktree.write": frozenset({frozenset({"docs/**", "!docs/private/**"})})}
        compiled = compile_profile(_profile(limit=limit), CATALOG)
        found = CallEffects({"worktree.write"}, {"worktree.write": targets})

        assert compiled.decide("run", Dial.ACCEPT_EDITS, found).verdict is verdict

    def test_least_sets_decide_what_is_hidden(self) -> None:
        """With least sets a tool is hidden when each of them meets a refused effect."""
        both_ways = {"worktree.write", "file.write_outside"}
        tool = Tool(
            "fs", "write", Tier.WRITE, both_ways, classify="look", least=[[e] for e in both_ways]
        )
        catalog = Catalog([tool], {"look"})

        one = compile_profile(_profile(refuse={"worktree.write"}), catalog)
        both = compile_profile(_profile(refuse=tool.effects), catalog)

        assert one.admits("write")
        assert not both.admits("write")


class TestNames:
    def test_a_name_of_two_tools_is_refused(self) -> None:
        """A bare name that two tools bear is refused and names both; their keys are judged."""
        catalog = Catalog([READ, Tool("hg", "log", Tier.READ)])
        compiled = compile_profile(_profile(), catalog)

        refused = compiled.decide("log", Dial.ASK)

        assert (refused.cause, refused.detail) == (Cause.AMBIGUOUS, ("git:log", "hg:log"))
        assert compiled.decide("hg:log", Dial.ASK).verdict is Verdict.ALLOW

    def test_a_foreign_tool_does_not_get_a_pin(self) -> None:
        """A pin holds by source and name: a server's own `ask_user` is judged like any tool."""
        catalog = Catalog([Tool("acme", "ask_user", Tier.EXECUTE, declared=False)])
        compiled = compile_profile(_profile(PLAN), catalog)

        assert compiled.decide("acme:ask_user", Dial.AUTO).verdict is Verdict.ASK

    @pytest.mark.parametrize("tool", ["LOG", "log ", " log", "log\u200b", "", "git:", ":log"])
    def test_near_names_are_unknown(self, tool: str) -> None:
        """A name that is nearly a tool's is not that tool."""
        assert compile_profile(_profile(), CATALOG).decide(tool, Dial.AUTO).verdict is Verdict.DENY


class TestOrigin:
    """A catalogue's own source still counts where an operator bound it to another server name."""

    REPORT = Tool("desk", "report", Tier.WRITE, {"record.write"}, verb=True, origin="notes")
    BRIEF = Brief(("notes:report",), True, "report")

    def test_a_verb_is_pinned_under_the_servers_name(self) -> None:
        """S003-18: a verb delivers, whatever the operator calls the server that has it."""
        compiled = compile_profile(_profile(self.BRIEF, deny={"*"}), Catalog([self.REPORT]))

        assert compiled.decide("desk:report", Dial.PROPOSE).layer is Layer.PIN
        assert compiled.catalog.called("notes:report") == "report"

    @pytest.mark.parametrize("selector", ["desk:report", "notes:report", "notes:*", "desk:r*"])
    def test_either_source_is_denied(self, selector: str) -> None:
        """A deny entry holds for the server's name and for the catalogue's."""
        compiled = compile_profile(_profile(deny={selector}), Catalog([self.REPORT]))

        assert compiled.decide("desk:report", Dial.AUTO).cause is Cause.DENIED

    def test_a_verb_that_changed_is_no_pin(self) -> None:
        """A verb that nobody declares any more is judged like any other tool."""
        changed = Tool("desk", "report", declared=False, verb=True, origin="notes")
        compiled = compile_profile(_profile(self.BRIEF), Catalog([changed]))

        assert compiled.decide("desk:report", Dial.AUTO).verdict is Verdict.ASK


class TestProperties:
    @given(worlds.catalogs(), worlds.profiles, worlds.found)
    def test_visible_is_callable_and_hidden_is_refused(
        self, catalog: Catalog, profile: Profile, found: CallEffects
    ) -> None:
        """S003-24: every visible tool has a call that is not refused; no hidden tool has one."""
        compiled = compile_profile(profile, catalog)
        for tool, visible in zip(catalog.tools, compiled.visible, strict=True):
            if visible:
                least = [CallEffects(e) for e in tool.least] or [CallEffects()]
                calls = least if tool.classify else [None]
                inside = {
                    effect: tuple(_inside(compiled.profile.ceiling, effect))
                    for effect in compiled.profile.ceiling.limit
                }
                verdicts = [
                    compiled.decide(
                        tool.key, Dial.AUTO, call and CallEffects(call.effects, inside)
                    ).verdict
                    for call in calls
                ]
                impossible = any(not targets for targets in inside.values())
                assert impossible or min(verdicts) is not Verdict.DENY
            else:
                for dial in Dial:
                    assert compiled.decide(tool.key, dial).verdict is Verdict.DENY
                    assert compiled.decide(tool.key, dial, found).verdict is Verdict.DENY

    @given(worlds.catalogs(), worlds.profiles, worlds.found, worlds.settings)
    def test_pins_pass_everything(
        self,
        catalog: Catalog,
        profile: Profile,
        found: CallEffects,
        settings: tuple[Setting, ...],
    ) -> None:
        """S003-18, S003-19: a mode's own verbs pass under every dial, setting and finding."""
        compiled = compile_profile(profile, catalog, settings, askable=False)
        for key in profile.pins:
            assert compiled.admits(key)
            for dial in Dial:
                for seen in (None, found):
                    assert compiled.decide(key, dial, seen).verdict is Verdict.ALLOW

    @given(worlds.catalogs(), worlds.profiles, worlds.found)
    def test_a_found_effect_never_helps_a_plain_tool(
        self, catalog: Catalog, profile: Profile, found: CallEffects
    ) -> None:
        """Without a classifier, whatever is found of a call can only make it stricter."""
        compiled = compile_profile(profile, catalog)
        for tool in catalog.tools:
            if tool.classify is None:
                for dial in Dial:
                    plain = compiled.decide(tool.key, dial).verdict
                    assert compiled.decide(tool.key, dial, found).verdict >= plain

    @given(worlds.catalogs(), worlds.profiles, worlds.found, worlds.settings)
    def test_the_order_of_tools_is_nothing(
        self,
        catalog: Catalog,
        profile: Profile,
        found: CallEffects,
        settings: tuple[Setting, ...],
    ) -> None:
        """Tools, sides and settings in any order give the same decisions."""
        turned = Catalog(tuple(reversed(catalog.tools)), catalog.classifiers)
        mirrored = Profile("made", sides=tuple(reversed(profile.sides)), brief=profile.brief)
        a = compile_profile(profile, catalog, settings)
        b = compile_profile(mirrored, turned, tuple(reversed(settings)))
        for tool in catalog.tools:
            for dial in Dial:
                assert a.decide(tool.key, dial, found) == b.decide(tool.key, dial, found)

    @given(worlds.catalogs(), worlds.profiles)
    def test_equal_inputs_give_equal_hashes(self, catalog: Catalog, profile: Profile) -> None:
        """Compiling twice gives the same hash and rows."""
        again = Catalog(catalog.tools, catalog.classifiers)
        a, b = (compile_profile(profile, c) for c in (catalog, again))

        assert (a.hash, a.rows, a.table) == (b.hash, b.rows, b.table)


def _inside(ceiling: Ceiling, effect: str) -> list[str]:
    from remit.policy.selectors import admits_targets

    targets = ["docs/a.md", "docs/private/k", "src/a.py", "README.md"]
    return [t for t in targets if all(admits_targets(p, [t]) for p in ceiling.limit[effect])][:1]


def test_more_shapes_than_a_byte_holds() -> None:
    """A catalogue of over 256 shapes is compiled alike, only wider."""
    effects = sorted(world_changing())
    tools = [
        Tool("s", f"t{i}", Tier.WRITE, {e for b, e in enumerate(effects) if i >> b & 1})
        for i in range(400)
    ]
    compiled = compile_profile(_profile(refuse={effects[0]}), Catalog(tools))

    assert [compiled.decide(t.name, Dial.AUTO).verdict is Verdict.DENY for t in tools[1:]] == [
        effects[0] in t.effects for t in tools[1:]
    ]
