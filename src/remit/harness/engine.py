"""The engine: joins what plugins registered with what profile and catalogue files say.

One engine serves any number of spaces. It projects on first use and keeps what it compiled by hash,
so equal inputs share one value.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from attrs import evolve, field, frozen

from remit.plugins.registry import PluginError, Registry, Source, load_plugins
from remit.policy.ceiling import Ceiling
from remit.policy.compile import Compiled, compile_profile
from remit.policy.escape import quoted
from remit.policy.gate import Setting
from remit.policy.problems import InputError, Position, Problem, RemitError, near
from remit.policy.profile import Profile, Side
from remit.policy.projection import Host, Projection
from remit.policy.tools import NATIVE, Catalog
from remit.policy.vocabulary import EffectClass, admitted
from remit.profiles.catalogs import native_catalog, parse_catalog
from remit.profiles.ceilings import parse_overlay
from remit.profiles.fit import check_with_catalog
from remit.profiles.library import Library
from remit.profiles.resolution import Entry
from remit.profiles.shipped import sample as mode_sample
from remit.profiles.shipped import samples
from remit.profiles.source import WRITTEN_BY_US, decode, read_source
from remit.profiles.source import Source as TextSource
from remit.profiles.terms import Terms

__all__ = ["OVERLAY", "WORKSPACE", "Engine", "closed"]

#: What the side is called that a space's overlay is.
OVERLAY = "overlay"
#: What the side is called that narrows every space of a workspace.
WORKSPACE = "workspace overlay"

_log = logging.getLogger("remit")


@frozen
class Engine:
    """Profiles, catalogues and plugins, loaded once; made by `Engine.load`."""

    registry: Registry = field(repr=False)
    library: Library = field(repr=False)
    natives: Catalog = field(repr=False)
    #: The operator's own catalogues, which commands use where none is named.
    operators: Catalog = field(factory=Catalog, repr=False)
    #: What narrows every mode in every space, if the operator's ``remit.toml`` names a file.
    overlaid: Side | None = field(default=None, repr=False)
    _shipped: Mapping[str, Source] = field(factory=dict, repr=False)
    _compiled: dict[tuple[Any, ...], Compiled] = field(factory=dict, repr=False)
    _projections: dict[tuple[Any, ...], Projection] = field(factory=dict, repr=False)
    #: Patterns of argument names that are kept out of the log besides those that always are.
    redact: tuple[str, ...] = ()
    _overlays: dict[TextSource, Side] = field(factory=dict, repr=False)

    @classmethod
    def load(
        cls,
        profiles: Iterable[str | Path] = (),
        catalogs: Iterable[str | Path] = (),
        plugins: Iterable[str] = (),
        extra: Mapping[str, Any] | None = None,
        overlay: str | Path | None = None,
        redact: Iterable[str] = (),
    ) -> Self:
        """Load the built-in files, the operator's own, and the plugins that the operator enabled.

        A profile that is wrong is kept in `library.problems` and is unavailable. A plugin, a
        catalogue or an ``overlay`` that is wrong raises: each could only be missed as less
        strictness. ``overlay`` is a file whose ``[ceiling]`` narrows every mode in every space;
        ``redact`` are names of arguments that no log is to keep.
        """
        registry = load_plugins(plugins, extra or {})
        shipped, problems = _by_stem(registry)
        problems += _foreign(shipped.values(), registry.effects)
        if problems:
            raise PluginError(problems)
        bare = cls(registry, Library.load(), native_catalog(), shipped=shipped)
        own = bare.catalogs(catalogs)
        sources = [_text(s, "register_profiles") for s in registry.profiles]
        unread: list[Problem] = []
        for path in profiles:
            try:
                sources.append(read_source(path))
            except RemitError as error:
                unread.extend(error.problems)
        library = Library.load(sources, bare.with_natives(own), registry.effects)
        above = None
        if overlay is not None:
            above = parse_overlay(read_source(overlay), Terms(registry.effects), WORKSPACE)
        return evolve(
            bare,
            library=library.with_problems(unread),
            operators=own,
            overlaid=above,
            redact=tuple(redact),
        )

    @property
    def effects(self) -> Mapping[str, EffectClass]:
        """Every effect class that is known, plugins' included."""
        return self.registry.effects

    @cached_property
    def admitted(self) -> frozenset[str]:
        """The effects that read-only modes admit."""
        return admitted(self.effects)

    @property
    def shipped(self) -> tuple[str, ...]:
        """Names of the catalogues that come with remit and its plugins, but for the native one."""
        return tuple(sorted(n for n in self._shipped if n != NATIVE))

    def catalog(self, name: str | Path, source: str | None = None) -> Catalog:
        """Return a catalogue of a shipped name or of a file; raises `InputError` with why not.

        ``source`` is the operator's name for the server that it is bound to, in place of its own.
        """
        shipped = self._shipped.get(str(name))
        if shipped is not None and shipped.file.name != f"{NATIVE}.toml":
            return self._parsed(_text(shipped), source, shipped.plugin)
        if Path(name).suffix in (".toml", ".json") or os.path.exists(name):
            return self._parsed(read_source(name), source, None)
        raise InputError(
            Problem(
                "unknown-catalog",
                f"{quoted(str(name))} is neither a shipped catalogue nor a file",
                near(str(name), self.shipped) or f"shipped are {', '.join(self.shipped)}",
            )
        )

    def catalogs(self, names: Iterable[str | Path]) -> Catalog:
        """Return one catalogue of several, raising every problem of all of them at once."""
        found: list[Catalog] = []
        problems: list[Problem] = []
        for name in names:
            try:
                found.append(self.catalog(name))
            except RemitError as error:
                problems.extend(error.problems)
        if problems:
            raise InputError(problems)
        return Catalog.union(*found, classifiers=self.registry.classifiers)

    def _parsed(self, text: TextSource, source: str | None, plugin: str | None) -> Catalog:
        catalog = parse_catalog(text, source=source, known=self.registry.effects).require()
        allowed = self.registry.classifiers_for(plugin)
        # What a plugin may not name judges nothing, so its tool is as good as undeclared.
        return Catalog(
            t if t.classify is None or t.classify in allowed else evolve(t, declared=False)
            for t in catalog.tools
        )

    def with_natives(self, catalog: Catalog) -> Catalog:
        """Return a catalogue with the native verbs at its end."""
        return Catalog.union(catalog, self.natives, classifiers=self.registry.classifiers)

    def profile(self, name: str) -> Profile:
        """Return a mode by name, alias or path of a file; raises `InputError` with near misses."""
        if "/" in name or name.endswith((".toml", ".md")):
            return self.library.read(name)
        if name not in self.library.names() and name in samples():
            return self.library.parse(mode_sample(name))
        sample = files("remit").joinpath("profiles", "samples", f"{name}.toml")
        if name not in self.library.names() and sample.is_file():
            # A sample is anybody's to copy: a mode of that name takes its place.
            return self.library.read(str(sample))
        return self.library.get(name)

    def entry(self, name: str) -> Entry:
        """Return what is known of a mode, named as for `profile`; raises `InputError`."""
        if "/" in name or name.endswith((".toml", ".md")):
            return self.library.examine(read_source(name))
        if name not in self.library.names() and name in samples():
            return self.library.examine(mode_sample(name))
        if name not in self.library.names() and self.library.resolve(name) == name:
            return Entry(name, name, "sample")
        return self.library.entry(name)

    def in_force(self, mode: str) -> Profile:
        """Return the profile of a stored mode; one that no longer resolves admits nothing.

        Widening to some default would be the fault; the verbs by which a run reaches the operator
        stay, since they are every mode's.
        """
        try:
            return self.library.get(mode)
        except InputError as error:
            _log.warning("mode %s is unavailable, nothing is admitted: %s", mode, error)
            return closed(Profile(mode, label=mode, selectable=False), "mode", error.problems[0])

    def overlay(self, text: TextSource) -> Side:
        """Return the side that a text with one ``[ceiling]`` states, to narrow a mode with.

        Raises `InputError` with every problem of it.
        """
        side = self._overlays.get(text)
        if side is None:
            side = self._overlays[text] = parse_overlay(text, Terms(self.effects), OVERLAY)
        return side

    def fit(self, profile: Profile, catalog: Catalog, host: Host) -> tuple[Problem, ...]:
        """Return what is wrong with a profile under a catalogue; examples are judged as calls."""
        projection = self.project(profile, catalog, host)
        return check_with_catalog(
            profile,
            catalog,
            self.effects,
            lambda call: projection.judge(call).decision.verdict,
        )

    def project(
        self,
        profile: Profile,
        catalog: Catalog,
        host: Host,
        settings: tuple[Setting, ...] = (),
        askable: bool = True,
    ) -> Projection:
        """Project a profile over a catalogue for a host; equal inputs give the same value.

        The catalogue is taken as it is: `with_natives` adds the native verbs.
        """
        key = (profile.hash, catalog.hash, settings, askable)
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = compile_profile(profile, catalog, settings, self.admitted, askable)
            self._compiled[key] = compiled
        projection = self._projections.get((*key, host))
        if projection is None:
            projection = Projection(
                compiled,
                host,
                self.registry.project(compiled, host),
                self.registry.classifiers,
                self.registry.guards,
            )
            self._projections[(*key, host)] = projection
        return projection

    def observe(self, hook: str, **facts: Any) -> None:
        """Tell observing plugins; one that fails is logged and changes nothing."""
        for problem in self.registry.observe(hook, **facts):
            _log.warning("%s", problem)


