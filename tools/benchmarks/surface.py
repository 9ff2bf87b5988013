"""The surface of 10,000 tools: asked for the first time, and again."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from remit.policy.compile import compile_profile
from tools.benchmarks.ratios import Figure, ratio
from tools.benchmarks.worlds import catalog, profiles

__all__ = ["figures"]

_TIMES = 10_000


def figures(short: bool) -> Iterator[Figure]:
    """Yield the first one by a set comprehension, a repeated one by a look-up, and compiling."""
    rounds = 9 if short else 41
    known = catalog(10_000)
    mode = profiles(4)[1]
    compiled = compile_profile(mode, known)
    names = [t.key for t in known.tools]
    shown = {t.key for t in compiled.surface}
    table = {"space": {"surface": compiled.surface}}

    def look(space: str, name: str) -> object:
        return table[space][name]

    def again() -> None:
        for _ in range(_TIMES):
            compiled.surface  # noqa: B018

    def looks() -> None:
        for _ in range(_TIMES):
            look("space", "surface")

    def comprehension() -> object:
        return {name for name in names if name in shown}

    # A copy has nothing that was worked out late.
    yield ratio(
        "surface of 10,000 tools, first", comprehension, lambda: evolve(compiled).surface, 3,
        rounds=rounds,
    )  # fmt: skip
    yield ratio("surface of 10,000 tools, repeated", looks, again, 5, rounds=rounds, per=_TIMES)
    yield ratio(
        "compiling a mode over 10,000 tools", comprehension, lambda: compile_profile(mode, known),
        None, rounds=rounds,
    )  # fmt: skip
