"""Promise 7: nothing widens by accident.

No typo, missing file, crash, unknown name, empty list, duplicate key, environment variable or
failed plugin yields more power than the declaration says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from remit.harness.engine import Engine
from remit.plugins.hookspecs import hookimpl
from remit.plugins.registry import PluginError, load_plugins
from remit.policy.ceiling import TOP, Ceiling
from remit.policy.compile import compile_profile
from remit.policy.decision import Cause
from remit.policy.gate import Setting
from remit.policy.problems import InputError, RemitError
from remit.policy.profile import Brief, Profile, Side
from remit.policy.projection import Projection
from remit.policy.tools import Call, CallEffects, Catalog, Tool
from remit.policy.vocabulary import EFFECTS, Dial, Layer, Tier, Verdict
from remit.profiles.library import Library
from remit.profiles.source import Source
from tests.promises.modes import HOSTS, built_in, engine, findings, projected, worlds
from tests.reference.worlds import LOOK

#: A profile with every key that narrows, each of whose words is one that remit has to know.
PROFILE = """name = "mine"
label = "Mine"
extends = "read-only"
intent = "Look."
selectable = true

[ceiling]
tier = "write"
posture = "read-only"
refuse = ["network.egress"]
unknown = "refuse"
allow = ["tier:read", "group:git"]
deny = ["git_log"]

[ceiling.limit]
"secret.read" = ["docs/**"]

