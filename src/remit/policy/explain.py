"""Explaining: which declared line decided, what it shadowed, and what would flip it.

The engine decides; this module looks up who said what. A flip is never guessed: each is tried on
the engine, and only one that changes the verdict is told (promise 9).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from attrs import evolve, field, frozen

from remit.policy.ceiling import Ceiling
from remit.policy.compile import Compiled, compile_profile
from remit.policy.decision import Decision
from remit.policy.gate import Setting, gate
from remit.policy.problems import Position
from remit.policy.profile import Profile, Side, shown
from remit.policy.projection import Judgement, Projection
from remit.policy.selectors import admits_targets
from remit.policy.tools import CallEffects, Catalog, Shape, Tool
from remit.policy.vocabulary import Dial, Layer, Tier, Unknown, Verdict, in_order

__all__ = ["Explanation", "Fact", "explain"]

#: Facts that deny each other's flip are dropped together; more than this is no small change.
_TOGETHER = 3


@frozen
class Fact:
    """One declared fact that speaks about a call: which layer it is for, who stated it, where."""

    layer: Layer
    verdict: Verdict
    what: str
    side: str
    where: Position = field(default=Position())
    #: How the fact is named within its side: ``tier``, ``deny.<selector>``, ``refuse.<effect>``.
    name: str = ""


@frozen
class Explanation:
    """A judgement traced to what was declared.

    ``decided`` are the facts that decided, ``shadowed`` those that would have decided after them.
    ``flip`` is one smallest change that gives another verdict, ``becomes``.
    """

    judgement: Judgement
    decided: tuple[Fact, ...]
    shadowed: tuple[Fact, ...]
    flip: str
    becomes: Verdict | None


def explain(projection: Projection, judgement: Judgement, dial: Dial) -> Explanation:
    """Trace a judgement, layer by layer, and find one smallest change that would flip it."""
    compiled, decision = projection.compiled, judgement.decision
    facts = list(_facts(compiled, judgement, dial)) if judgement.tool else []
    decided = tuple(f for f in facts if _decides(f, decision))
    later = tuple(f for f in facts if f not in decided)
    flip, becomes = _flip(_only(compiled, judgement.tool), judgement, dial, facts)
    return Explanation(judgement, decided, later, flip, becomes)


def _only(compiled: Compiled, tool: Tool | None) -> Compiled:
    """Return the same over one tool: flips are tried on it alone."""
    catalog = Catalog(() if tool is None else (tool,), compiled.catalog.classifiers)
    return _recompiled(evolve(compiled, catalog=catalog), compiled.profile, compiled.settings)


def _decides(fact: Fact, decision: Decision) -> bool:
    return (fact.layer, fact.verdict) == (decision.layer, decision.verdict) and (
        fact.name.split(".")[0] == _NAMES.get(decision.cause.value, fact.name.split(".")[0])
    )


#: Which facts a cause is about, where a layer has several kinds.
_NAMES = {
    "denied": "deny",
    "tier": "tier",
    "not-admitted": "allow",
    "undeclared": "unknown",
    "unread": "unknown",
    "refused": "refuse",
    "limit": "limit",
    "protected": "protected",
    "effect": "effect",
    "setting": "setting",
    "other-verb": "verbs",
}


def _facts(compiled: Compiled, judgement: Judgement, dial: Dial) -> Iterator[Fact]:
    """Yield every declared fact that speaks about a call, in the order of the layers."""
    tool = judgement.tool
    assert tool is not None, "an unknown tool has no facts"
    profile, decision = compiled.profile, judgement.decision
    if decision.layer is Layer.PIN:
        where = profile.where.get("brief.verbs") or profile.where.get("brief") or Position()
        yield Fact(Layer.PIN, Verdict.ALLOW, f"`{shown(tool.key)}` is pinned", profile.name, where)
        return
    if tool.native:
        where = profile.where.get("brief.verbs") or profile.where.get("name") or Position()
        what = f"the brief in force does not name `{shown(tool.key)}`"
        yield Fact(Layer.FILTER, Verdict.DENY, what, profile.name, where, "verbs")
    layer = decision.layer if decision.layer is Layer.GUARD else Layer.FILTER
    shape = compiled.catalog.shape(tool)
    for side in profile.sides:
        for name, what in _denials(side.ceiling, compiled, tool, shape, judgement.found):
            at = side.where.get(name) or side.where.get(name.split(".")[0]) or Position()
            yield Fact(layer, Verdict.DENY, what, side.name, at, name)
    for path in judgement.found.protected:
        what = f"`{path}` is protected"
        yield Fact(Layer.GUARD, Verdict.DENY, what, "remit", Position(), f"protected.{path}")
    yield from _gate(compiled, tool, judgement.found, dial)


def _denials(
    ceiling: Ceiling, compiled: Compiled, tool: Tool, shape: Shape, found: CallEffects
) -> Iterator[tuple[str, str]]:
    """Yield the facts of one side that refuse a call, by name, with what each says."""
    at = compiled.catalog.index[tool.key]
    for selector in sorted(ceiling.deny):
        if at in compiled.catalog.select(selector):
            yield f"deny.{selector}", f"`deny` names it by `{selector}`"
    if shape.tier > ceiling.tier:
        yield "tier", f"the tier stops at `{ceiling.tier}`, it needs `{shape.tier}`"
    effects = found.effects | (shape.effects if shape.classify is None else frozenset())
    for effect in in_order(effects & ceiling.refuse):
        yield f"refuse.{effect}", f"`{effect}` is refused"
    for effect in in_order(effects & ceiling.limit.keys()):
        targets = found.targets.get(effect, ())
        if not all(admits_targets(p, targets) for p in ceiling.limit[effect]):
            seen = ", ".join(f"`{t}`" for t in targets) or "a target that cannot be seen"
            yield f"limit.{effect}", f"`{effect}` is limited, and {seen} is outside"
    if ceiling.unknown is Unknown.REFUSE:
        if not shape.declared:
            yield "unknown", "the unknown is refused, and nobody declared what it does"
        elif found.opaque or "process.spawn" in effects:
            yield "unknown", "the unknown is refused, and it runs what cannot be read"
    for allowed in sorted(map(sorted, ceiling.allow)):
        if not any(at in compiled.catalog.select(s) for s in allowed):
            listed = ", ".join(f"`{s}`" for s in allowed[:6]) + (", …" if len(allowed) > 6 else "")
            yield "allow", f"`allow` names only {listed or 'nothing'}"


def _gate(compiled: Compiled, tool: Tool, found: CallEffects, dial: Dial) -> Iterator[Fact]:
    """Yield what the dial and the operator's settings say of each effect."""
    for effect in in_order(found.effects):
        for setting in compiled.settings:
            if setting.effect == effect:
                on = f" on `{setting.target}`" if setting.target else ""
                what = f"the operator set `{effect}`{on} to {setting.verdict}"
                yield Fact(Layer.GATE, setting.verdict, what, "space", Position(), "setting")
    for effect in in_order(found.effects):
        alone = _alone(effect, dial, compiled.admitted)
        what = f"under dial `{dial}` `{effect}` is {alone.value}"
        yield Fact(Layer.GATE, alone, what, "dial", Position(), "effect")


