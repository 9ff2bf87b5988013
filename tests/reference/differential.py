"""Hold the engine against the reference model over random worlds; a difference is made small.

``./tools/differential`` runs it by the minute, the tests for a fixed number of worlds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import SystemRandom
from types import SimpleNamespace
from typing import Any, TypeVar

from attrs import evolve, frozen

import remit.policy
from remit.harness.frames import judge
from remit.policy.ceiling import TOP
from remit.policy.compile import Compiled, compile_profile
from remit.policy.decision import Decision
from remit.policy.grants import covering
from remit.policy.projection import Host, Projection
from remit.policy.tools import Call, CallEffects, Facts, Tool
from remit.policy.vocabulary import Verdict
from tests.reference import model
from tests.reference.model import Answer, Rules
from tests.reference.worlds import LOOK, Use, World, build

__all__ = ["GRANTED", "Difference", "Tally", "compare", "shares"]

#: How often each layer and cause decided: "gate", "gate/setting".
Tally = Counter[str]
#: The cause of what a grant let through, which is no decision of the policy's.
GRANTED = "granted"
#: Where two answers differ, the engine's and the model's.
Found = tuple[str, object, object]
T = TypeVar("T")


@frozen
class Difference:
    """A world, as small as it could be made, in which engine and model disagree."""

    seed: int
    number: int
    world: World
    what: str
    engine: object
    model: object

    def __str__(self) -> str:
        shown = [f"world {self.number} of seed {self.seed}: {self.what}"]
        for name in ("sides", "tools", "settings", "grants", "uses"):
            shown += [f"  {name}:", *(f"    {one}" for one in getattr(self.world, name))]
        shown += [f"  brief: {self.world.brief}", f"  askable: {self.world.askable}"]
        shown += [f"  locked: {self.world.locked}"]
        return "\n".join([*shown, f"  engine: {self.engine}", f"  model:  {self.model}"])


def compare(
    seed: int, number: int, uses: int = 100, tally: Tally | None = None, *, shrink: bool = True
) -> Difference | None:
    """Judge all calls of one world both ways; return the first difference, made small."""
    world = build(seed, number, uses)
    if not (found := next(_differences(world, tally), None)):
        return None
    if shrink:
        world, found = _shrink(world, found)
    return Difference(seed, number, world, *found)


def shares(tally: Mapping[str, int]) -> dict[str, float]:
    """Return of each layer, and of each cause in its layer, the share of calls that it decided."""
    total = sum(n for key, n in tally.items() if "/" not in key)
    return {key: n / total for key, n in sorted(tally.items())}


def _differences(world: World, tally: Tally | None = None) -> Iterator[Found]:
    rules = Rules(
        tuple(s.ceiling for s in world.sides), world.brief, world.tools, world.classifiers,
        world.settings, world.admitted, world.askable, world.grants, world.locked,
    )  # fmt: skip
    bare = rules._replace(grants=(), locked=False)
    compiled = compile_profile(
        world.profile, world.catalog, world.settings, world.admitted, world.askable
    )
    shown = [t for t in world.tools if model.pinned(rules, t) or not model.filtered(rules, t)]
    if compiled.surface != tuple(shown):
        yield "surface", [t.key for t in compiled.surface], [t.key for t in shown]
    for tool, dial in dict.fromkeys((use.tool, use.dial) for use in world.uses):
        engine = _told(compiled.decide(tool, dial))
        expected = model.judge(bare, tool, dial, lambda _: None)
        if engine != expected:
            yield f"decide `{tool}` under {dial} with nothing seen", engine, expected
    for use in world.uses:
        if use.seen is not None:
            engine = _told(compiled.decide(use.tool, use.dial, use.seen))
            expected = model.judge(bare, use.tool, use.dial, _saw(use.seen))
            if engine != expected:
                yield f"decide `{use.tool}` under {use.dial} with what was seen", engine, expected
        engine = _judged(compiled, use, world)
        looks, objection = _looks(world, use), _objection(use)
        expected = model.judge(rules, use.tool, use.dial, looks, objection, use.args)
        if tally is not None:
            tally.update((expected.layer, f"{expected.layer}/{expected.cause}"))
        if engine != expected:
            yield f"judge `{use.tool}` under {use.dial}", engine, expected


def _told(decision: Decision) -> Answer:
    dial = decision.dial and str(decision.dial)
    return Answer(decision.verdict, decision.layer, decision.cause, decision.detail, dial)


def _judged(compiled: Compiled, use: Use, world: World) -> Answer:
    """Judge as a session does: a frame of the space, and grants where it would ask."""

    def look(call: Call, tool: Tool, facts: Facts) -> CallEffects:
        if use.looked is None:
            raise ValueError("odd")
        return use.looked

    projection = Projection(
        compiled,
        Host("reference"),
        classifiers={LOOK: look},
        guards={"calm": lambda *_: None, "strict": lambda *_: use.objection},
    )
    call = Call(use.tool, use.args)
    space = SimpleNamespace(dial=use.dial, effects=world.settings, locked=world.locked)
    frame: Any = SimpleNamespace(projection=projection, space=space, floors=())
    engine: Any = None  # a step that nothing changed meanwhile needs none

    judged = judge(engine, frame, frame, lambda p, dial: p.judge(call, dial, seen=use.seen))
    found, tool = judged.judgement.found, judged.judgement.tool
    if judged.judgement.decision.verdict is Verdict.ASK and tool is not None:
        grants = [g for g in world.grants if g.tool == tool.key]
        if covering(grants, compiled.catalog.shape(tool), use.args, found, judged.asked):
            return Answer("allow", "gate", GRANTED)
    return _told(judged.judgement.decision)


def _looks(world: World, use: Use) -> Callable[[Tool], CallEffects | None]:
    """Say the same for the model: what the host saw, joined to what a classifier found."""

    def look(tool: Tool) -> CallEffects | None:
        if tool.classify not in world.classifiers or not tool.declared:
            return use.seen
        if use.looked is None:
            raise ValueError("odd")
        one, other = use.looked, use.seen or CallEffects()
        targets = {
            e: [*one.targets.get(e, ()), *other.targets.get(e, ())]
            for e in {*one.targets, *other.targets}
        }
        return CallEffects(
            {*one.effects, *other.effects},
            {e: tuple(dict.fromkeys(ts)) for e, ts in targets.items()},
            one.opaque or other.opaque,
            one.protected or other.protected,
        )

    return look


def _saw(found: CallEffects) -> Callable[[Tool], CallEffects]:
    return lambda tool: found


def _objection(use: Use) -> str | None:
    return None if use.objection is None else f"guard `strict` says: {use.objection}"


def _shrink(world: World, found: Found) -> tuple[World, Found]:
    """Leave out, one thing at a time, whatever the difference does not need."""
    again = True
    while again:
        again = False
        for smaller in _smaller(world):
            if differs := next(_differences(smaller), None):
                world, found, again = smaller, differs, True
                break
    return world, found


def _smaller(world: World) -> Iterator[World]:
    for name in ("uses", "sides", "tools", "settings", "grants"):
        given = getattr(world, name)
        if len(given) > 8:  # halves first: most of a world has nothing to do with it
            yield evolve(world, **{name: given[: len(given) // 2]})
            yield evolve(world, **{name: given[len(given) // 2 :]})
        for i in range(len(given)):
            yield evolve(world, **{name: given[:i] + given[i + 1 :]})
    if world.brief is not None:
        yield evolve(world, brief=None)
    if world.locked:
        yield evolve(world, locked=False)
    for i, side in enumerate(world.sides):
        for field in ("tier", "refuse", "unknown", "allow", "deny", "limit"):
            if getattr(side.ceiling, field) != getattr(TOP, field):
                ceiling = evolve(side.ceiling, **{field: getattr(TOP, field)})
                yield evolve(world, sides=_with(world.sides, i, evolve(side, ceiling=ceiling)))
    for i, use in enumerate(world.uses):
        plainer = [evolve(use, seen=None), evolve(use, objection=None)]
        if use.looked is not None:
            plainer.append(evolve(use, looked=CallEffects()))
        for one in plainer:
            if one != use:
                yield evolve(world, uses=_with(world.uses, i, one))


def _with(given: tuple[T, ...], at: int, one: T) -> tuple[T, ...]:
    return (*given[:at], one, *given[at + 1 :])


def main() -> None:
    """Compare for some minutes, or for some worlds; print the seed first and shares at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="go on for so long (default: 1)")
    parser.add_argument("--worlds", type=int, help="compare so many worlds instead")
    parser.add_argument("--calls", type=int, default=100, help="calls in a world (default: 100)")
    parser.add_argument("--seed", type=int, help="start from here (default: a new one, printed)")
    parser.add_argument("--engine", type=Path, help="refuse to run with another engine than this")
    parser.add_argument("--as-found", action="store_true", help="leave a failing world as it is")
    args = parser.parse_args()
    home = Path(remit.policy.__file__).resolve()
    if args.engine is not None and args.engine.resolve() not in home.parents:
        sys.exit(f"differential: the engine is `{home}`, expected one under `{args.engine}`")
    seed = SystemRandom().randrange(1 << 32) if args.seed is None else args.seed
    print(f"seed {seed}", flush=True)
    until = time.monotonic() + 60 * (args.minutes or 1)
    tally: Tally = Counter()
    number = 0
    while number < args.worlds if args.worlds is not None else time.monotonic() < until:
        if difference := compare(seed, number, args.calls, tally, shrink=not args.as_found):
            print(difference)
            sys.exit(1)
        number += 1
    for key, share in shares(tally).items():
        print(f"{'  ' * key.count('/')}{key.split('/')[-1]:<{22 - 2 * key.count('/')}}{share:7.2%}")
    print(f"{number} worlds of {args.calls} calls: engine and model agree")


if __name__ == "__main__":
    main()
