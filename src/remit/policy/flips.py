"""Flips: one smallest change of what was declared that gives a call another verdict.

None is guessed: each is tried on the engine, the small and the likely ones first, and the first
that changes the verdict is told (promise 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from attrs import evolve, frozen

from remit.policy.ceiling import Ceiling
from remit.policy.compile import Compiled, compile_profile
from remit.policy.decision import Cause, Decision
from remit.policy.facts import Fact, find_facts
from remit.policy.gate import Setting
from remit.policy.profile import Brief, Profile, Side, shown
from remit.policy.projection import Judgement, Projection
from remit.policy.tools import Call, CallEffects, Catalog, Facts, Tool
from remit.policy.vocabulary import Dial, Layer, Tier, Unknown, Verdict, in_order

__all__ = ["Trial", "find_flip"]

#: Of so many facts, three at most are dropped at a time before all of them are.
_MANY, _TOGETHER = 8, 3


@frozen
class Trial:
    """A call that is judged again and again, each time with something changed."""

    projection: Projection
    tool: Tool
    call: Call
    dial: Dial
    looked: Facts
    seen: CallEffects | None

    @classmethod
    def of(
        cls,
        projection: Projection,
        tool: Tool,
        call: Call,
        dial: Dial,
        looked: Facts,
        seen: CallEffects | None,
    ) -> Trial:
        """Return a trial over the one tool, since the others have no say."""
        trial = cls(projection, tool, call, dial, looked, seen)
        return trial.compiled(trial.profile, tool=tool)

    @property
    def profile(self) -> Profile:
        """The mode."""
        return self.projection.compiled.profile

    @property
    def judged(self) -> Judgement:
        """What becomes of the call."""
        return self.projection.judge(self.call, self.dial, self.looked, self.seen)

    def compiled(
        self,
        profile: Profile | None = None,
        *,
        tool: Tool | None = None,
        settings: tuple[Setting, ...] | None = None,
    ) -> Trial:
        """Return the same with another profile, tool or settings."""
        now: Compiled = self.projection.compiled
        tool = tool or self.tool
        made = compile_profile(
            profile or self.profile,
            Catalog((tool,), now.catalog.classifiers),
            now.settings if settings is None else settings,
            now.admitted,
            now.askable,
        )
        return evolve(self, tool=tool, projection=evolve(self.projection, compiled=made))


def find_flip(
    trial: Trial, decision: Decision, facts: Sequence[Fact]
) -> tuple[str, Verdict | None]:
    """Return a change and the verdict that it gives; no change where none was found."""
    for change, tried in _changes(trial, decision, facts):
        becomes = tried.judged.decision.verdict
        if becomes is not decision.verdict:
            return f"{change}, and it becomes {becomes}", becomes
    return "", None


def _changes(
    trial: Trial, decision: Decision, facts: Sequence[Fact]
) -> Iterator[tuple[str, Trial]]:
    """Yield changes, each with the same trial after it, in the order in which they are tried."""
    if decision.layer is Layer.PIN or decision.cause is Cause.OTHER_VERB:
        yield from _verbs(trial, decision)
        return
    if decision.cause in (Cause.UNDECLARED, Cause.NO_EFFECTS):
        yield from _and_later(*_declared(trial))
    if decision.layer is Layer.GATE:
        yield from _gate(trial, decision)
        return
    against = [
        f for f in facts if f.layer is not Layer.GATE and f.kind not in ("protected", "classifier")
    ]
    if decision.layer is Layer.FILTER and trial.tool.classify and len(against) <= _MANY:
        # Each refuses by itself, but for a tool with a classifier, which needs one way to be left.
        for count in range(1, _TOGETHER + 1):
            for dropped in combinations(against, count):
                yield _told(dropped, trial.tool), _without(trial, dropped)
    if against:
        yield from _and_later(_told(against, trial.tool), _without(trial, against))


def _and_later(change: str, trial: Trial) -> Iterator[tuple[str, Trial]]:
    """Yield a change, then the same with others, for what a later layer has to say after it."""
    yield change, trial
    later = trial.judged
    facts = tuple(find_facts(trial.projection, later, trial.dial, trial.looked))
    for more, tried in _changes(trial, later.decision, facts):
        yield f"{change} and {more}", tried


def _declared(trial: Trial) -> tuple[str, Trial]:
    tool = trial.tool
    reads = evolve(tool, declared=True, tier=Tier.READ, effects=(), classify=None, least=())
    at = f" ({tool.where})" if tool.where.file else ""
    return f"declare in a catalogue that `{tool.key}` only reads{at}", trial.compiled(tool=reads)


def _verbs(trial: Trial, decision: Decision) -> Iterator[tuple[str, Trial]]:
    """A verb passes or not by a word of the brief in force, and by nothing else."""
    profile, tool, name = trial.profile, trial.tool, shown(trial.tool.key)
    brief = profile.brief or Brief()
    named = "out of" if decision.layer is Layer.PIN else "under"
    changes: list[tuple[str, Brief]] = []
    if decision.layer is Layer.PIN:
        ours = {tool.key, f"{tool.origin}:{tool.name}"}
        changes = [
            ("verbs", evolve(brief, verbs=tuple(v for v in brief.verbs if v not in ours))),
            ("exit", evolve(brief, exit=None if brief.exit in ours else brief.exit)),
        ]
        owed = evolve(brief, required=False), "say `required = false`"
    else:
        if tool.verb:
            changes.append(("verbs", evolve(brief, verbs=(*brief.verbs, tool.key))))
        if tool.exit:
            changes.append(("exit", evolve(brief, exit=tool.key)))
        owed = evolve(brief, required=True), "say `required = true`"
    verb = "take" if decision.layer is Layer.PIN else "name"
    for key, changed in changes:
        what = f"{verb} `{name}` {named} `{key}` in the brief of `{profile.name}`"
        yield what, trial.compiled(evolve(profile, brief=changed))
    changed, said = owed
    what = f"{said} in the brief of `{profile.name}`"
    yield what, trial.compiled(evolve(profile, brief=changed))


def _gate(trial: Trial, decision: Decision) -> Iterator[tuple[str, Trial]]:
    """One effect's setting, then all of them, then the dial, then both, then a deny entry."""
    dial, laxer = trial.dial, decision.verdict is not Verdict.ALLOW
    wanted = Verdict.ALLOW if laxer else Verdict.ASK
    effects = in_order(trial.judged.found.effects)
    some = [*((e,) for e in effects), *((effects,) if len(effects) > 1 else ())]
    settings = [_set(trial, each, wanted) for each in some]
    yield from settings
    others = [d for d in Dial if d > dial] if laxer else [d for d in reversed(Dial) if d < dial]
    for other in others:
        yield f"turn the dial to `{other}`", evolve(trial, dial=other)
    for other in others if settings else ():
        said, set_all = settings[-1]
        yield f"{said} and turn the dial to `{other}`", evolve(set_all, dial=other)
    if not laxer:
        denied = trial.profile.under(Side("flip", Ceiling(deny=frozenset({trial.tool.key}))))
        yield f"name `{trial.tool.key}` in a `deny`", trial.compiled(denied)


