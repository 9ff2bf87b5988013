from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from remit.plugins.hookspecs import hookimpl
from remit.plugins.registry import BUILT_IN, PluginError, load_plugins
from remit.policy.compile import Compiled, compile_profile
from remit.policy.profile import Profile
from remit.policy.projection import Host
from remit.policy.tools import Call, CallEffects, Catalog, Facts, Tool
from remit.policy.vocabulary import EFFECTS, EffectClass

FIVE = {"tool_filter", "approval_gate", "action_guard", "sandbox_mounts", "prompt_preamble"}


def _plugin(**hooks: Any) -> SimpleNamespace:
    return SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def _effect(*ids: str) -> SimpleNamespace:
    def register_effects() -> Iterable[EffectClass]:
        return [EffectClass(i, "does a thing") for i in ids]

    return _plugin(register_effects=register_effects)


class TestBuiltIn:
    def test_the_five_projections_are_plugins_like_anyones(self) -> None:
        """The five layers come from five plugins that implement the public hook."""
        registry = load_plugins()

        assert set(registry.layers) == FIVE
        assert set(registry.plugins) == set(BUILT_IN)
        assert registry.effects == EFFECTS

    def test_every_layer_shapes_a_value(self) -> None:
        """Each layer makes something of one profile over one catalogue."""
        compiled = compile_profile(Profile("made"), Catalog([Tool("s", "t")]))

        assert set(load_plugins().project(compiled, Host("test"))) == FIVE