def closed(profile: Profile, what: str, why: Problem) -> Profile:
    """Return what stands in for a profile that cannot be used as ``what`` is: it admits nothing.

    What the profile itself has for a brief stays, and so do the verbs that every mode has.
    """
    at = f" (`{why.path}`)" if why.path else ""
    unusable = f"{what} cannot be used: {why.message}{at}"
    return evolve(
        profile.under(Side(what, Ceiling(allow=frozenset({frozenset()})))),
        intent=f"This {unusable}. Nothing is admitted until an operator sets another.",
        unusable=f"{profile.name} {unusable}" if what == "mode" else f"this space's {unusable}",
    )


def _text(source: Source, hook: str = "register_catalogues") -> TextSource:
    """Return the text of a registered file, under the name by which problems call it."""
    label = WRITTEN_BY_US if source.built_in else f"plugin {source.plugin}"
    name = f"{label}/{source.file.name}"
    try:
        raw = source.file.read_bytes()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        said = f"its `{source.file.name}` cannot be read: {why}"
        message = f"plugin `{source.plugin}` in `{hook}`: {said}"
        raise PluginError(Problem("plugin-value", message, "mend the plugin")) from error
    return TextSource(decode(raw, name), name, source.built_in)


def _whose(source: Source) -> str:
    return "remit" if source.built_in else source.plugin


