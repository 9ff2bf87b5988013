"""Facts: what was declared about a call, by whom and where, in the order of the layers.

The engine decides; this looks up who said what. Whatever would have refused besides is a fact too,
so that what a decision shadows can be told.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from remit.policy.ceiling import Ceiling
from remit.policy.compile import Compiled
from remit.policy.decision import Cause, Decision
from remit.policy.gate import Setting, cells
from remit.policy.guard import as_called
from remit.policy.problems import Position
from remit.policy.profile import Profile, shown
from remit.policy.projection import Judgement, Projection
from remit.policy.selectors import admits_targets, target_matches
from remit.policy.tools import CallEffects, Catalog, Facts, Shape, Tool
from remit.policy.vocabulary import Dial, Layer, Unknown, Verdict, in_order

__all__ = ["Fact", "decides", "find_facts"]

_NOWHERE = Position()


@frozen
class Fact:
    """One declared fact that speaks about a call: which layer it is for, who stated it, where.

    ``side`` is a side of the mode's ceiling, the mode itself for what its brief says, ``catalogue
    SOURCE``, ``dial``, ``space``, ``plugin NAME``, ``classifier NAME``, ``host`` or ``remit``.
    ``name`` says what kind of fact it is and of what: ``tier``, ``deny.<selector>``,
    ``refuse.<effect>``.
    """

    layer: Layer
    verdict: Verdict
    what: str
    side: str
    where: Position = field(default=_NOWHERE)
    name: str = ""

    @property
    def kind(self) -> str:
        """The key or thing that it is a fact of."""
        return self.name.partition(".")[0]

    @property
    def of(self) -> str:
        """The effect, selector, path or plugin that it speaks of, where it speaks of one."""
        return self.name.partition(".")[2]


#: Which kinds of facts a cause is about.
_ABOUT: dict[Cause, tuple[str, ...]] = {
    Cause.PINNED: ("verbs", "exit", "required", "always"),
    Cause.OTHER_VERB: ("verbs",),
    Cause.DENIED: ("deny",),
    Cause.TIER: ("tier",),
    Cause.NOT_ADMITTED: ("allow",),
    Cause.UNDECLARED: ("unknown", "undeclared"),
    Cause.UNREAD: ("unknown", "opaque"),
    Cause.REFUSED: ("refuse",),
    Cause.LIMIT: ("limit",),
    Cause.PROTECTED: ("protected",),
    Cause.PLUGIN: ("plugin", "classifier"),
    Cause.HARMLESS: ("effect", "harmless"),
    Cause.EFFECT: ("effect",),
    Cause.SETTING: ("setting",),
    Cause.NO_EFFECTS: ("no-effects",),
    Cause.NOBODY: ("nobody", "effect", "setting", "undeclared", "no-effects", "opaque"),
}


def decides(fact: Fact, decision: Decision) -> bool:
    """Say whether a decision was made for this fact."""
    cause = decision.cause
    if fact.layer is not decision.layer or fact.kind not in _ABOUT.get(cause, ()):
        return False
    if cause is Cause.NOBODY:
        return fact.kind == "nobody" or fact.verdict is Verdict.ASK
    if fact.verdict is not decision.verdict:
        return False
    if cause is Cause.PLUGIN:
        return fact.what in decision.detail
    # A deny entry is told for all that name the tool; each of them would have to go.
    whole = cause in (Cause.HARMLESS, Cause.DENIED)
    return whole or not fact.of or fact.of in decision.detail


def find_facts(
    projection: Projection, judgement: Judgement, dial: Dial, looked: Facts
) -> Iterator[Fact]:
    """Yield every declared fact that speaks about a call of a known tool, layer by layer."""
    compiled, tool, decision = projection.compiled, judgement.tool, judgement.decision
    if tool is None:
        return
    if decision.layer is Layer.PIN:
        yield _pin(compiled.profile, compiled.catalog, tool)
        return
    if tool.native:
        # Whatever else would be said of a verb, one word of a brief passes it by.
        yield _other_verb(compiled.profile, tool)
        return
    shape, found = compiled.catalog.shape(tool), judgement.found
    layer = Layer.GUARD if decision.layer is Layer.GUARD else Layer.FILTER
    looks = shape.classify is not None
    if looks and decision.layer is Layer.FILTER:
        # Nobody looked at the call; what hides the tool is the least that any call of it does.
        found = CallEffects(frozenset[str]().union(*shape.least))
    for side in compiled.profile.sides:
        for name, what in _denials(side.ceiling, compiled.catalog, tool, shape, found):
            where = side.where.get(name) or side.where.get(name.partition(".")[0]) or _NOWHERE
            yield Fact(layer, Verdict.DENY, what, side.name, where, name)
    if decision.layer is not Layer.FILTER:
        yield from _guard(projection, judgement, tool, looked)
    elif looks:
        return
    else:
        found = as_called(shape, None)
    yield from _gate(compiled, tool, shape, found, dial, decision.cause is Cause.NOBODY)


def _pin(profile: Profile, catalog: Catalog, tool: Tool) -> Fact:
    brief, at = profile.brief, catalog.index[tool.key]
    kind, what = "always", "every mode has it"
    if brief and any(at in catalog.select(verb) for verb in brief.verbs):
        kind, what = "verbs", f"it delivers the {brief.noun}"
    elif brief and brief.exit and at in catalog.select(brief.exit):
        kind, what = "exit", "it asks to leave the mode"
    elif brief and tool.key in brief.pins:
        kind, what = "required", f"it says honestly that no {brief.noun} is needed"
    where = _NOWHERE
    if kind != "always":
        where = profile.where.get(f"brief.{kind}") or profile.where.get("brief") or _NOWHERE
    side = "remit" if kind == "always" else profile.name
    return Fact(Layer.PIN, Verdict.ALLOW, what, side, where, kind)


def _other_verb(profile: Profile, tool: Tool) -> Fact:
    where = profile.where.get("brief.verbs") or profile.where.get("brief")
    where = where or profile.where.get("name") or _NOWHERE
    what = f"the brief in force does not name `{shown(tool.key)}`"
    return Fact(Layer.FILTER, Verdict.DENY, what, profile.name, where, "verbs")


def _denials(
    ceiling: Ceiling, catalog: Catalog, tool: Tool, shape: Shape, found: CallEffects
) -> Iterator[tuple[str, str]]:
    """Yield the facts of one side that refuse a call, by name, with what each says."""
    at = catalog.index[tool.key]
    for selector in sorted(ceiling.deny):
        if at in catalog.select(selector):
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
        if not any(at in catalog.select(s) for s in allowed):
            listed = ", ".join(f"`{s}`" for s in allowed[:6]) + (", …" if len(allowed) > 6 else "")
            yield "allow", f"`allow` names only {listed or 'nothing'}"


def _guard(
    projection: Projection, judgement: Judgement, tool: Tool, looked: Facts
) -> Iterator[Fact]:
    """Yield what the guard says besides the ceiling: protected paths, and plugins."""
    decision, found = judgement.decision, judgement.found
    for path in found.protected:
        what = f"`{path}` is protected"
        yield Fact(Layer.GUARD, Verdict.DENY, what, "remit", _NOWHERE, f"protected.{path}")
    said = dict(projection.objections(judgement.call, tool, found, looked))
    kind = "plugin"
    if decision.cause is Cause.PLUGIN and not set(decision.detail) & set(said.values()):
        # It was no guard, so it was the classifier that failed.
        kind, said = "classifier", {str(tool.classify): decision.detail[0]}
    for name, what in said.items():
        yield Fact(Layer.GUARD, Verdict.DENY, what, f"{kind} {name}", _NOWHERE, f"{kind}.{name}")


def _gate(
    compiled: Compiled, tool: Tool, shape: Shape, found: CallEffects, dial: Dial, nobody: bool
) -> Iterator[Fact]:
    """Yield what the operator's settings and the dial say of each thing that a call has."""
    catalogue = f"catalogue {tool.source}"
    for setting in compiled.settings:
        if setting.effect in found.effects and _speaks(setting, found):
            on = f" on `{setting.target}`" if setting.target else ""
            what = f"the operator set `{setting.effect}`{on} to {setting.verdict}"
            name = f"setting.{setting.effect}"
            yield Fact(Layer.GATE, setting.verdict, what, "space", _NOWHERE, name)
    told = cells(shape, found, dial, (), compiled.admitted)
    for verdict, cause, effect in told:
        where = tool.where if effect in tool.effects or cause is not Cause.EFFECT else _NOWHERE
        if cause is Cause.EFFECT:
            what, side, kind = f"under dial `{dial}` `{effect}` is {verdict}", "dial", "effect"
        elif cause is Cause.UNDECLARED:
            what, side, kind = "nobody declared what it does", catalogue, "undeclared"
        elif cause is Cause.NO_EFFECTS:
            what = f"it is of tier `{shape.tier}`, yet no effect of it is declared"
            side, kind = catalogue, "no-effects"
        else:
            what, side, kind, where = "not all of it could be read", "remit", "opaque", _NOWHERE
        yield Fact(Layer.GATE, verdict, what, side, where, f"{kind}.{effect}".rstrip("."))
    if not told:
        seen = "declared" if shape.classify is None else "seen"
        what = f"it is {seen} to change nothing"
        yield Fact(Layer.GATE, Verdict.ALLOW, what, catalogue, tool.where, "harmless")
    if nobody:
        what = "nobody can be asked, so what asks is refused"
        yield Fact(Layer.GATE, Verdict.DENY, what, "host", _NOWHERE, "nobody")


def _speaks(setting: Setting, found: CallEffects) -> bool:
    """Say whether a setting of a call's effect is about one of its targets, or may be."""
    targets = found.targets.get(setting.effect, ())
    return (
        setting.target is None
        or not targets
        or any(target_matches(setting.target, target) for target in targets)
    )
