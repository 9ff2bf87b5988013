"""What an engine makes of what plugins bring: files, guards, classifiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from remit.harness.engine import Engine
from remit.plugins.hookspecs import hookimpl
from remit.plugins.registry import PluginError
from remit.policy.decision import Cause
from remit.policy.projection import Host, Judgement
from remit.policy.tools import Call, CallEffects, Facts, Tool
from remit.policy.vocabulary import EFFECTS, Dial, EffectClass, Layer, Verdict

DEPLOY = '[tools.deploy]\ntier = "execute"\neffects = ["network.egress"]\n'


def plugin(**hooks: Any) -> SimpleNamespace:
    return SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def brings(folder: Path, hook: str, **files: str) -> SimpleNamespace:
    """A plugin that brings files; `acme_deploy` is written as acme-deploy.toml."""
    folder.mkdir(exist_ok=True)
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name.replace('_', '-')}.toml")
        paths[-1].write_text(text)

    def bring() -> Iterable[Traversable]:
        return paths

    return plugin(**{hook: bring})


def judged(engine: Engine, catalog: str, tool: str, mode: str = "chat") -> Judgement:
    tools = engine.with_natives(engine.catalog(catalog))
    projection = engine.project(engine.profile(mode), tools, Host("test"))
    return projection.judge(Call(tool), Dial.AUTO)


class TestCatalogues:
    def test_of_its_own(self, tmp_path: Path) -> None:
        """A plugin's catalogue is known by its file's name, as a shipped one is."""
        acme = brings(tmp_path, "register_catalogues", acme_deploy=DEPLOY)
        engine = Engine.load(extra={"acme": acme})

        assert "acme-deploy" in engine.shipped
        assert engine.catalog("acme-deploy").get("acme-deploy:deploy") is not None

    def test_of_a_source_of_ours(self, tmp_path: Path) -> None:
        """A plugin cannot say what the tools of a shipped catalogue's source do."""
        text = 'source = "mcp-git"\n[tools.git_commit]\ntier = "read"\neffects = []\n'
        acme = brings(tmp_path, "register_catalogues", acme_git=text)

        with pytest.raises(PluginError) as error:
            Engine.load(extra={"acme": acme})

        (problem,) = error.value.problems
        assert problem.message == (
            "plugin `acme` in `register_catalogues`: the source `mcp-git` is `remit`'s"
        )
        assert problem.where.file == "plugin acme/acme-git.toml"

    def test_of_the_source_of_another(self, tmp_path: Path) -> None:
        """A source belongs to one plugin, whichever order they are given in."""
        one = brings(tmp_path / "one", "register_catalogues", desk=DEPLOY)
        two = brings(tmp_path / "two", "register_catalogues", other='source = "desk"\n' + DEPLOY)

        for extra in ({"one": one, "two": two}, {"two": two, "one": one}):
            with pytest.raises(PluginError, match=r"plugin `two` in .*source `desk` is `one`'s"):
                Engine.load(extra=extra)

    def test_of_one_name(self, tmp_path: Path) -> None:
        """Two catalogues of one name are told, with both plugins; remit's own name is remit's."""
        one = brings(tmp_path / "one", "register_catalogues", desk=DEPLOY)
        two = brings(tmp_path / "two", "register_catalogues", desk='source = "x"\n' + DEPLOY)
        git = brings(tmp_path / "git", "register_catalogues", mcp_git=DEPLOY)

        with pytest.raises(PluginError) as error:
            Engine.load(extra={"one": one, "two": two, "a": git})

        assert [p.message for p in error.value.problems] == [
            "plugin `a` in `register_catalogues`: the catalogue `mcp-git` is `remit`'s",
            "plugin `two` in `register_catalogues`: the catalogue `desk` is `one`'s",
        ]

    def test_of_the_native_verbs(self, tmp_path: Path) -> None:
        """No plugin speaks for remit's own verbs."""
        acme = brings(tmp_path, "register_catalogues", acme='source = "remit"\n' + DEPLOY)

        with pytest.raises(PluginError, match="`remit` may not be the name of a source"):
            Engine.load(extra={"acme": acme})

    @pytest.mark.parametrize("hook", ["register_catalogues", "register_profiles"])
    def test_that_are_not_there(self, tmp_path: Path, hook: str) -> None:
        """A file that a plugin names but does not bring is an error that names both, and why."""
        acme = plugin(**{hook: lambda: [tmp_path / "gone.toml"]})

        said = rf"plugin `acme` in `{hook}`: its `gone\.toml` cannot be read: no such file"
        with pytest.raises(PluginError, match=said):
            Engine.load(extra={"acme": acme})

    def test_name_only_classifiers_of_their_own(self, tmp_path: Path) -> None:
        """A tool whose catalogue names another plugin's classifier is undeclared."""
        text = '[tools.run]\nclassify = "look"\neffects = ["git.push"]\n'
        two = brings(tmp_path, "register_catalogues", desk=text)

        def register_classifiers() -> Mapping[str, Any]:
            return {"look": lambda call, tool, facts: CallEffects()}

        one = plugin(register_classifiers=register_classifiers)
        both = plugin(
            register_classifiers=register_classifiers,
            register_catalogues=two.register_catalogues,
        )

        theirs = judged(Engine.load(extra={"one": one, "two": two}), "desk", "run")
        own = judged(Engine.load(extra={"two": both}), "desk", "run")

        assert (theirs.decision.verdict, theirs.decision.cause) == (Verdict.ASK, Cause.UNDECLARED)
        assert own.decision.verdict is Verdict.ALLOW