def _set(trial: Trial, effects: Sequence[str], wanted: Verdict) -> tuple[str, Trial]:
    kept = tuple(s for s in trial.projection.compiled.settings if s.effect not in effects)
    settings = (*kept, *(Setting(e, wanted) for e in effects))
    named = " and ".join(f"`{e}`" for e in effects)
    return f"set {named} to {wanted} in this space", trial.compiled(settings=settings)


def _without(trial: Trial, facts: Iterable[Fact]) -> Trial:
    """Return the same without some facts of its sides and without some plugins."""
    facts = tuple(facts)
    sides = []
    for side in trial.profile.sides:
        for fact in facts:
            if fact.side == side.name:
                side = evolve(side, ceiling=_dropped(side.ceiling, fact, trial.tool))
        sides.append(side)
    changed = trial.compiled(evolve(trial.profile, sides=tuple(sides)))
    silent = {f.of for f in facts if f.kind == "plugin"}
    guards = {name: g for name, g in trial.projection.guards.items() if name not in silent}
    return evolve(changed, projection=evolve(changed.projection, guards=guards))


def _dropped(ceiling: Ceiling, fact: Fact, tool: Tool) -> Ceiling:
    match fact.kind:
        case "tier":
            return evolve(ceiling, tier=max(ceiling.tier, tool.tier))
        case "unknown":
            return evolve(ceiling, unknown=Unknown.ASK)
        case "allow":
            return evolve(ceiling, allow=frozenset(a | {tool.key} for a in ceiling.allow))
        case "deny":
            return evolve(ceiling, deny=ceiling.deny - {fact.of})
        case "refuse":
            return evolve(ceiling, refuse=ceiling.refuse - {fact.of})
        case "limit":
            return evolve(ceiling, limit={e: p for e, p in ceiling.limit.items() if e != fact.of})
    return ceiling


def _told(facts: Sequence[Fact], tool: Tool) -> str:
    """Say what is changed; what stands in one place is changed in one go."""
    lines: dict[tuple[str, str, str], list[Fact]] = {}
    for fact in facts:
        lines.setdefault((fact.side, fact.kind, str(fact.where)), []).append(fact)
    return " and ".join(_change(line, tool) for line in lines.values())


def _change(facts: Sequence[Fact], tool: Tool) -> str:
    first = facts[0]
    at = f" ({first.where})" if first.where.file else ""
    of = ", ".join(f"`{f.of}`" for f in facts)
    match first.kind:
        case "tier":
            return f"raise `tier` of `{first.side}` to `{tool.tier}`{at}"
        case "unknown":
            return f"set `unknown` of `{first.side}` to `ask`{at}"
        case "allow":
            return f"add `{tool.key}` to `allow` of `{first.side}`{at}"
        case "plugin":
            return f"leave out the plugin {of}"
    return f"take {of} out of `{first.kind}` of `{first.side}`{at}"
