"""What the promises are held against: every built-in mode over every shipped catalogue, and worlds.

A case is a profile over a catalogue for a host, projected by the built-in plugins; worlds are those
of the reference model, with their seed in the id of the test.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

from attrs import frozen

from remit.harness.engine import Engine
from remit.policy.compile import Compiled, compile_profile
from remit.policy.profile import Profile
from remit.policy.projection import Guard, Host, Projection
from remit.policy.tools import Call, CallEffects, Catalog, Facts, Tool
from tests.reference.worlds import LOOK, World, build

__all__ = ["HOSTS", "Case", "built_in", "engine", "findings", "projected", "verbs_of", "worlds"]

#: A host that enforces everything, and one that enforces nothing of it.
HOSTS = (
    Host("whole", sandbox="bubblewrap", worktree="/w", protected=("/w/.git/hooks",)),
    Host("bare", hides_tools=False, gates_calls=False, observes_contract=False),
)


@cache
def engine() -> Engine:
    """Load what is shipped, once."""
    return Engine.load()


@frozen
class Case:
    """One projection and how tests call it."""

    name: str
    projection: Projection

    @property
    def compiled(self) -> Compiled:
        """The rows."""
        return self.projection.compiled

    @property
    def profile(self) -> Profile:
        """The mode."""
        return self.projection.compiled.profile


def built_in(host: Host = HOSTS[0]) -> Iterator[Case]:
    """Yield every built-in mode over all shipped catalogues at once, and over none."""
    loaded = engine()
    for name in loaded.library.names():
        for catalog in (loaded.catalogs(loaded.shipped), Catalog()):
            tools = loaded.with_natives(catalog)
            projection = loaded.project(loaded.profile(name), tools, host)
            yield Case(f"{name} over {len(tools.tools)} tools", projection)


def worlds(count: int, seed: int = 12) -> Iterator[tuple[World, Case]]:
    """Yield random worlds, each projected by the built-in plugins."""
    for number in range(count):
        world = build(seed, number, uses=10)
        yield world, Case(f"world {number} of seed {seed}", projected(world))


def projected(
    world: World,
    host: Host = HOSTS[0],
    guards: dict[str, Guard] | None = None,
    found: CallEffects = CallEffects(),  # noqa: B008 - frozen
) -> Projection:
    """Project a world; its classifier finds ``found`` in every call."""
    compiled = compile_profile(
        world.profile, world.catalog, world.settings, world.admitted, world.askable
    )

    def look(call: Call, tool: Tool, facts: Facts) -> CallEffects:
        return found

    layers = engine().registry.project(compiled, host)
    return Projection(compiled, host, layers, {LOOK: look}, guards or {})


def findings(random: Random, tool: Tool, world: World) -> Iterator[CallEffects]:
    """Yield some of what may be seen of a call of a tool, from nothing to all of it."""
    yield CallEffects()
    yield CallEffects(tool.effects)
    yield CallEffects(tool.effects, opaque=True)
    for least in sorted(map(sorted, tool.least)):
        yield CallEffects(least)
    uses = [use.seen or use.looked for use in world.uses]
    yield from (found for found in random.sample(uses, 3) if found is not None)


def verbs_of(case: Case) -> tuple[str, ...]:
    """Return the mode's own verbs that are in the catalogue, as they were declared."""
    tools = case.compiled.catalog.tools
    serving = {t.key for t in tools if t.native or (t.declared and (t.verb or t.exit))}
    return tuple(key for key in case.profile.pins if key in serving)