[brief]
verbs = ["submit_plan"]
required = true
noun = "plan"
exit = "exit_plan_mode"
exit_to = "chat"
children = ["read-only"]
missed = ["write_file"]
announce = "every-turn"
guidance = "Look."
"""
#: The values that are words of remit's own; others are the author's to choose.
WORDS = (
    "read-only", "write", "network.egress", "refuse", "tier:read", "secret.read", "submit_plan",
    "exit_plan_mode", "every-turn",
)  # fmt: skip


def _load(text: str) -> Library:
    return Library.load([Source(text, "mine.toml")])


def _usable(text: str) -> bool:
    return _load(text).entry("mine").profile is not None


def _typos(word: str) -> Iterator[str]:
    for i in range(len(word)):
        yield word[:i] + word[i + 1 :]
        yield word[:i] + word[i] + word[i:]
        yield word[:i] + word[i].swapcase() + word[i + 1 :]
    yield f"{word} "


def test_the_profile_is_right_as_it_stands() -> None:
    """What the typos are made in is available."""
    assert _usable(PROFILE)


@pytest.mark.parametrize("key", re.findall(r'^"?([\w.]+)"? =', PROFILE, re.MULTILINE)[1:])
def test_a_typo_in_a_key(key: str) -> None:
    """A profile with a misspelled key is unavailable: the key is never passed over."""
    spelled = re.compile(rf'^("?){re.escape(key)}("? =)', re.MULTILINE)
    for typo in _typos(key):
        if typo != key and typo.strip() != key:
            assert not _usable(spelled.sub(rf"\g<1>{typo}\g<2>", PROFILE)), typo


@pytest.mark.parametrize("table", ["ceiling", "ceiling.limit", "brief"])
def test_a_typo_in_a_table(table: str) -> None:
    """A profile with a misspelled table is unavailable."""
    for typo in _typos(table):
        if typo.strip() != table and typo.replace("..", ".") != table:
            assert not _usable(PROFILE.replace(f"[{table}]", f"[{typo}]")), typo


@pytest.mark.parametrize("word", WORDS)
def test_a_typo_in_a_word(word: str) -> None:
    """A profile with a misspelled tier, effect, parent or verb is unavailable or no wider."""
    right = _load(PROFILE).get("mine").ceiling
    for typo in _typos(word):
        for at in [m.start() for m in re.finditer(rf'"{re.escape(word)}"', PROFILE)]:
            text = f'{PROFILE[:at]}"{typo}"{PROFILE[at + len(word) + 2 :]}'
            profile = _load(text).entry("mine").profile
            if profile is not None:
                kept = evolve(profile.ceiling, allow=right.allow)
                assert kept.narrower_or_equal(right), text


@pytest.mark.parametrize("line", [line for line in PROFILE.splitlines() if "=" in line])
def test_a_key_given_twice(line: str) -> None:
    """A profile that gives a key twice is unavailable: neither wins."""
    assert not _usable(PROFILE.replace(line, f"{line}\n{line}", 1))


@pytest.mark.parametrize("text", ["", "# nothing\n", "name = 3", "\x00", "name = ", "[ceiling]"])
def test_a_file_that_says_nothing(text: str) -> None:
    """A file that cannot be read, or is empty, gives no mode; nothing else takes its place."""
    library = _load(text)
    mine = [e for e in library.entries if e.source == "mine.toml"]

    assert all(e.profile is None for e in mine)
    assert library.problems


def test_an_empty_list_admits_nothing() -> None:
    """An empty allow-list admits nothing, and an empty list of refusals takes none back."""
    empty = _load('name = "mine"\nextends = "read-only"\n[ceiling]\nallow = []\nrefuse = []')
    profile = empty.get("mine")

    compiled = compile_profile(profile, engine().with_natives(engine().catalogs(["mcp-git"])))

    assert {t.key for t in compiled.surface} == set(profile.pins)
    assert profile.ceiling.refuse == engine().profile("read-only").ceiling.refuse


def test_a_missing_file(tmp_path: Path) -> None:
    """A missing profile is told and gives no mode; a missing catalogue stops the loading."""
    loaded = Engine.load(profiles=[tmp_path / "gone.toml"])
    assert [p.code for p in loaded.library.problems] == ["file-missing"]
    with pytest.raises(RemitError, match="unknown mode"):
        loaded.profile("gone")
    with pytest.raises(InputError):
        Engine.load(catalogs=[tmp_path / "gone.toml"])


def test_a_broken_parent() -> None:
    """A mode whose parent is broken is unavailable: it is never made of fewer sides."""
    library = Library.load(
        [
            Source('name = "mine"\nextends = "base"\n', "mine.toml"),
            Source('name = "base"\n[ceiling]\ntier = "raed"\n', "base.toml"),
        ]
    )
    assert library.entry("mine").profile is None


def test_a_stored_mode_that_is_gone() -> None:
    """A space in a mode that no longer resolves has no tools but those that every mode has."""
    profile = engine().in_force("gone")
    tools = engine().with_natives(engine().catalogs(engine().shipped))

    assert [t.name for t in engine().project(profile, tools, HOSTS[0]).tools] == [
        t.name for t in engine().natives.tools if t.name in ("mode", "ask_user")
    ]


@pytest.mark.parametrize("case", list(built_in()), ids=lambda case: case.name)
def test_a_name_that_is_nearly_a_tools(case: Any) -> None:
    """A name with another case, a space or an invisible letter is no tool's."""
    known = case.compiled.catalog.index
    for tool in case.compiled.catalog.tools:
        near = (f" {tool.name}", f"{tool.name}\u200b", tool.name.upper(), f":{tool.name}", "")
        for name in near:
            if name not in known:
                decision = case.compiled.decide(name, Dial.AUTO)
                assert decision.verdict is Verdict.DENY
                assert decision.layer is Layer.FILTER


