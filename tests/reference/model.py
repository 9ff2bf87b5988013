"""Section 6 of the design again, in slow and obvious lines that share no code with the engine.

It takes the engine's values as input and reads nothing but their fields. Where several sides meet
it asks each side in turn and never combines them. Texts of causes are those of `Decision`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from remit.policy.ceiling import Ceiling
from remit.policy.gate import Setting
from remit.policy.grants import Grant
from remit.policy.profile import Brief
from remit.policy.tools import CallEffects, Tool
from tests.reference.words import hopeless, like, names, ordered

TIERS = ["read", "write", "execute"]
VERDICTS = ["allow", "ask", "deny"]
#: dial: nothing world-changing; worktree.write; other changes and what is opaque; nobody said.
TABLE = {
    "propose": ("allow", "deny", "deny", "deny"),
    "ask": ("allow", "ask", "ask", "ask"),
    "accept-edits": ("allow", "allow", "ask", "ask"),
    "auto": ("allow", "allow", "allow", "ask"),
}


class Rules(NamedTuple):
    """What holds for a call: the sides that meet, the brief in force, the tools, the space."""

    sides: tuple[Ceiling, ...]
    brief: Brief | None
    tools: tuple[Tool, ...]
    classifiers: frozenset[str]
    settings: tuple[Setting, ...]
    admitted: frozenset[str]
    askable: bool
    grants: tuple[Grant, ...] = ()
    locked: bool = False


class Answer(NamedTuple):
    """Verdict, layer, cause, what the cause is about, and the dial where it had a say."""

    verdict: str
    layer: str
    cause: str
    detail: tuple[str, ...] = ()
    dial: str | None = None


#: A locked space forwards nothing, of servers' tools.
LOCKED = Answer("deny", "gate", "locked")


def judge(
    rules: Rules,
    name: str,
    dial: str,
    look: Callable[[Tool], CallEffects | None],
    objection: str | None = None,
    args: Mapping[str, Any] | None = None,
) -> Answer:
    """Pin, filter, guard, gate: the first that decides wins; a guard of a plugin is a guard."""
    bearers = [t for t in rules.tools if f"{t.source}:{t.name}" == name]
    bearers = bearers or [t for t in rules.tools if t.name == name]
    if not bearers:
        return Answer("deny", "filter", "unknown-tool")
    bearers = [t for t in bearers if t.source == "remit"] or bearers
    if len(bearers) > 1:
        keys = sorted(f"{t.source}:{t.name}" for t in bearers)
        return Answer("deny", "filter", "ambiguous-name", tuple(keys))
    tool = bearers[0]
    if pinned(rules, tool):
        shut = rules.locked and tool.source != "remit"
        return LOCKED if shut else Answer("allow", "pin", "pinned")
    if refused := filtered(rules, tool):
        return refused
    try:
        call = does(rules, tool, look(tool))
    except Exception as error:
        said = f"classifier `{tool.classify}` failed with {type(error).__name__}: {error}"
        return Answer("deny", "guard", "plugin", (said,))
    if refused := guarded(rules, tool, call):
        return refused
    if objection is not None:
        return Answer("deny", "guard", "plugin", (objection,))
    answer = gated(rules, tool, call, dial)
    if rules.locked and answer.verdict != "deny":
        return LOCKED
    if answer.verdict == "ask" and granted(rules, tool, call, dial, args or {}):
        return Answer("allow", "gate", "granted")
    return answer


def pinned(rules: Rules, tool: Tool) -> bool:
    """Is it a verb of the brief, or one that every mode has; by source and name."""
    wanted = {"remit:ask_user", "remit:mode"}
    if rules.brief is not None:
        wanted |= {*rules.brief.verbs, rules.brief.exit or ""}
        wanted |= {"remit:nothing_to_deliver"} if rules.brief.required else set()
    serves = tool.source == "remit" or (tool.declared and (tool.verb or tool.exit))
    return serves and not wanted.isdisjoint(f"{s}:{tool.name}" for s in (tool.source, tool.origin))


def filtered(rules: Rules, tool: Tool) -> Answer | None:
    """Say why a tool is not in the surface, None if it is."""
    if tool.source == "remit":
        return Answer("deny", "filter", "other-verb")
    if denying := [s for side in rules.sides for s in side.deny if names(s, tool)]:
        return Answer("deny", "filter", "denied", (min(denying),))
    if any(TIERS.index(tool.tier) > TIERS.index(side.tier) for side in rules.sides):
        return Answer("deny", "filter", "tier", (tool.tier,))
    if undeclared(rules, tool) and refuses_unknown(rules):
        return Answer("deny", "filter", "undeclared")
    if tool.classify is None or undeclared(rules, tool):
        if refused := certainly(rules, tool.effects, limits=True):
            return refused
    else:
        every = [certainly(rules, least, limits=False) for least in tool.least or [frozenset()]]
        if all(every):
            return min(refused for refused in every if refused)
    # Last: what is refused of a tool says more than that no list named it (decision record 0003).
    for side in rules.sides:
        for allowed in side.allow:
            if not any(names(selector, tool) for selector in allowed):
                return Answer("deny", "filter", "not-admitted")
    return None


def certainly(rules: Rules, effects: frozenset[str], limits: bool) -> Answer | None:
    """Say what refuses a call that has just these effects, and no target that can be seen."""
    if hit := [e for e in effects if any(e in side.refuse for side in rules.sides)]:
        return Answer("deny", "filter", "refused", ordered(hit))
    # Limits that plainly leave no target are a refusal; any limit is, where nobody can look.
    lists = [(e, limits_on(rules, e)) for e in effects]
    if hit := [e for e, ps in lists if ps and (limits or hopeless(ps))]:
        return Answer("deny", "filter", "limit", ordered(hit))
    if "process.spawn" in effects and refuses_unknown(rules):
        return Answer("deny", "filter", "unread")
    return None


def does(rules: Rules, tool: Tool, found: CallEffects | None) -> CallEffects:
    """Say what a call does, given what was found of it."""
    classified = tool.classify is not None and not undeclared(rules, tool)
    if found is None:
        found = CallEffects(tool.effects, opaque=classified)
    effects = found.effects if classified else found.effects | tool.effects
    beyond = classified and not effects <= tool.effects
    opaque = found.opaque or beyond or "process.spawn" in effects
    return CallEffects(effects, found.targets, opaque, found.protected)


def guarded(rules: Rules, tool: Tool, call: CallEffects) -> Answer | None:
    """Say why a call is refused whatever the dial, None if it is not."""
    if hit := [e for e in call.effects if any(e in side.refuse for side in rules.sides)]:
        return Answer("deny", "guard", "refused", ordered(hit))
    lists = [(e, patterns) for e in call.effects for patterns in limits_on(rules, e)]
    if outside := [e for e, ps in lists if not within(ps, call.targets.get(e, ()))]:
        return Answer("deny", "guard", "limit", ordered(outside))
    if call.protected:
        return Answer("deny", "guard", "protected", tuple(call.protected))
    if (call.opaque or undeclared(rules, tool)) and refuses_unknown(rules):
        return Answer("deny", "guard", "unread")
    return None


def gated(rules: Rules, tool: Tool, call: CallEffects, dial: str) -> Answer:
    """Say what the strictest cell says."""
    cells = cells_of(rules, tool, call, dial)
    verdict = max((v for v, _, _ in cells), key=VERDICTS.index, default="allow")
    if verdict == "ask" and not rules.askable:
        return Answer("deny", "gate", "nobody-to-ask", (), dial)
    about = {cause: [e for v, c, e in cells if (v, c) == (verdict, cause)] for _, cause, _ in cells}
    if about.get("setting"):
        return Answer(verdict, "gate", "setting", ordered(about["setting"]))
    if verdict == "allow":
        if changes := [e for e in about.get("effect", []) if e not in rules.admitted]:
            return Answer("allow", "gate", "effect", ordered(changes), dial)
        if not call.opaque:
            return Answer("allow", "gate", "harmless")
    telling = [c for c in ("undeclared", "no-effects", "unread", "effect") if about.get(c)]
    return Answer(verdict, "gate", telling[0], ordered(about[telling[0]]), dial)


def granted(
    rules: Rules, tool: Tool, call: CallEffects, dial: str, args: Mapping[str, Any]
) -> bool:
    """Say whether grants answer: one of the arguments, or one for each target of what asks."""
    if undeclared(rules, tool) or call.opaque:
        return False
    own = [g for g in rules.grants if g.tool == f"{tool.source}:{tool.name}"]
    if any(g.args is not None and json.loads(g.args) == args for g in own):
        return True
    for effect in {e for verdict, _, e in cells_of(rules, tool, call, dial) if verdict == "ask"}:
        targets = call.targets.get(effect, ())
        mine = [g.target for g in own if g.effect == effect]
        if not targets or not all(any(like(p or "", t) for p in mine) for t in targets):
            return False
    return True


def cells_of(rules: Rules, tool: Tool, call: CallEffects, dial: str) -> list[tuple[str, str, str]]:
    """Read the table, with the operator's settings in the place of cells."""
    cells = []
    for effect in ordered(call.effects):
        for target in call.targets.get(effect, ()) or [None]:
            cells.append((*cell(rules, effect, target, dial), effect))
    if undeclared(rules, tool):
        cells.append((TABLE[dial][3], "undeclared", ""))
    elif tool.tier != "read" and not tool.effects:
        cells.append((TABLE[dial][3], "no-effects", ""))
    if call.opaque:
        cells.append((TABLE[dial][2], "unread", ""))
    return cells