def _alone(effect: str, dial: Dial, admitted: frozenset[str]) -> Verdict:
    shape = Shape(Tier.READ, frozenset({effect}), True, None, frozenset())
    return gate(shape, CallEffects(shape.effects), dial, admitted=admitted).verdict


def _flip(
    compiled: Compiled, judgement: Judgement, dial: Dial, facts: list[Fact]
) -> tuple[str, Verdict | None]:
    """Try changes, the smallest first, and return the first that gives another verdict."""
    decision, tool = judgement.decision, judgement.tool
    if tool is None or decision.layer is Layer.PIN:
        return "", None
    denials = [f for f in facts if f.verdict is Verdict.DENY and f.name and f.side != "remit"]
    stated = [f for f in denials if f.layer in (Layer.FILTER, Layer.GUARD) and f.name != "verbs"]
    for count in range(1, min(_TOGETHER, len(stated)) + 1):
        for dropped in combinations(stated, count):
            becomes = _judge(_without(compiled, dropped), judgement, dial)
            if becomes is not decision.verdict:
                changes = " and ".join(_change(f) for f in dropped)
                return f"{changes}, and it becomes {becomes}", becomes
    if decision.layer is Layer.GATE:
        return _flip_gate(compiled, judgement, dial)
    many = f"{len(stated)} facts refuse it, so no small change flips it"
    return many if len(stated) > _TOGETHER else "", None