class TestCalls:
    def test_seeing_less_never_helps(self) -> None:
        """A call of which less is seen, or more is feared, fares no better."""
        random = Random(7)
        for world, case in worlds(100, seed=41):
            decide = case.compiled.decide
            for tool in world.tools:
                for found in findings(random, tool, world):
                    for dial in Dial:
                        verdict = decide(tool.key, dial, found).verdict
                        for worse in _worse(found):
                            assert decide(tool.key, dial, worse).verdict >= verdict, worse

    def test_a_missing_classifier_never_helps(self) -> None:
        """Without its classifier a tool is hidden, refused or asked for: no call fares better."""
        random = Random(8)
        for world, case in worlds(100, seed=42):
            without = projected(evolve(world, classifiers=frozenset())).compiled
            for tool in world.tools:
                for dial in Dial:
                    blind = without.decide(tool.key, dial).verdict
                    assert blind >= case.compiled.decide(tool.key, dial).verdict
                    if case.compiled.catalog.shape(tool).classify is not None:
                        for found in findings(random, tool, world):
                            if found.effects <= tool.effects and not found.protected:
                                seen = case.compiled.decide(tool.key, dial, found)
                                assert blind >= seen.verdict or _by_target(seen.cause, found)

    def test_nobody_declared_it(self) -> None:
        """A tool that nobody declared is never allowed, under any dial and any setting."""
        settings = tuple(Setting(effect, Verdict.ALLOW) for effect in EFFECTS)
        for world, _ in worlds(60, seed=43):
            compiled = projected(evolve(world, settings=settings)).compiled
            for tool in world.tools:
                if not compiled.catalog.declared(tool):
                    for dial in Dial:
                        assert compiled.decide(tool.key, dial).verdict is not Verdict.ALLOW

    def test_a_target_that_is_not_seen(self) -> None:
        """A setting for one target is not escaped by hiding the target behind a wider one."""
        settings = (
            Setting("git.push", Verdict.ALLOW),
            Setting("git.push", Verdict.DENY, "origin main"),
        )
        catalog = Catalog([Tool("git", "push", Tier.WRITE, {"git.push"}, classify=LOOK)], {LOOK})
        compiled = compile_profile(Profile("made"), catalog, settings)

        def verdict(*targets: str) -> Verdict:
            found = CallEffects({"git.push"}, {"git.push": targets} if targets else {})
            return compiled.decide("push", Dial.ASK, found).verdict

        assert verdict("origin feature") is Verdict.ALLOW
        assert verdict("origin main") is Verdict.DENY
        assert verdict() is Verdict.DENY

    def test_a_spawn_is_opaque_whoever_declares_it(self) -> None:
        """No setting lets code run that nobody read, with a classifier or without one."""
        settings = (Setting("process.spawn", Verdict.ALLOW),)
        for classify in (None, LOOK):
            tool = Tool("sh", "run", Tier.EXECUTE, {"process.spawn"}, classify=classify)
            compiled = compile_profile(Profile("made"), Catalog([tool], {LOOK}), settings)
            for found in (None, CallEffects({"process.spawn"})):
                assert compiled.decide("run", Dial.ASK, found).verdict is Verdict.ASK

    def test_a_servers_tool_with_the_name_of_a_verb(self) -> None:
        """A native verb's bare name is that verb's; a server's own of that name gets no pin."""
        brief = Brief(("remit:submit_plan",), True, "plan")
        catalog = Catalog(
            [
                Tool("acme", "submit_plan", Tier.EXECUTE, declared=False),
                *engine().natives.tools,
            ]
        )
        compiled = compile_profile(Profile("made", brief=brief), catalog)

        assert compiled.decide("submit_plan", Dial.PROPOSE).cause is Cause.PINNED
        assert compiled.decide("acme:submit_plan", Dial.AUTO).verdict is Verdict.ASK


def _worse(found: CallEffects) -> Iterator[CallEffects]:
    yield evolve(found, opaque=True)
    yield evolve(found, protected=(".git/config",))
    yield evolve(found, targets={})
    for effect in ("worktree.write", "git.push", "secret.read", "acme.unheard"):
        if effect not in found.effects:
            yield evolve(found, effects=found.effects | {effect})


def _by_target(cause: Cause, found: CallEffects) -> bool:
    """Does a target decide, which only a classifier sees: a limit, or a setting on a target."""
    return cause is Cause.LIMIT or bool(found.targets)


def _fail() -> Any:
    raise RuntimeError("odd")


#: What a classifier may do instead of its work.
BROKEN: dict[str, Callable[..., Any]] = {
    "raises": lambda call, tool, facts: _fail(),
    "recurses": lambda call, tool, facts: (lambda f: f(f))(lambda f: f(f)),
    "returns nothing": lambda call, tool, facts: None,
    "returns text": lambda call, tool, facts: "git.push",
    "returns a set": lambda call, tool, facts: {"git.push"},
    "returns a dict": lambda call, tool, facts: {},
    "takes no arguments": lambda: CallEffects(),
}


