"""The registry: plugins are verified when they are registered, and collected into plain values.

Third-party plugins are loaded only when the operator's configuration names them. One that cannot
be loaded whole is an error: a guard that is silently absent would be more power.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pluggy
from attrs import evolve, field, frozen

from remit.plugins import (
    action_guard,
    approval_gate,
    builtin,
    classifiers,
    hookspecs,
    prompt_preamble,
    sandbox_mounts,
    tool_filter,
)
from remit.plugins.classifiers import knowing
from remit.policy.backend import RESERVED, Backend
from remit.policy.compile import Compiled
from remit.policy.problems import InputError, Problem, RemitError, near
from remit.policy.projection import Classifier, Guard, Host
from remit.policy.tools import Call, CallEffects, Facts, Tool
from remit.policy.vocabulary import EFFECTS, EffectClass

if TYPE_CHECKING:
    from remit.plugins.shell.knowledge import Knowledge

__all__ = ["BUILT_IN", "PluginError", "Registry", "Source", "load_plugins"]

#: The built-in plugins by name; the five projections are named after their layers.
BUILT_IN: Mapping[str, Any] = MappingProxyType(
    {
        "action_guard": action_guard,
        "approval_gate": approval_gate,
        "builtin": builtin,
        "classifiers": classifiers,
        "prompt_preamble": prompt_preamble,
        "sandbox_mounts": sandbox_mounts,
        "tool_filter": tool_filter,
    }
)

_EFFECT = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+")
_TAKEN_PREFIXES = frozenset(e.split(".")[0] for e in EFFECTS)

Layer = Callable[[Compiled, Host], Any]


class PluginError(RemitError):
    """A plugin cannot be used; the problem names it, the hook and the cause."""


@frozen
class Source:
    """A file that a plugin brings, and which plugin that is."""

    plugin: str
    file: Traversable

    @property
    def built_in(self) -> bool:
        """Does it come with remit."""
        return self.plugin in BUILT_IN


@frozen
class Registry:
    """What all plugins registered, as plain values in the order of the plugins' names."""

    plugins: tuple[str, ...]
    effects: Mapping[str, EffectClass]
    classifiers: Mapping[str, Classifier] = field(repr=False)
    #: Classifier name to the plugin that brought it.
    classifier_of: Mapping[str, str]
    guards: Mapping[str, Guard] = field(repr=False)
    layers: Mapping[str, Layer] = field(repr=False)
    catalogues: tuple[Source, ...]
    profiles: tuple[Source, ...]
    backends: tuple[Backend, ...] = field(repr=False)
    #: What is known of programs, where a plugin added to it; None means what we ship.
    programs: Knowledge | None = field(repr=False)
    #: Observers by hook name: (plugin, function) pairs.
    observers: Mapping[str, tuple[tuple[str, Callable[..., None]], ...]] = field(repr=False)

    def classifiers_for(self, plugin: str | None) -> frozenset[str]:
        """Return the classifiers that a plugin's catalogues may name, all for the operator's."""
        return frozenset(
            name
            for name, owner in self.classifier_of.items()
            if plugin is None or owner == plugin or owner in BUILT_IN
        )

    def project(self, compiled: Compiled, host: Host) -> Mapping[str, Any]:
        """Let every layer shape the compiled rows; raises `PluginError` naming one that fails."""
        made = {}
        for name, layer in self.layers.items():
            try:
                made[name] = layer(compiled, host)
            except Exception as error:
                raise _failed(name, "project_layer", error) from error
        return made

    def observe(self, hook: str, **facts: Any) -> tuple[Problem, ...]:
        """Tell the observers; one that fails changes nothing and is returned as a warning."""
        failed: list[Problem] = []
        for name, observer in self.observers.get(hook, ()):
            try:
                observer(**facts)
            except Exception as error:
                failed.extend(_failed(name, hook, error).problems)
        return tuple(failed)


