"""What is in force: the rows that decide it, and the profile that they come to.

One module reads the ladder of scopes: workspace, space, the stage of its run, conversation, turn,
and for a child the same of its parents. Each only narrows (design sections 6 and 9).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime

from attrs import evolve, frozen

from remit.harness.atrun import AtRun, at_run, capped
from remit.harness.engine import OVERLAY, Engine, closed
from remit.harness.natives import NATIVES
from remit.harness.store import ConversationRecord, Overlay, Space, Store
from remit.policy.problems import InputError, Problem
from remit.policy.profile import Brief, Profile, Side
from remit.policy.projection import Host
from remit.policy.tools import NATIVE, Catalog
from remit.profiles.fit import blocks_host
from remit.profiles.source import WRITTEN_BY_US, Source

__all__ = ["InForce", "Link", "Modes", "in_force", "link_of"]

_log = logging.getLogger("remit")


@frozen
class Link:
    """What of a conversation decides: its mode, and what narrows it."""

    conversation: str
    mode: str
    child: bool = False
    overlay: Overlay | None = None
    #: What narrows the turn that is open in it.
    turn: Overlay | None = None


def link_of(record: ConversationRecord) -> Link:
    """Return what of a conversation's row decides."""
    return Link(record.id, record.mode, record.child, record.overlay, record.turn_overlay)


@frozen
class InForce:
    """The rows that decide what holds; equal ones decide alike.

    ``line`` is a conversation, and of a child its parents after it; empty for a host without turns,
    where the space's mode is in force.
    """

    space: Space
    line: tuple[Link, ...] = ()
    run: AtRun | None = None

    @property
    def own_run(self) -> AtRun | None:
        """The run, where its stage's brief holds: in its conversation, and without turns."""
        if self.run is None or self.run.stage is None or self.run.mode != self.mode:
            return None
        here = not self.line or self.line[0].conversation == self.run.conversation
        return self.run if here else None

    @property
    def mode(self) -> str:
        """The mode whose brief holds."""
        return self.line[0].mode if self.line else self.space.mode

    @property
    def _modes(self) -> Iterator[str]:
        """The modes whose ceilings hold besides: the space's, and those of a child's parents."""
        if self.line:
            yield self.space.mode
            yield from (link.mode for link in self.line[1:])

    @property
    def _overlays(self) -> Iterator[Overlay]:
        found = [self.space.overlay]
        for link in self.line:
            found += (link.overlay, link.turn)
        yield from (overlay for overlay in found if overlay is not None)


def in_force(store: Store, space: str, line: tuple[ConversationRecord, ...] = ()) -> InForce:
    """Read what decides in a space, and for a conversation what does in it and its parents."""
    there = store.spaces.get(space)
    run = at_run(store, there)
    links = tuple(map(link_of, line))
    return InForce(capped(there, run, tuple(r.id for r in line)), links, run)


