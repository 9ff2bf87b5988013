"""Frames: what held when a step began, and how a call of it is judged.

A step's tools were listed under its frame, so what widened since helps none of its calls; what
narrowed since bites all of them (design section 6). Both are one rule: each call is judged by the
frame, by what is in force now, and by the meet of the two, and the strictest verdict holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from attrs import evolve, frozen

from remit.harness.engine import Engine
from remit.harness.inforce import InForce
from remit.harness.store import Space
from remit.policy.decision import Cause, Decision
from remit.policy.gate import Setting, asked
from remit.policy.profile import Profile
from remit.policy.projection import Judgement, Projection
from remit.policy.tools import Catalog
from remit.policy.vocabulary import Dial, Layer, Verdict

__all__ = ["Frame", "Judged", "judge"]


@frozen
class Frame:
    """What holds for one step: the rows that were read, and the projection of what they come to.

    ``seq`` is the last record of the log when its turn began; grants that came after it are not the
    step's. ``floors`` is what held by then, for its conversation and for those that it is a child
    of: what operators widened since is not the step's either.
    """

    force: InForce
    projection: Projection
    seq: int = 0
    floors: tuple[InForce, ...] = ()

    @property
    def space(self) -> Space:
        """The space as it was read."""
        return self.force.space

    @property
    def mode(self) -> str:
        """The mode whose brief holds."""
        return self.force.mode

    @property
    def profile(self) -> Profile:
        """The mode, with the sides that narrow it."""
        return self.projection.compiled.profile

    @property
    def catalog(self) -> Catalog:
        """The tools that were there."""
        return self.projection.compiled.catalog


@frozen
class Judged:
    """A judgement, the projection that it comes from, and the effects that ask in any view."""

    judgement: Judgement
    projection: Projection
    asked: frozenset[str] = frozenset()


#: Judges one call by one projection and dial.
Look = Callable[[Projection, Dial], Judgement]

_LOCKED = Decision(Verdict.DENY, Layer.GATE, Cause.LOCKED)


def judge(engine: Engine, frame: Frame, now: Frame, look: Look) -> Judged:
    """Judge a call of a step that began with ``frame``, with ``now`` in force.

    Native verbs are judged by the frame's brief alone; whether the mode was left since is theirs
    to answer. A locked space forwards nothing, so there it is all that is judged favourably.
    """
    first = look(frame.projection, frame.space.dial)
    if first.tool is not None and first.tool.native:
        return Judged(first, frame.projection)
    views = [(first, frame.projection, frame.space.dial)]
    spaces = (now.space, frame.space, *(f.space for f in frame.floors))
    gates = dict.fromkeys((s.effects, s.dial) for s in spaces)
    if now.projection is not frame.projection or len(gates) > 1:
        own = look(now.projection, now.space.dial)
        # Among equally strict ones the first is told, and that is what holds as of the call.
        views.insert(0, (own, now.projection, now.space.dial))
        if Layer.PIN not in (first.decision.layer, own.decision.layer):
            views += [(look(p, dial), p, dial) for p, dial in _meets(engine, frame, now, gates)]
    judged, projection, _ = max(views, key=lambda view: view[0].decision.verdict)
    verdict = judged.decision.verdict
    if verdict is not Verdict.DENY and (frame.space.locked or now.space.locked):
        return Judged(evolve(judged, decision=_LOCKED), projection)
    if verdict is not Verdict.ASK:
        return Judged(judged, projection)
    asking = (_asked(*view) for view in views if view[0].decision.verdict is Verdict.ASK)
    return Judged(judged, projection, frozenset[str]().union(*asking))


def _meets(
    engine: Engine, frame: Frame, now: Frame, gates: Iterable[tuple[tuple[Setting, ...], Dial]]
) -> Iterator[tuple[Projection, Dial]]:
    """Yield the meet of both ceilings, over the tools of each and under all settings and dials."""
    profile = frame.profile.under(*(s for s in now.profile.sides if s not in frame.profile.sides))
    host = now.projection.host
    catalogs = {c.hash: c for c in (now.catalog, frame.catalog)}
    for catalog in catalogs.values():
        for effects, dial in gates:
            yield engine.project(profile, catalog, host, effects), dial


def _asked(judged: Judgement, projection: Projection, dial: Dial) -> frozenset[str]:
    compiled = projection.compiled
    assert judged.tool is not None, "only a known tool is asked for"
    shape = compiled.catalog.shape(judged.tool)
    return asked(shape, judged.found, dial, compiled.settings, compiled.admitted)