class TestRegistration:
    def test_an_effect_class_of_a_plugin(self) -> None:
        """A plugin's class is world-changing unless it says otherwise, and names the plugin."""
        registry = load_plugins(extra={"acme": _effect("acme.deploy")})

        assert registry.effects["acme.deploy"].world_changing
        assert registry.effects["acme.deploy"].plugin == "acme"

    @pytest.mark.parametrize(
        ("ids", "says"),
        [
            (["deploy"], "`deploy` is no effect id"),
            (["git.stash"], "the prefix of `git.stash` is `remit`'s"),
            (["acme.x", "acme.x"], "`acme.x` is registered twice"),
        ],
    )
    def test_a_wrong_effect_class(self, ids: list[str], says: str) -> None:
        """An effect class without a prefix of the plugin's own, or twice, is refused by name."""
        with pytest.raises(PluginError, match="plugin `acme` in `register_effects`") as error:
            load_plugins(extra={"acme": _effect(*ids)})

        assert says in str(error.value)

    def test_two_plugins_cannot_share_a_prefix(self) -> None:
        """The second plugin that takes a prefix is told whose it is."""
        with pytest.raises(PluginError, match=r"the prefix of `acme\.b` is `one`"):
            load_plugins(extra={"one": _effect("acme.a"), "two": _effect("acme.b")})

    def test_a_misspelled_hook(self) -> None:
        """A hook that does not exist fails at registration, with plugin, hook and near miss."""

        def register_efects() -> None: ...

        with pytest.raises(PluginError) as error:
            load_plugins(extra={"acme": _plugin(register_efects=register_efects)})

        (problem,) = error.value.problems
        assert problem.code == "plugin-hook"
        assert "plugin `acme`" in problem.message
        assert "register_efects" in problem.message
        assert problem.hint.startswith("did you mean `register_effects`")

    def test_a_hook_that_is_not_marked(self) -> None:
        """A function named like a hook but not marked as one is an error: it would never run."""

        def guard_action(call: Call) -> str:
            return "no"

        plugin = SimpleNamespace(guard_action=guard_action)
        with pytest.raises(PluginError) as error:
            load_plugins(extra={"acme": plugin})

        (problem,) = error.value.problems
        assert problem.code == "plugin-hook"
        assert problem.message.startswith("plugin `acme` in `guard_action`: it is not marked")
        assert "`@hookimpl`" in problem.hint

    def test_a_plugin_without_hooks(self) -> None:
        """A plugin that implements no hook is an error: its entry point names something else."""
        with pytest.raises(PluginError, match="plugin `acme` implements no hook"):
            load_plugins(extra={"acme": SimpleNamespace(guard=len)})

    def test_a_wrong_signature(self) -> None:
        """An argument that the hook does not have fails at registration and is named."""

        def guard_action(call: Call, tol: Tool) -> None: ...

        with pytest.raises(PluginError) as error:
            load_plugins(extra={"acme": _plugin(guard_action=guard_action)})

        assert "plugin `acme`" in str(error.value)
        assert "guard_action" in str(error.value)
        assert "tol" in str(error.value)

    @pytest.mark.parametrize(
        "hook",
        ["register_effects", "register_classifiers", "register_catalogues", "register_profiles",
         "register_programs", "sandbox_backend"],
    )  # fmt: skip
    def test_a_hook_that_raises(self, hook: str) -> None:
        """A plugin that fails while registering is an error that names it and the cause."""

        def fail() -> None:
            raise OSError("no disk")

        with pytest.raises(PluginError, match=f"plugin `acme` failed in `{hook}`") as error:
            load_plugins(extra={"acme": _plugin(**{hook: fail})})

        assert "OSError: no disk" in str(error.value)

    def test_a_table_of_programs_that_is_not_there(self, tmp_path: Path) -> None:
        """A file that cannot be read is told with plugin, hook and file."""
        acme = _plugin(register_programs=lambda: [tmp_path / "gone.toml"])

        with pytest.raises(PluginError, match=r"plugin `acme` failed in `register_programs`.*gone"):
            load_plugins(extra={"acme": acme})

    @pytest.mark.parametrize(
        ("hook", "made", "says"),
        [
            (
                "register_catalogues",
                ["acme.toml"],
                "expected a file of a package, got `'acme.toml'`",
            ),
            ("register_profiles", [None], "expected a file of a package, got `None`"),
            ("register_classifiers", ["look"], "expected functions by name, got"),
            ("register_classifiers", {"look": 3}, "classifier `look` is no function"),
            ("register_effects", ["acme.x"], "expected an effect class, got `'acme.x'`"),
            ("register_programs", [3], "expected a file of a package, got `3`"),
            ("sandbox_backend", ["box"], "expected a backend, got `'box'`"),
        ],
    )
    def test_a_wrong_value(self, hook: str, made: Any, says: str) -> None:
        """What a hook returns is checked as it comes, and told with plugin and hook."""
        with pytest.raises(PluginError, match=f"plugin `acme` in `{hook}`: ") as error:
            load_plugins(extra={"acme": _plugin(**{hook: lambda: made})})

        assert says in str(error.value)

    def test_all_problems_at_once(self) -> None:
        """Every wrong plugin is told of, not the first alone."""
        with pytest.raises(PluginError) as error:
            load_plugins(["nowhere"], extra={"a": _effect("x"), "tool_filter": _effect()})

        assert {p.code for p in error.value.problems} == {"plugin-missing", "plugin-name"}

    def test_a_plugin_that_is_not_installed(self) -> None:
        """An enabled plugin that is missing is an error, never silently less."""
        with pytest.raises(PluginError, match="plugin `nowhere` is not installed"):
            load_plugins(["nowhere"])

    def test_a_layer_that_raises(self) -> None:
        """A layer that fails names its plugin; nothing is projected without it."""

        def project_layer(compiled: Compiled) -> None:
            raise ValueError("odd")

        registry = load_plugins(extra={"acme": _plugin(project_layer=project_layer)})
        compiled = compile_profile(Profile("made"), Catalog())

        with pytest.raises(PluginError, match="plugin `acme` failed in `project_layer`"):
            registry.project(compiled, Host("test"))

    def test_the_order_of_plugins_is_nothing(self) -> None:
        """Plugins in any order give equal registries."""
        plugins = {"one": _effect("one.a"), "two": _effect("two.b")}
        a = load_plugins(extra=plugins)
        b = load_plugins(extra=dict(reversed(plugins.items())))

        assert (a.effects, a.plugins) == (b.effects, b.plugins)

    def test_two_plugins_with_one_classifier(self) -> None:
        """A classifier's name belongs to the first plugin by name, and the other is refused."""

        def register_classifiers() -> Mapping[str, Any]:
            return {"look": lambda call, tool, facts: CallEffects()}

        one, two = (_plugin(register_classifiers=register_classifiers) for _ in range(2))
        two.name = "two"

        with pytest.raises(PluginError, match=r"plugin `two` in .*classifier `look` is `one`'s"):
            load_plugins(extra={"one": one, "two": two})
        with pytest.raises(PluginError, match="plugin `two` is enabled under two names"):
            load_plugins(extra={"one": one, "two": one})

    def test_a_guard_may_take_fewer_arguments(self) -> None:
        """A guard gets the arguments that it names, as with any pluggy hook."""

        def guard_action(tool: Tool) -> str | None:
            return f"not {tool.name}"

        registry = load_plugins(extra={"acme": _plugin(guard_action=guard_action)})
        guard = registry.guards["acme"]

        assert guard(Call("t"), Tool("s", "t"), CallEffects(), Facts()) == "not t"


