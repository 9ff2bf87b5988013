"""Promise 4: narrowing never widens, for any chain of sides, in any order."""

from __future__ import annotations

from random import Random

import pytest
from attrs import evolve

from remit.policy.ceiling import narrow
from remit.policy.compile import Compiled
from remit.policy.profile import Side
from remit.policy.tools import CallEffects
from remit.policy.vocabulary import Dial
from remit.profiles.ceilings import parse_overlay
from remit.profiles.library import Library
from remit.profiles.source import Source
from tests.promises.modes import HOSTS, engine, findings, projected, worlds
from tests.reference.worlds import World, build

#: Sides as the files of a chain, an overlay and a child's parent state them.
_HOST = HOSTS[0]
FILES = {
    "tier": 'tier = "write"',
    "posture": 'posture = "read-only"',
    "refuse": 'refuse = ["git.*", "pr.publish"]',
    "unknown": 'unknown = "refuse"',
    "allow": 'allow = ["tier:read", "group:git"]',
    "nothing": "allow = []",
    "deny": 'deny = ["git_log", "mcp-fetch:*"]',
    "limit": 'limit = {"worktree.write" = ["docs/**"], "network.egress" = ["docs.python.org"]}',
}


def _no_wider(narrower: Compiled, wider: Compiled, seen: list[CallEffects | None]) -> None:
    for tool in wider.catalog.tools:
        for dial in Dial:
            for found in seen:
                less = narrower.decide(tool.key, dial, found)
                more = wider.decide(tool.key, dial, found)
                assert less.verdict >= more.verdict, (tool, dial, found, less, more)
    assert {t.key for t in narrower.surface} <= {t.key for t in wider.surface}


def _seen(world: World) -> list[CallEffects | None]:
    return [None, *(f for tool in world.tools[:2] for f in findings(Random(4), tool, world))]


class TestSides:
    def test_no_side_makes_a_call_fare_better(self) -> None:
        """Overlay, child and frame: with one side more no call and no surface is wider."""
        for world, case in worlds(40):
            for more in build(14, int(case.name.split()[1])).sides:
                narrowed = projected(evolve(world, sides=(*world.sides, more))).compiled
                _no_wider(narrowed, case.compiled, _seen(world))

    def test_the_meet_is_no_wider_than_any_side_alone(self) -> None:
        """A frame judged by what was shown and what holds now is no wider than either."""
        for world, case in worlds(40, seed=15):
            for side in world.sides:
                alone = projected(evolve(world, sides=(side,))).compiled
                _no_wider(case.compiled, alone, _seen(world))

    def test_the_order_of_sides_is_nothing(self) -> None:
        """Sides in any order, and twice over, give the same rows."""
        random = Random(5)
        for world, case in worlds(120, seed=16):
            shuffled = random.sample(world.sides, len(world.sides))
            for sides in (shuffled, [*world.sides, *shuffled]):
                again = projected(evolve(world, sides=tuple(sides))).compiled
                assert (again.rows, again.table) == (case.compiled.rows, case.compiled.table)


class TestFiles:
    @pytest.mark.parametrize("mode", engine().library.names())
    @pytest.mark.parametrize("stated", FILES)
    def test_an_overlay_narrows_every_mode(self, mode: str, stated: str) -> None:
        """What an operator's overlay file states can only take away, in each built-in mode."""
        tools = engine().with_natives(engine().catalogs(["mcp-git", "mcp-fetch"]))
        overlay = parse_overlay(Source(f"[ceiling]\n{FILES[stated]}", "overlay.toml"))
        profile = engine().profile(mode)
        host = engine().project(profile, tools, _HOST).host

        narrowed = engine().project(profile.under(overlay), tools, host).compiled

        seen: list[CallEffects | None] = [None, CallEffects({"git.push"}, opaque=True)]
        _no_wider(narrowed, engine().project(profile, tools, host).compiled, seen)
        assert narrowed.profile.brief == profile.brief

    @pytest.mark.parametrize("child", ["read-only", "chat", "plan"])
    @pytest.mark.parametrize("parent", engine().library.names())
    def test_a_child_is_no_wider_than_its_parent(self, parent: str, child: str) -> None:
        """A child has its own brief and, of its parent's ceiling, nothing more."""
        tools = engine().with_natives(engine().catalogs(["mcp-git", "mcp-fetch"]))
        above, own = engine().profile(parent), engine().profile(child)

        started = own.under(*above.sides)

        compiled = engine().project(started, tools, _HOST).compiled
        assert started.brief == own.brief
        assert started.ceiling == narrow(own.ceiling, above.ceiling)
        free = {t.key for t in tools.tools if t.key not in (*own.pins, *above.pins)}
        for wider in (above, own):
            surface = {t.key for t in engine().project(wider, tools, _HOST).tools}
            assert {t.key for t in compiled.surface} & free <= surface

    def test_a_chain_of_files_only_narrows(self) -> None:
        """Each profile of a chain is no wider than the one that it extends."""
        names = list(FILES)
        sources = [
            Source(
                f'name = "m{i}"\nextends = "{f"m{i - 1}" if i else "chat"}"\n'
                f"[ceiling]\n{FILES[name]}",
                f"m{i}.toml",
            )
            for i, name in enumerate(names)
        ]
        library = Library.load(sources)

        for i in range(1, len(names)):
            profile, parent = library.get(f"m{i}"), library.get(f"m{i - 1}")
            assert profile.ceiling.narrower_or_equal(parent.ceiling)
            assert profile.ceiling != parent.ceiling
            assert isinstance(profile.sides[-1], Side)
            assert profile.chain == ("chat", *(f"m{j}" for j in range(i + 1)))

    @pytest.mark.parametrize(
        ("parent", "own"),
        [
            ('tier = "read"', 'tier = "write"'),
            ('unknown = "refuse"', 'unknown = "ask"'),
            ('posture = "read-only"', 'posture = "writable"'),
        ],
    )
    def test_a_key_that_tries_to_widen_is_a_problem(self, parent: str, own: str) -> None:
        """A profile that says more than its parent allows is unavailable, and told why."""
        library = Library.load(
            [
                Source(f'name = "a"\n[ceiling]\n{parent}', "a.toml"),
                Source(f'name = "b"\nextends = "a"\n[ceiling]\n{own}', "b.toml"),
            ]
        )

        assert "widens-parent" in [p.code for p in library.problems]
        assert library.entry("b").profile is None