class TestPlugins:
    @pytest.mark.parametrize("how", BROKEN)
    def test_a_broken_classifier(self, how: str) -> None:
        """A classifier that does anything but its work refuses the call, by name, under auto."""
        tool = Tool("sh", "run", Tier.EXECUTE, {"git.push"}, classify=LOOK)
        compiled = compile_profile(Profile("made"), Catalog([tool], {LOOK}))
        projection = Projection(compiled, HOSTS[0], {}, {LOOK: BROKEN[how]})

        judged = projection.judge(Call("run"), Dial.AUTO)

        assert (judged.decision.verdict, judged.decision.cause) == (Verdict.DENY, Cause.PLUGIN)
        assert f"classifier `{LOOK}` failed" in judged.decision.detail[0]

    def test_a_classifier_that_speaks_beyond_its_tool(self) -> None:
        """An effect that its tool does not declare, or that nobody knows, makes a call opaque."""
        tool = Tool("sh", "run", Tier.EXECUTE, {"git.push"}, classify=LOOK)
        compiled = compile_profile(Profile("made"), Catalog([tool], {LOOK}))
        for effect in ("git.psuh", "", "secret.read"):
            found = CallEffects({effect})
            projection = Projection(compiled, HOSTS[0], {}, {LOOK: lambda *_, f=found: f})
            judged = projection.judge(Call("run"), Dial.ASK)
            assert judged.found.opaque
            assert judged.decision.verdict is Verdict.ASK

    @pytest.mark.parametrize("word", ["", False, 0, "no"])
    def test_a_guard_that_says_anything(self, word: Any) -> None:
        """A guard that returns anything but None refuses."""
        compiled = compile_profile(Profile("made"), Catalog([Tool("s", "t", Tier.READ)]))
        projection = Projection(compiled, HOSTS[0], {}, {}, {"acme": lambda *_: word})

        assert projection.judge(Call("t"), Dial.AUTO).decision.cause is Cause.PLUGIN

    @pytest.mark.parametrize(
        "plugin",
        [
            SimpleNamespace(guard_acton=hookimpl(lambda call: None)),
            SimpleNamespace(guard_action=hookimpl(lambda calls: None)),
            SimpleNamespace(register_classifiers=hookimpl(lambda: _fail())),
            SimpleNamespace(register_effects=hookimpl(lambda: ["acme.deploy"])),
        ],
        ids=["misspelled hook", "misspelled argument", "raising hook", "wrong value"],
    )
    def test_a_plugin_that_is_wrong(self, plugin: Any) -> None:
        """A plugin that cannot be used whole stops the loading: a missing guard would be power."""
        with pytest.raises(PluginError, match="acme"):
            load_plugins(extra={"acme": plugin})

    def test_a_plugin_that_is_not_there(self) -> None:
        """A plugin that the operator enabled and nobody installed stops the loading."""
        with pytest.raises(PluginError, match="acme"):
            load_plugins(["acme"])

    def test_a_guard_that_fails_refuses(self) -> None:
        """A guard that raises refuses every call that is not pinned, under every dial."""

        for world, case in worlds(40, seed=44):
            projection = projected(world, guards={"acme": lambda *_: _fail()})
            for tool in world.tools:
                for dial in Dial:
                    decision = projection.judge(Call(tool.key), dial).decision
                    pinned = case.compiled.decide(tool.key, dial).layer is Layer.PIN
                    assert (decision.verdict is Verdict.ALLOW) == pinned


class TestEnvironment:
    @pytest.mark.parametrize("name", ["MODE", "DIAL", "AUTONOMY", "PROFILE", "POLICY", "ALLOW"])
    def test_no_variable_is_policy(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Policy is set by flags and the operator's file, never by the environment."""
        before = [case.projection.hash for case in built_in()]
        for value in ("auto", "chat", "1", "*"):
            monkeypatch.setenv(f"REMIT_{name}", value)
            loaded = Engine.load()
            tools = loaded.with_natives(loaded.catalogs(loaded.shipped))
            found = [
                loaded.project(loaded.profile(mode), t, HOSTS[0]).hash
                for mode in loaded.library.names()
                for t in (tools, loaded.with_natives(Catalog()))
            ]
            assert found == before


def test_the_top_is_what_it_says() -> None:
    """The only ceiling that restricts nothing is the one without a word, and a word never helps."""
    assert Ceiling() == TOP
    assert Profile("made", sides=(Side("made"),)).silent
    for narrower in (
        Ceiling(tier=Tier.WRITE),
        Ceiling(refuse={"git.push"}),
        Ceiling(allow=frozenset({frozenset()})),
        Ceiling(deny={"x"}),
    ):
        assert narrower.narrower_or_equal(TOP)
        assert not TOP.narrower_or_equal(narrower)