class TestObservers:
    def test_a_failing_observer_changes_nothing(self) -> None:
        """An observer that raises is told as a warning; the others still hear."""
        heard = []

        def fail(space: str) -> None:
            raise RuntimeError("deaf")

        def hear(space: str, mode: str, by: str) -> None:
            heard.append((space, mode, by))

        registry = load_plugins(
            extra={"a": _plugin(mode_switched=fail), "b": _plugin(mode_switched=hear)}
        )

        problems = registry.observe("mode_switched", space="s", mode="m", by="operator")

        assert heard == [("s", "m", "operator")]
        assert ["plugin `a` failed in `mode_switched`" in p.message for p in problems] == [True]


class TestEntryPoints:
    @pytest.fixture
    def installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        (tmp_path / "acme_remit.py").write_text(
            "from remit.plugins.hookspecs import hookimpl\n"
            "from remit.policy.vocabulary import EffectClass\n"
            "@hookimpl\n"
            "def register_effects():\n"
            "    return [EffectClass('acme.deploy', 'deploys')]\n"
        )
        info = tmp_path / "acme_remit-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-remit\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            "[remit]\nacme = acme_remit\nbroken = acme_remit_gone\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        yield
        sys.modules.pop("acme_remit", None)

    @pytest.mark.usefixtures("installed")
    def test_is_loaded_only_when_the_operator_names_it(self) -> None:
        """An installed plugin does nothing until it is enabled."""
        assert "acme.deploy" not in load_plugins().effects
        assert "acme.deploy" in load_plugins(["acme"]).effects

    @pytest.mark.usefixtures("installed")
    def test_a_near_miss(self) -> None:
        """A misspelled plugin is answered with the name that was meant."""
        with pytest.raises(PluginError, match="did you mean `acme`"):
            load_plugins(["acmee"])

    @pytest.mark.usefixtures("installed")
    def test_that_cannot_be_imported(self) -> None:
        """An enabled plugin that fails to import is an error with its module and cause."""
        with pytest.raises(PluginError, match="cannot be imported from `acme_remit_gone`"):
            load_plugins(["broken"])

    @pytest.mark.usefixtures("installed")
    def test_that_two_packages_offer(self, tmp_path: Path) -> None:
        """Of two plugins of one name neither is loaded: which one was meant is not for us."""
        again = tmp_path / "other-1.0.dist-info"
        again.mkdir()
        (again / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        (again / "entry_points.txt").write_text("[remit]\nacme = other_remit\n")

        with pytest.raises(PluginError, match="plugin `acme` is offered by several packages"):
            load_plugins(["acme"])