def _flip_gate(compiled: Compiled, judgement: Judgement, dial: Dial) -> tuple[str, Verdict | None]:
    """Try one effect's setting, then the dial, then a deny entry: towards allow if it is not."""
    decision, tool = judgement.decision, judgement.tool
    assert tool is not None, "only a known tool is tried"
    laxer = decision.verdict is not Verdict.ALLOW
    wanted = Verdict.ALLOW if laxer else Verdict.ASK
    effects = in_order(judgement.found.effects)
    for some in (*((e,) for e in effects), effects):
        kept = tuple(s for s in compiled.settings if s.effect not in some)
        tried = (*kept, *(Setting(e, wanted) for e in some))
        becomes = _judge(_recompiled(compiled, compiled.profile, tried), judgement, dial)
        if becomes is not decision.verdict:
            named = " and ".join(f"`{e}`" for e in some)
            return f"set {named} to {wanted} in this space, and it becomes {becomes}", becomes
    others = [d for d in Dial if d > dial] if laxer else [d for d in reversed(Dial) if d < dial]
    for other in others:
        becomes = _judge(compiled, judgement, other)
        if becomes is not decision.verdict:
            return f"turn the dial to `{other}`, and it becomes {becomes}", becomes
    if laxer:
        return "declare in a catalogue what it does", None
    denied = compiled.profile.under(Side("flip", Ceiling(deny=frozenset({tool.key}))))
    becomes = _judge(_recompiled(compiled, denied, compiled.settings), judgement, dial)
    return f"name `{tool.key}` in a `deny`, and it becomes {becomes}", becomes


def _judge(compiled: Compiled, judgement: Judgement, dial: Dial) -> Verdict:
    assert judgement.tool is not None, "only a known tool is tried"
    return compiled.decide(judgement.tool.key, dial, judgement.found).verdict


def _recompiled(compiled: Compiled, profile: Profile, settings: tuple[Setting, ...]) -> Compiled:
    return compile_profile(profile, compiled.catalog, settings, compiled.admitted, compiled.askable)


def _without(compiled: Compiled, facts: tuple[Fact, ...]) -> Compiled:
    """Return the same without some facts of its sides."""
    sides = []
    for side in compiled.profile.sides:
        for fact in facts:
            if fact.side == side.name:
                side = evolve(side, ceiling=_dropped(side, fact.name))
        sides.append(side)
    profile = evolve(compiled.profile, sides=tuple(sides))
    return _recompiled(compiled, profile, compiled.settings)


def _dropped(side: Side, name: str) -> Ceiling:
    ceiling = side.ceiling
    kind, _, rest = name.partition(".")
    match kind:
        case "tier":
            return evolve(ceiling, tier=max(Tier))
        case "unknown":
            return evolve(ceiling, unknown=Unknown.ASK)
        case "allow":
            return evolve(ceiling, allow=frozenset())
        case "deny":
            return evolve(ceiling, deny=ceiling.deny - {rest})
        case "refuse":
            return evolve(ceiling, refuse=ceiling.refuse - {rest})
        case "limit":
            return evolve(ceiling, limit={e: p for e, p in ceiling.limit.items() if e != rest})
    return ceiling


def _change(fact: Fact) -> str:
    kind, _, rest = fact.name.partition(".")
    at = f" ({fact.where})" if fact.where.file else ""
    match kind:
        case "tier" | "unknown" | "allow":
            return f"loosen `{kind}` of `{fact.side}`{at}"
        case "limit":
            return f"widen the limit of `{rest}` in `{fact.side}`{at}"
    return f"take `{rest}` out of `{kind}` of `{fact.side}`{at}"