class TestProfiles:
    def test_of_a_reserved_name(self, tmp_path: Path) -> None:
        """A plugin's profile cannot take a built-in mode's name; the built-in one stays."""
        acme = brings(tmp_path, "register_profiles", plan='name = "plan"\n[ceiling]\n')
        engine = Engine.load(extra={"acme": acme})

        (problem,) = engine.library.problems
        assert problem.code == "reserved-name"
        assert problem.where.file == "plugin acme/plan.toml"
        assert engine.profile("plan").origin == "built-in"

    def test_of_the_operators_name(self, tmp_path: Path) -> None:
        """A plugin's profile of the name of an operator's takes both from use, and says so."""
        acme = brings(tmp_path / "acme", "register_profiles", release='name = "release"\n')
        mine = tmp_path / "mine.toml"
        mine.write_text('name = "release"\n[ceiling]\nallow = []\n')
        engine = Engine.load([mine], extra={"acme": acme})

        assert {p.code for p in engine.library.problems} == {"duplicate-name"}
        assert engine.library.entry("release").profile is None


class TestGuards:
    def test_that_raises(self, tmp_path: Path) -> None:
        """A guard that fails refuses the call, and is named with what it raised."""

        def guard_action(call: Call) -> str | None:
            raise KeyError("target")

        acme = brings(tmp_path, "register_catalogues", acme=DEPLOY)
        extra = {"acme": acme, "strict": plugin(guard_action=guard_action)}
        found = judged(Engine.load(extra=extra), "acme", "deploy")

        assert (found.decision.verdict, found.decision.layer) == (Verdict.DENY, Layer.GUARD)
        assert found.decision.detail == ("guard `strict` failed with KeyError: 'target'",)

    @pytest.mark.parametrize("made", [True, False, 0, ["no"]])
    def test_that_return_something_else(self, tmp_path: Path, made: Any) -> None:
        """A guard that returns neither a reason nor `None` refuses, and is told what it is to."""
        acme = brings(tmp_path, "register_catalogues", acme=DEPLOY)
        extra = {"acme": acme, "odd": plugin(guard_action=lambda: made)}
        found = judged(Engine.load(extra=extra), "acme", "deploy")

        assert found.decision.verdict is Verdict.DENY
        assert found.decision.detail == (
            f"guard `odd` failed with TypeError: returned `{type(made).__name__}`, "
            "expected a reason or `None`",
        )

    def test_never_allows(self, tmp_path: Path) -> None:
        """Whatever a guard returns, a call that the mode refuses stays refused, by the mode."""
        acme = brings(tmp_path, "register_catalogues", acme='[tools.rm]\neffects = ["file.delete"]')
        heard: list[str] = []

        def guard_action(call: Call) -> str | None:
            heard.append(call.tool)
            return None

        extra = {"acme": acme, "lax": plugin(guard_action=guard_action)}
        found = judged(Engine.load(extra=extra), "acme", "rm", "read-only")

        assert (found.decision.layer, found.decision.cause) == (Layer.FILTER, Cause.REFUSED)
        assert heard == []

    def test_never_touches_a_pin(self) -> None:
        """A guard that refuses everything does not refuse a mode's own verb (S003-18)."""
        engine = Engine.load(extra={"no": plugin(guard_action=lambda: "never")})

        assert judged(engine, "mcp-git", "submit_plan", "plan").decision.layer is Layer.PIN
        assert judged(engine, "mcp-git", "git_log", "plan").decision.verdict is Verdict.DENY

    def test_in_any_order(self, tmp_path: Path) -> None:
        """Of two guards that refuse, the same one speaks in whatever order they were given."""
        acme = brings(tmp_path, "register_catalogues", acme=DEPLOY)
        one, two = plugin(guard_action=lambda: "one"), plugin(guard_action=lambda: "two")
        said = {
            judged(Engine.load(extra=dict(order)), "acme", "deploy").decision
            for order in (
                [("acme", acme), ("one", one), ("two", two)],
                [("two", two), ("one", one), ("acme", acme)],
            )
        }

        assert [d.detail for d in said] == [("guard `one` says: one",)]


