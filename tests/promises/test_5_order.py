"""Promise 5: order is nothing. Plugins, rules and files in any order give the same decision."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

from attrs import evolve

from remit.plugins.hookspecs import hookimpl
from remit.plugins.registry import load_plugins
from remit.policy.ceiling import Ceiling
from remit.policy.profile import Side
from remit.policy.projection import Projection
from remit.policy.tools import Call, CallEffects, Facts, Tool
from remit.policy.vocabulary import Dial
from remit.profiles.library import Library
from remit.profiles.source import Source
from tests.promises.modes import HOSTS, engine, projected, worlds


def _shuffled_ceiling(ceiling: Ceiling, random: Random) -> Ceiling:
    """The same ceiling, its sets built in another order."""
    lists = [frozenset(random.sample(sorted(one), len(one))) for one in ceiling.allow]
    limits = list(ceiling.limit.items())
    return evolve(
        ceiling,
        allow=frozenset(random.sample(lists, len(lists))),
        deny=random.sample(sorted(ceiling.deny), len(ceiling.deny)),
        refuse=random.sample(sorted(ceiling.refuse), len(ceiling.refuse)),
        limit=dict(random.sample(limits, len(limits))),
    )


def test_rules() -> None:
    """Entries, settings and targets in any order: every decision is the same, detail and all."""
    random = Random(1)
    for world, case in worlds(120, seed=21):
        other = projected(
            evolve(
                world,
                sides=tuple(
                    evolve(s, ceiling=_shuffled_ceiling(s.ceiling, random)) for s in world.sides
                ),
                settings=tuple(random.sample(world.settings, len(world.settings))),
            )
        )
        assert other.hash == case.projection.hash
        for use in world.uses:
            for found in (None, use.seen):
                turned = found and evolve(
                    found, targets={e: t[::-1] for e, t in reversed(list(found.targets.items()))}
                )
                told = case.compiled.decide(use.tool, use.dial, found)
                assert other.compiled.decide(use.tool, use.dial, turned) == told


def test_tools_of_a_catalogue() -> None:
    """Tools in any order: each is judged the same by key and by name, and shown or not."""
    random = Random(2)
    for world, case in worlds(120, seed=22):
        other = projected(evolve(world, tools=tuple(random.sample(world.tools, len(world.tools)))))
        assert set(other.tools) == set(case.projection.tools)
        for tool in world.tools:
            for name in (tool.key, tool.name):
                for dial in Dial:
                    told = case.compiled.decide(name, dial)
                    assert other.compiled.decide(name, dial) == told


def test_catalogues() -> None:
    """Catalogues named in any order give the same surface and the same decisions."""
    names = engine().shipped
    for mode in engine().library.names():
        found = []
        for order in (names, names[::-1]):
            tools = engine().with_natives(engine().catalogs(order))
            projection = engine().project(engine().profile(mode), tools, HOSTS[0])
            keys = sorted(t.key for t in tools.tools)
            found.append({k: projection.judge(Call(k), Dial.ASK).decision for k in keys})
        assert found[0] == found[1]


def test_profile_files() -> None:
    """Files of a family in any order: each mode is the same, and so are the problems."""
    sources = [
        Source(f'name = "m{i}"\nextends = "{parent}"\n[ceiling]\n{text}', f"m{i}.toml")
        for i, (parent, text) in enumerate(
            [
                ("m3", 'deny = ["a"]'),
                ("m0", 'refuse = ["git.push"]'),
                ("gone", 'tier = "read"'),
                ("read-only", 'allow = ["tier:read"]'),
                ("m2", 'allow = ["b"]'),
                ("m1", 'tier = "raed"'),
            ]
        )
    ]
    random = Random(3)
    first = Library.load(sources)
    available = [n for n in first.names() if first.entry(n).profile is not None]
    assert {"m0", "m1", "m3"} <= set(available)
    assert not {"m2", "m4", "m5"} & set(available)

    for _ in range(20):
        other = Library.load(random.sample(sources, len(sources)))
        assert {str(p) for p in other.problems} == {str(p) for p in first.problems}
        assert {n: other.get(n).hash for n in available} == {
            n: first.get(n).hash for n in available
        }


def _plugin(word: str | None) -> SimpleNamespace:
    def guard_action(call: Call, tool: Tool, found: CallEffects, facts: Facts) -> str | None:
        return word

    return SimpleNamespace(guard_action=hookimpl(guard_action))


def test_plugins() -> None:
    """Plugins registered in any order refuse the same calls in the same words."""
    plugins = {"a": _plugin(None), "b": _plugin("first"), "c": _plugin("second")}
    random = Random(4)
    for world, case in worlds(20, seed=23):
        said = set()
        for _ in range(4):
            extra = dict(random.sample(list(plugins.items()), len(plugins)))
            registry = load_plugins(extra=extra)
            projection = Projection(case.compiled, HOSTS[0], {}, {}, registry.guards)
            said.add(
                tuple(projection.judge(Call(u.tool), u.dial).decision.detail for u in world.uses)
            )
        assert len(said) == 1


def test_sides_of_a_meet() -> None:
    """Who narrows first is nothing, whatever the names of the sides."""
    for world, case in worlds(60, seed=24):
        renamed = tuple(Side(f"z{i}", s.ceiling) for i, s in enumerate(world.sides[::-1]))
        other = projected(evolve(world, sides=renamed))
        assert other.hash == case.projection.hash
        assert other.preamble == case.projection.preamble
