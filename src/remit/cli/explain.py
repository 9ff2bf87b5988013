"""`remit explain`: why a call is judged as it is, or a tool not there, down to the line."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve

from remit.cli.options import Place, as_json, dial, in_workspace, with_catalogs, with_narrowing
from remit.cli.output import emit, note, say, table, where_value, width
from remit.cli.parts import part_values, show_parts
from remit.policy.decision import Cause
from remit.policy.escape import quoted
from remit.policy.explain import Explanation, Fact
from remit.policy.explain import explain as trace
from remit.policy.problems import InputError, Problem, near
from remit.policy.profile import Profile
from remit.policy.projection import Projection
from remit.policy.selectors import admits_targets
from remit.policy.tools import Call, Tool
from remit.policy.vocabulary import Dial, Layer, in_order

if TYPE_CHECKING:
    from remit.harness.store import Space
    from remit.plugins.shell import Reading

__all__ = ["explain"]

_LAYERS = (Layer.PIN, Layer.FILTER, Layer.GUARD, Layer.GATE)


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="MODE TOOL")
@click.option("--args", metavar="JSON", default="{}", help="The arguments of the call, an object.")
@with_catalogs
@click.option(
    "--space", metavar="ID",
    help="As in this space: its dial, settings, overlay and worktree; MODE may be left out.",
)  # fmt: skip
@click.option(
    "--worktree",
    metavar="DIR",
    help="Where the call would run (default: the space's, else nowhere).",
)
@dial(
    "--dial", "--autonomy", "dial", help="The dial of the space (default: the space's, else ask)."
)
@with_narrowing
@as_json
@in_workspace
def explain(
    place: Place,
    names: tuple[str, ...],
    args: str,
    catalogs: tuple[str, ...],
    space: str | None,
    worktree: str | None,
    dial: str | None,
    parents: tuple[str, ...],
    overlay: str | None,
    as_json: bool,
) -> None:
    """Say why a call of TOOL in MODE is judged as it is, or why MODE does not have it.

    Layer by layer: what was declared, by whom and in which line, what decided, what it shadowed,
    and one smallest change that would flip it.
    """
    found = _space(place, space)
    mode, name = _names(names, found)
    call = Call(name, _arguments(args))
    held = Dial(dial) if dial else found.dial if found else Dial.ASK
    # Whoever asks why an example comes out otherwise has a mode that does not fit.
    projection = place.project(mode, catalogs, *parents, overlay=overlay, space=found, unfit=True)
    if worktree is not None:
        host = evolve(projection.host, worktree=os.path.abspath(worktree))
        projection = evolve(projection, host=host)
    told = _traced(place, projection, call, held)
    elsewhere = _elsewhere(place, place.engine.profile(mode), projection, call, held, told)
    read = _read(place, projection, told)
    if as_json:
        emit(_value(projection, told, held, elsewhere) | {"parts": _part_values(projection, read)})
    else:
        _show(projection, told, held, elsewhere, read)
    if found is not None and found.locked:
        note(f"space {found.id} is locked: whatever is said here, no call of it is forwarded")


def _space(place: Place, id: str | None) -> Space | None:
    if id is None:
        return None
    with place.store() as store:
        return store.spaces.get(id)


def _names(names: tuple[str, ...], space: Space | None) -> tuple[str, str]:
    if len(names) == 1 and space is not None:
        return space.mode, names[0]
    if len(names) != 2:
        raise click.UsageError(f"expected MODE TOOL, got {len(names)} names")
    return names[0], names[1]


def _arguments(text: str) -> dict[str, Any]:
    try:
        args = json.loads(text)
    except (ValueError, RecursionError):
        args = None
    if not isinstance(args, dict):
        hint = """such as --args '{"path": "docs/a.md"}'"""
        message = f"`--args` is to be a JSON object, got {quoted(text)}"
        raise InputError(Problem("bad-arguments", message, hint))
    return args


def _traced(place: Place, projection: Projection, call: Call, dial: Dial) -> Explanation:
    tool = projection.compiled.catalog.get(call.tool)
    facts, found = place.look(call, tool, projection.host)
    judged = projection.judge(call, dial, facts, found)
    return trace(projection, judged, dial, facts, found)


def _elsewhere(
    place: Place,
    base: Profile,
    projection: Projection,
    call: Call,
    dial: Dial,
    told: Explanation,
) -> dict[str, str]:
    """Return the verdict of every other mode that judges the call otherwise."""
    if told.judgement.tool is None:
        return {}
    found: dict[str, str] = {}
    compiled, engine = projection.compiled, place.engine
    # What narrows this mode would narrow another too.
    more = compiled.profile.sides[len(base.sides) :]
    for entry in engine.library.entries:
        if entry.profile is not None and entry.name != projection.mode:
            profile = entry.profile.under(*more)
            other = engine.project(profile, compiled.catalog, projection.host, compiled.settings)
            verdict = _traced(place, other, call, dial).judgement.decision.verdict
            if verdict is not told.judgement.decision.verdict:
                found[entry.name] = verdict.value
    return found


def _read(place: Place, projection: Projection, told: Explanation) -> tuple[Reading, ...]:
    """Return what was read of the command lines of a call; nothing of what is not judged by one."""
    from remit.plugins.classifiers import readings

    tool, call = told.judgement.tool, told.judgement.call
    if tool is None or tool.classify is None:
        return ()
    facts, _ = place.look(call, tool, projection.host)
    return readings(call, tool, facts, place.engine.registry.programs)


def _part_values(projection: Projection, read: tuple[Reading, ...]) -> list[dict[str, Any]]:
    limit = projection.compiled.profile.ceiling.limit
    return [
        part
        | {
            "outside": {
                effect: out
                for effect, targets in part["targets"].items()
                if (out := [t for t in targets if not _within(limit.get(effect, ()), t)])
            }
        }
        for reading in read
        for part in part_values(reading)
    ]


def _within(lists: Iterable[frozenset[str]], target: str) -> bool:
    return all(admits_targets(patterns, (target,)) for patterns in lists)


def _show_parts(projection: Projection, read: tuple[Reading, ...]) -> None:
    """Print the command underlined, with the reason per part and what is outside a limit."""
    ceiling = projection.compiled.profile.ceiling
    for reading in read:
        says: dict[tuple[str, str], str] = {}
        for effect, targets in reading.targets.items():
            for target in targets:
                if effect in ceiling.refuse:
                    says[effect, target] = " (refused)"
                elif not _within(ceiling.limit.get(effect, ()), target):
                    says[effect, target] = " (outside the limit)"
        show_parts(reading.text, part_values(reading), says)


def _state(told: Explanation, projection: Projection) -> str:
    tool = told.judgement.tool
    if tool is None:
        return "unknown"
    if told.judgement.decision.layer is Layer.PIN:
        return "pinned"
    return "visible" if projection.compiled.admits(tool.key) else "hidden"


def _near(projection: Projection, told: Explanation) -> str:
    """Say which tools were probably meant, of all that are known."""
    decision, catalog = told.judgement.decision, projection.compiled.catalog
    if decision.cause is Cause.UNKNOWN_TOOL:
        name = told.judgement.call.tool
        return near(name, [t.key if ":" in name else t.name for t in catalog.tools])
    return ""


def _outcome(layer: Layer, told: Explanation) -> str:
    decided = told.judgement.decision.layer
    if layer is decided:
        return "decided"
    return "passed" if _LAYERS.index(layer) < _LAYERS.index(decided) else "not reached"


def _value(
    projection: Projection, told: Explanation, dial: Dial, elsewhere: dict[str, str]
) -> dict[str, Any]:
    judged, decision = told.judgement, told.judgement.decision
    text = projection.text(judged)
    return {
        "mode": projection.mode,
        "tool": judged.call.tool,
        "dial": dial.value,
        "state": _state(told, projection),
        "verdict": decision.verdict.value,
        "layer": decision.layer.value,
        "cause": decision.cause.value,
        "reason": text.reason,
        "hint": _near(projection, told) or text.hint,
        "effects": list(in_order(judged.found.effects)),
        "targets": {e: list(judged.found.targets[e]) for e in in_order(judged.found.targets)},
        "opaque": judged.found.opaque,
        "declared": judged.tool and _tool_value(projection, judged.tool),
        "layers": [{"layer": layer.value, "outcome": _outcome(layer, told)} for layer in _LAYERS],
        "decided": [_fact_value(f) for f in told.decided],
        "shadowed": [_fact_value(f) for f in told.shadowed],
        "flip": {"change": told.flip, "becomes": told.becomes.value} if told.becomes else None,
        "elsewhere": elsewhere,
    }


def _tool_value(projection: Projection, tool: Tool) -> dict[str, Any]:
    return {
        "source": tool.source,
        "name": tool.name,
        "tier": tool.tier.value,
        "effects": list(in_order(tool.effects)),
        "declared": projection.compiled.catalog.declared(tool),
        "where": where_value(tool.where),
    }


def _fact_value(fact: Fact) -> dict[str, Any]:
    return {
        "layer": fact.layer.value,
        "verdict": fact.verdict.value,
        "name": fact.name,
        "what": fact.what,
        "side": fact.side,
        "where": where_value(fact.where),
    }


def _show(
    projection: Projection,
    told: Explanation,
    dial: Dial,
    elsewhere: dict[str, str],
    read: tuple[Reading, ...],
) -> None:
    judged, tool = told.judgement, told.judgement.tool
    say(f"{judged.decision.verdict}: {projection.text(judged).reason}")
    if tool is None:
        say(_near(projection, told) or projection.text(judged).hint)
        return
    effects = ", ".join(in_order(tool.effects)) or "no effects"
    if not projection.compiled.catalog.declared(tool):
        effects = "not declared"
    at = f" ({tool.where})" if tool.where.file else ""
    say(f"{tool.key}: tier {tool.tier}, {effects}{at}")
    say(f"{_state(told, projection)} in {projection.mode} mode, judged under dial {dial}")
    _show_parts(projection, read)
    say()
    table(("", "layer", "says", "why", "stated by", "where"), _rows(told))
    say()
    say("> decided; what other rows say would have counted after it")
    say(f"to flip it: {told.flip or 'no change of a declaration does'}")
    if elsewhere:
        say("in other modes: " + ", ".join(f"{m} {v}" for m, v in elsewhere.items()))


def _rows(told: Explanation) -> Iterator[tuple[str, ...]]:
    """Yield a row a fact, layer by layer; one for a layer that has none."""
    room = max(36, width() - 62)
    for layer in _LAYERS:
        facts = [f for f in (*told.decided, *told.shadowed) if f.layer is layer]
        if not facts:
            yield "", layer.value, "-", _outcome(layer, told), "", ""
        for fact in facts:
            mark = ">" if fact in told.decided else ""
            for i, part in enumerate(textwrap.wrap(fact.what, room, break_on_hyphens=False)):
                head = (mark, layer.value, fact.verdict.value) if not i else ("", "", "")
                where = str(fact.where) if fact.where.file else ""
                yield (*head, part, *((fact.side, where) if not i else ("", "")))