class Modes:
    """The profiles of an engine as they hold in a store's spaces, on one host."""

    def __init__(self, engine: Engine, store: Store, host: Host) -> None:
        self.engine = engine
        self.store = store
        self.host = host
        self.catalog = engine.with_natives(Catalog())
        #: By mode and catalogue, what keeps the one from use with the other.
        self._fit: dict[tuple[str, str], Problem | None] = {}
        self._profiles: dict[tuple[object, ...], Profile] = {}
        self._kept: set[str] = set()

    def set_catalog(self, catalog: Catalog) -> None:
        """Say which tools there are besides the native verbs."""
        self.catalog = self.engine.with_natives(catalog)

    def profile(self, force: InForce) -> Profile:
        """Return the profile that rows come to; what cannot be used admits nothing."""
        run = force.run and (force.own_run is not None, force.run.decides)
        at = (force.mode, force.line, *force._modes, *force._overlays, run, self.catalog.hash)
        profile = self._profiles.get(at)
        if profile is None:
            profile = self._profiles[at] = self._profile(force)
        return profile

    def mode(self, name: str) -> Profile:
        """Return the profile of a stored mode: as its file says, else as it was last seen.

        A staged one is no wider than its first stage: where it has no run, none has been left yet.
        """
        try:
            return self._declared(name)
        except InputError as error:
            kept = self.store.kept.get(name)
            if kept is not None:
                _log.warning("mode %s is unavailable, what it last was holds: %s", name, error)
                return kept
        return self.engine.in_force(name)

    def keep(self, name: str, now: datetime) -> None:
        """Keep what a mode is, for when its file is gone; a built-in one cannot go."""
        try:
            profile = self._declared(name)
        except InputError:
            return
        if profile.origin != WRITTEN_BY_US and profile.hash not in self._kept:
            self.store.kept.keep(profile, now=now)
            self._kept.add(profile.hash)

    def _declared(self, name: str) -> Profile:
        profile, staged = self.engine.library.get(name), self.engine.library.staged(name)
        if staged is None:
            return profile
        return profile.under(*_news(profile, staged.stages[staged.workflow.first]))

    def missing(self, name: str) -> Problem | None:
        """Return why a stored mode cannot be read any more, None if it can."""
        try:
            self.engine.library.get(name)
        except InputError as error:
            return error.problems[0]
        return None

    def _profile(self, force: InForce) -> Profile:
        profile = self._at(force, force.mode)
        if force.line and force.line[0].child:
            profile = _as_child(profile) if len(force.line) > 1 else _as_step(profile)
        else:
            profile = evolve(profile, offers=self.host.offers)
        for name in force._modes:
            profile = profile.under(*_news(profile, self._at(force, name)))
        return self.narrowed(profile, force)

    def narrowed(self, profile: Profile, force: InForce) -> Profile:
        """Return a profile under the overlays of the workspace and of the rows."""
        if self.engine.overlaid is not None:
            profile = self._under(profile, self.engine.overlaid)
        for overlay in force._overlays:
            profile = self._overlaid(profile, overlay)
        return profile

    def _at(self, force: InForce, name: str) -> Profile:
        """Return the profile of a mode, that of the stage which its run is in."""
        run = force.run
        if run is None or run.mode != name:
            return self.usable(name)
        kept = self.store.runs.mode(run.hash)
        if run.stage is None:
            return self._usable(kept.profile)
        stage = self._usable(kept.stages[run.stage])
        brief = kept.profile.brief if force.own_run is None else stage.brief
        return evolve(stage, brief=brief)

    def usable(self, name: str) -> Profile:
        """Return the profile of a stored mode, one that admits nothing if the tools forbid it."""
        return self._usable(self.mode(name))

    def _usable(self, profile: Profile) -> Profile:
        problem = self._unfit(profile)
        if problem is None:
            return profile
        return closed(Profile(profile.name, label=profile.name, selectable=False), "mode", problem)

    def _overlaid(self, profile: Profile, overlay: Overlay) -> Profile:
        try:
            side = self.engine.overlay(Source(overlay.text, overlay.file))
        except InputError as error:
            _log.warning("an overlay is unavailable, nothing is admitted: %s", error)
            return closed(profile, OVERLAY, error.problems[0])
        return self._under(profile, side)

    def _under(self, profile: Profile, side: Side) -> Profile:
        problem = self._unfit(Profile(side.name, sides=(side,)))
        return profile.under(side) if problem is None else closed(profile, side.name, problem)

    def _unfit(self, profile: Profile) -> Problem | None:
        """Return what keeps a mode from use with the tools that there are; tell the rest once."""
        at = (profile.hash, self.catalog.hash)
        if at not in self._fit:
            bare = len(self.catalog.tools) == len(self.engine.natives.tools)
            found = () if bare else self.engine.fit(profile, self.catalog, self.host)
            for problem in found:
                _log.warning("%s", problem)
            self._fit[at] = next(filter(blocks_host, found), None)
        return self._fit[at]


def _news(profile: Profile, other: Profile) -> Iterator[Side]:
    return (side for side in other.sides if side not in profile.sides)


def _as_step(profile: Profile) -> Profile:
    """Return a profile as a step of a pipeline has it: it delivers, and stays where it is."""
    if profile.brief is None:
        return profile
    return evolve(profile, brief=evolve(profile.brief, exit=None))


def _as_child(profile: Profile) -> Profile:
    """Return a profile as a child has it: without exit, and verbs that ask to go on elsewhere."""
    if profile.brief is None:
        return profile
    opening = {f"{NATIVE}:{name}" for name, native in NATIVES.items() if native.opens}
    verbs = tuple(v for v in profile.brief.verbs if v not in opening)
    brief: Brief = evolve(
        profile.brief, verbs=verbs, exit=None, required=profile.brief.required and bool(verbs)
    )
    return evolve(profile, brief=brief)