def load_plugins(
    enabled: Iterable[str] = (), extra: Mapping[str, Any] = MappingProxyType({})
) -> Registry:
    """Register the built-in plugins and those that the operator enabled, and collect them.

    ``enabled`` names entry points of the group ``remit``; ``extra`` holds plugins that a library
    user registers in code. Raises `PluginError` for any that is missing or wrong, all at once.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    problems: list[Problem] = []
    for name, plugin in sorted({**_enabled(enabled, problems), **extra}.items()):
        if name in BUILT_IN:
            problems.append(
                Problem("plugin-name", f"plugin `{name}` bears the name of a built-in plugin")
            )
        else:
            _register(manager, name, plugin, problems)
    for name, plugin in BUILT_IN.items():
        _register(manager, name, plugin, problems)
    if problems:
        raise PluginError(problems)
    collector = _Collector(manager)
    registry = collector.collect()
    if collector.problems:
        raise PluginError(collector.problems)
    return registry


def _enabled(names: Iterable[str], problems: list[Problem]) -> dict[str, Any]:
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=hookspecs.PROJECT):
        found.setdefault(point.name, []).append(point)
    loaded = {}
    for name in sorted(set(names)):
        points = found.get(name, [])
        if len(points) != 1:
            what = "is not installed" if not points else "is offered by several packages"
            hint = near(name, found) or "install it, or take it out of `plugins` in remit.toml"
            problems.append(Problem("plugin-missing", f"plugin `{name}` {what}", hint))
            continue
        try:
            loaded[name] = points[0].load()
        except Exception as error:
            problems.append(
                Problem(
                    "plugin-import",
                    f"plugin `{name}` cannot be imported from `{points[0].value}`: "
                    f"{type(error).__name__}: {error}",
                    "mend or disable the plugin",
                )
            )
    return loaded


def _register(
    manager: pluggy.PluginManager, name: str, plugin: Any, problems: list[Problem]
) -> None:
    """Register one plugin; a wrong signature or a misspelled hook fails here, by name."""
    for hook in _unmarked(manager, plugin):
        problems.append(
            Problem(
                "plugin-hook",
                f"plugin `{name}` in `{hook}`: it is not marked as a hook, so it would do nothing",
                "put `@hookimpl` of `remit.plugins.hookspecs` above it",
            )
        )
    try:
        manager.register(plugin, name)
        manager.check_pending()
        if not (manager.get_hookcallers(plugin) or _unmarked(manager, plugin)):
            problems.append(
                Problem(
                    "plugin-hook",
                    f"plugin `{name}` implements no hook",
                    "its entry point is to name the module or object that has the hooks",
                )
            )
    except pluggy.PluginValidationError as error:
        hint = near(_unknown_hook(manager, plugin), _hooks())
        problems.append(Problem("plugin-hook", f"plugin `{name}`: {_one_line(str(error))}", hint))
        if manager.has_plugin(name):
            manager.unregister(name=name)
    except ValueError:
        problems.append(Problem("plugin-name", f"plugin `{name}` is enabled under two names"))


def _hooks() -> list[str]:
    return [n for n in dir(hookspecs) if hasattr(getattr(hookspecs, n), "remit_spec")]


def _unmarked(manager: pluggy.PluginManager, plugin: Any) -> list[str]:
    """Return the functions that are named after a hook and are none: a guard that is not there."""
    return [
        name
        for name in _hooks()
        if callable(getattr(plugin, name, None))
        and manager.parse_hookimpl_opts(plugin, name) is None
    ]


def _unknown_hook(manager: pluggy.PluginManager, plugin: Any) -> str:
    known = set(_hooks())
    names = (n for n in dir(plugin) if manager.parse_hookimpl_opts(plugin, n) is not None)
    return next((n for n in names if n not in known), "")


def _one_line(text: str) -> str:
    return ": ".join(line.strip() for line in text.splitlines() if line.strip())


def _failed(plugin: str, hook: str, error: Exception) -> PluginError:
    return PluginError(
        Problem(
            "plugin-failed",
            f"plugin `{plugin}` failed in `{hook}`: {type(error).__name__}: {error}",
            "mend or disable the plugin",
        )
    )


class _Collector:
    """Walks the hooks of a manager once; every plugin's contribution is checked as it comes."""

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self.manager = manager
        self.problems: list[Problem] = []

    def collect(self) -> Registry:
        effects = dict(EFFECTS)
        owners: dict[str, str] = {}
        for plugin, made in self._ask("register_effects"):
            for effect in made:
                self._add_effect(plugin, effect, effects, owners)
        classifiers: dict[str, Classifier] = {}
        classifier_of: dict[str, str] = {}
        for plugin, made in self._ask("register_classifiers"):
            hook = "register_classifiers"
            if not isinstance(made, dict):
                self._wrong(plugin, hook, f"expected functions by name, got `{made!r}`")
                continue
            for name, function in made.items():
                if not callable(function):
                    self._wrong(plugin, hook, f"classifier `{name}` is no function")
                elif name in classifiers:
                    self._wrong(plugin, hook, f"classifier `{name}` is `{classifier_of[name]}`'s")
                else:
                    own = plugin in BUILT_IN
                    classifiers[name] = function if own else _classifier(plugin, function)
                    classifier_of[name] = plugin
        programs = self._programs(effects)
        if programs is not None:
            ours = [n for n, owner in classifier_of.items() if owner == "classifiers"]
            classifiers |= dict.fromkeys(ours, knowing(programs))
        return Registry(
            plugins=tuple(sorted(n for n, _ in self.manager.list_name_plugin())),
            effects=MappingProxyType(effects),
            classifiers=MappingProxyType(classifiers),
            classifier_of=MappingProxyType(classifier_of),
            guards=MappingProxyType({n: _guard(f) for n, f in self._functions("guard_action")}),
            layers=MappingProxyType({n: _layer(f) for n, f in self._functions("project_layer")}),
            catalogues=self._files("register_catalogues"),
            profiles=self._files("register_profiles"),
            backends=self._backends(),
            programs=programs,
            observers=MappingProxyType(
                {
                    hook: tuple((n, _by_name(f)) for n, f in self._functions(hook))
                    for hook in ("decision_made", "mode_switched")
                }
            ),
        )

    def _add_effect(
        self, plugin: str, effect: Any, effects: dict[str, EffectClass], owners: dict[str, str]
    ) -> None:
        hook = "register_effects"
        if not isinstance(effect, EffectClass):
            self._wrong(plugin, hook, f"expected an effect class, got `{effect!r}`")
            return
        prefix = effect.id.split(".")[0]
        if not _EFFECT.fullmatch(effect.id):
            self._wrong(plugin, hook, f"`{effect.id}` is no effect id such as `acme.deploy`")
        elif prefix in _TAKEN_PREFIXES or owners.setdefault(prefix, plugin) != plugin:
            owner = owners.get(prefix, "remit")
            self._wrong(plugin, hook, f"the prefix of `{effect.id}` is `{owner}`'s")
        elif effect.id in effects:
            self._wrong(plugin, hook, f"effect class `{effect.id}` is registered twice")
        else:
            effects[effect.id] = evolve(effect, plugin=plugin)

    def _backends(self) -> tuple[Backend, ...]:
        found: dict[str, Backend] = {}
        for plugin, made in self._ask("sandbox_backend"):
            for backend in made:
                if not isinstance(backend, Backend):
                    self._wrong(plugin, "sandbox_backend", f"expected a backend, got `{backend!r}`")
                elif backend.name in RESERVED or found.setdefault(backend.name, backend) != backend:
                    said = f"the name `{backend.name}` is taken"
                    self._wrong(plugin, "sandbox_backend", said)
        return tuple(found[name] for name in sorted(found))

    def _programs(self, effects: Iterable[str]) -> Knowledge | None:
        """Put the tables of each plugin behind ours; one that takes a known program is told."""
        known = None
        for source in self._files("register_programs"):
            from remit.plugins.shell.knowledge import extended, knowledge

            try:
                text = source.file.read_text("utf-8")
                known = extended(known or knowledge(), [(source.file.name, text)], effects)
            except InputError as error:
                for problem in error.problems:
                    said = f"{problem.message} ({source.file.name})"
                    self._wrong(source.plugin, "register_programs", said)
            except (OSError, UnicodeDecodeError) as error:
                failed = _failed(source.plugin, "register_programs", error)
                self.problems.extend(failed.problems)
        return known

    def _files(self, hook: str) -> tuple[Source, ...]:
        """Return the files that a hook brings; what is no package resource is told."""
        found = []
        for plugin, made in self._ask(hook):
            for file in made:
                if isinstance(file, Traversable):
                    found.append(Source(plugin, file))
                else:
                    self._wrong(plugin, hook, f"expected a file of a package, got `{file!r}`")
        return tuple(found)

    def _functions(self, hook: str) -> list[tuple[str, Any]]:
        impls = getattr(self.manager.hook, hook).get_hookimpls()
        return sorted(((i.plugin_name, i) for i in impls), key=lambda pair: pair[0])

    def _ask(self, hook: str) -> list[tuple[str, Any]]:
        """Call one hook plugin by plugin, so that what each returns keeps its origin."""
        made = []
        for plugin, impl in self._functions(hook):
            try:
                result = impl.function()
                made.append((plugin, dict(result) if hasattr(result, "keys") else tuple(result)))
            except Exception as error:
                self.problems.extend(_failed(plugin, hook, error).problems)
        return made

    def _wrong(self, plugin: str, hook: str, what: str) -> None:
        self.problems.append(
            Problem("plugin-value", f"plugin `{plugin}` in `{hook}`: {what}", "mend the plugin")
        )


def _classifier(plugin: str, run: Any) -> Classifier:
    def classify(call: Call, tool: Tool, facts: Facts) -> CallEffects:
        found = run(call, tool, facts)
        if not isinstance(found, CallEffects):
            got = type(found).__name__
            raise TypeError(f"plugin `{plugin}` returned `{got}`, expected `CallEffects`")
        return found

    return classify


def _guard(impl: Any) -> Guard:
    run = _by_name(impl)

    def guard(call: Call, tool: Tool, found: CallEffects, facts: Facts) -> str | None:
        said = run(call=call, tool=tool, found=found, facts=facts)
        if said is None or isinstance(said, str):
            return said
        raise TypeError(f"returned `{type(said).__name__}`, expected a reason or `None`")

    return guard


def _layer(impl: Any) -> Layer:
    run = _by_name(impl)
    return lambda compiled, host: run(compiled=compiled, host=host)


def _by_name(impl: Any) -> Callable[..., Any]:
    """Call an implementation with the arguments it names, as pluggy would."""
    names = impl.argnames
    return lambda **facts: impl.function(*(facts[name] for name in names))