def _ours_first(files: Iterable[Source]) -> list[Source]:
    """Put remit's own files before plugins', so that what is claimed twice is remit's."""
    return sorted(files, key=lambda f: not f.built_in)


def _by_stem(registry: Registry) -> tuple[dict[str, Source], list[Problem]]:
    """Return registered catalogues by name; two plugins may not bring the same one."""
    named: dict[str, Source] = {}
    problems = []
    for source in _ours_first(registry.catalogues):
        name = source.file.name.removesuffix(".toml")
        other = named.setdefault(name, source)
        if other is not source:
            problems.append(
                Problem(
                    "plugin-value",
                    f"plugin `{source.plugin}` in `register_catalogues`: the catalogue `{name}` "
                    f"is `{_whose(other)}`'s",
                    "give the file another name",
                    Position(str(source.file)),
                )
            )
    return named, problems


def _foreign(catalogues: Iterable[Source], known: Mapping[str, EffectClass]) -> list[Problem]:
    """Say which plugins speak for a source that is not their own.

    A source is the plugin's whose catalogue comes first, remit's before all: what another said of
    the same tools would otherwise stand beside it, or in its place.
    """
    files = tuple(catalogues)
    if all(f.built_in for f in files):
        return []
    owners: dict[str, Source] = {}
    problems: list[Problem] = []
    for file in _ours_first(files):
        try:
            catalog = parse_catalog(_text(file), known=known).require()
        except RemitError as error:
            problems.extend(error.problems)
            continue
        for source in dict.fromkeys(t.source for t in catalog.tools):
            owner = owners.setdefault(source, file)
            if owner.plugin != file.plugin:
                problems.append(
                    Problem(
                        "plugin-value",
                        f"plugin `{file.plugin}` in `register_catalogues`: the source `{source}` "
                        f"is `{_whose(owner)}`'s",
                        "a plugin speaks for sources of its own alone",
                        Position(f"plugin {file.plugin}/{file.file.name}"),
                    )
                )
    return problems