def cell(rules: Rules, effect: str, target: str | None, dial: str) -> tuple[str, str]:
    """Return what becomes of one effect on one target (None: not seen), and what says so."""
    column = 0 if effect in rules.admitted else 1 if effect == "worktree.write" else 2
    table = TABLE[dial][column]
    if dial == "propose" and table == "deny":
        return table, "effect"
    own = [s for s in rules.settings if s.effect == effect]
    said = [s.verdict for s in own if s.target is None]
    usual = VERDICTS.index(max(said, key=VERDICTS.index, default=table))
    for one in own:
        if one.target is not None and target is not None and like(one.target, target):
            said.append(one.verdict)
        # What was not seen may be any target, so what would be stricter there holds.
        if one.target is not None and target is None and VERDICTS.index(one.verdict) > usual:
            said.append(one.verdict)
    return (max(said, key=VERDICTS.index), "setting") if said else (table, "effect")


def undeclared(rules: Rules, tool: Tool) -> bool:
    """Did nobody say what it does, or in a way that nobody here can judge."""
    return not tool.declared or (tool.classify or "") not in {"", *rules.classifiers}


def refuses_unknown(rules: Rules) -> bool:
    """Does any side refuse what cannot be judged."""
    return any(side.unknown == "refuse" for side in rules.sides)


def limits_on(rules: Rules, effect: str) -> list[frozenset[str]]:
    """Return every list of patterns that any side holds an effect to."""
    return [one for side in rules.sides for one in side.limit.get(effect, ())]


def within(patterns: frozenset[str], targets: tuple[str, ...]) -> bool:
    """Say whether all targets match a pattern and no excluding one; no target is outside."""
    wanted = [p for p in patterns if p[0] != "!"]
    unwanted = [p[1:] for p in patterns if p[0] == "!"]
    inside = [any(like(p, t) for p in wanted) for t in targets]
    return inside != [] and all(inside) and not any(like(p, t) for p in unwanted for t in targets)