class TestClassifiers:
    @pytest.mark.parametrize("made", [None, "git.push", {"git.push"}])
    def test_that_return_something_else(self, tmp_path: Path, made: Any) -> None:
        """A classifier that raises, or returns no effects, refuses the call and is named."""

        def look(call: Call, tool: Tool, facts: Facts) -> Any:
            return made

        text = '[tools.run]\nclassify = "look"\neffects = ["git.push"]\n'
        acme = brings(tmp_path, "register_catalogues", acme=text)
        acme.register_classifiers = hookimpl(lambda: {"look": look})
        found = judged(Engine.load(extra={"acme": acme}), "acme", "run")

        assert (found.decision.verdict, found.decision.layer) == (Verdict.DENY, Layer.GUARD)
        assert "classifier `look` failed with " in found.decision.detail[0]

    def test_tell_what_was_expected(self, tmp_path: Path) -> None:
        """What is no effects at all is told with plugin, classifier and what was expected."""
        text = '[tools.run]\nclassify = "look"\neffects = ["git.push"]\n'
        acme = brings(tmp_path, "register_catalogues", acme=text)
        acme.register_classifiers = hookimpl(lambda: {"look": lambda *_: {"effects": []}})
        found = judged(Engine.load(extra={"acme": acme}), "acme", "run")

        assert found.decision.detail == (
            "classifier `look` failed with TypeError: "
            "plugin `acme` returned `dict`, expected `CallEffects`",
        )


ACMECTL = """
[acmectl]
sub = true
["acmectl show"]
["acmectl ship"]
effects = "vendor.write"
["acmectl note"]
operands = "write*"
"""


class TestPrograms:
    SHELL = Tool("s", "run", effects=EFFECTS, classify="shell")

    def _found(self, engine: Engine, command: str) -> CallEffects:
        facts = Facts(worktree="/ws", cwd="/ws", plain=True)
        call = Call("run", {"command": command})
        return engine.registry.classifiers["shell"](call, self.SHELL, facts)

    def test_are_known_in_a_shell(self, tmp_path: Path) -> None:
        """A program that a plugin describes is judged by it, by this engine alone."""
        acme = brings(tmp_path, "register_programs", acme=ACMECTL)
        engine, other = Engine.load(extra={"acme": acme}), Engine.load()

        for command, effects in (
            ("acmectl show x", set()),
            ("sudo acmectl ship x && ls", {"vendor.write"}),
            ("cd a && bash -c 'acmectl note b'", {"worktree.write"}),
        ):
            found = self._found(engine, command)
            assert (found.effects, found.opaque) == (frozenset(effects), False)
            assert self._found(other, command).opaque
        assert self._found(engine, "acmectl burn").opaque

    def test_have_effects_of_the_plugin(self, tmp_path: Path) -> None:
        """A table may name effect classes that plugins add."""
        table = '[acmectl]\neffects = "acme.deploy"\n'
        acme = brings(tmp_path, "register_programs", acme=table)
        acme.register_effects = hookimpl(lambda: [EffectClass("acme.deploy", "puts out a build")])
        engine = Engine.load(extra={"acme": acme})

        assert self._found(engine, "acmectl").effects == {"acme.deploy"}

    @pytest.mark.parametrize("name", ["git", "git frob", "sudo", "cd", "ls"])
    def test_known_ones_cannot_be_taken(self, tmp_path: Path, name: str) -> None:
        """A plugin may only add: a program, wrapper or builtin that is known stays as it is."""
        acme = brings(tmp_path, "register_programs", acme=f'["{name}"]\n')

        with pytest.raises(PluginError) as error:
            Engine.load(extra={"acme": acme})

        (problem,) = error.value.problems
        program = name.split()[0]
        assert problem.message == (
            f"plugin `acme` in `register_programs`: `{program}` is a program that is known "
            "(acme.toml)"
        )

    def test_of_another_plugin_cannot_be_taken(self, tmp_path: Path) -> None:
        """Two plugins that describe one program fail, whichever order they are given in."""
        one = brings(tmp_path / "one", "register_programs", a=ACMECTL)
        two = brings(tmp_path / "two", "register_programs", b=ACMECTL)

        for extra in ({"one": one, "two": two}, {"two": two, "one": one}):
            with pytest.raises(PluginError, match=r"plugin `two` in .*`acmectl` is a program"):
                Engine.load(extra=extra)

    @pytest.mark.parametrize(
        ("table", "said"),
        [
            ("[acmectl", "is no TOML"),
            ('[acmectl]\neffects = "git.psuh"', "unknown effect class `git.psuh`"),
            ("[acmectl]\nefects = 1", "unknown key `efects`"),
            ('[acmectl]\nlike = "acmectk"', "is like `acmectk`, which is not described"),
        ],
    )
    def test_a_wrong_table_is_told(self, tmp_path: Path, table: str, said: str) -> None:
        """What is wrong with a table fails when the plugin is loaded, and names it."""
        acme = brings(tmp_path, "register_programs", acme=table)

        with pytest.raises(PluginError, match=f"plugin `acme` in `register_programs`.*{said}"):
            Engine.load(extra={"acme": acme})
