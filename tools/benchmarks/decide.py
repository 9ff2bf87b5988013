"""One decision, without and with its text, by a look-up in two dicts behind a function."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from remit.policy.compile import compile_profile
from remit.policy.vocabulary import Dial
from tools.benchmarks.ratios import Figure, Work, ratio
from tools.benchmarks.worlds import catalog, profiles

__all__ = ["figures"]

_REQUESTS = 2_000


def figures(short: bool) -> Iterator[Figure]:
    """Yield the ratios at each size, then how the largest fares by the smallest.

    The time itself grows with what a processor's cache holds; that of the base grows more.
    """
    sizes = [(4, 20), (40, 2_000)] if short else [(4, 20), (40, 2_000), (400, 10_000)]
    rounds = 9 if short else 41
    loops, plain = [], []
    for modes, tools in sizes:
        base, decide, text = _loops(modes, tools)
        size = f"{modes} modes x {tools:,} tools"
        plain.append(ratio(f"decide, {size}", base, decide, 3, rounds=rounds, per=_REQUESTS))
        yield plain[-1]
        yield ratio(f"decide with text, {size}", base, text, 6, rounds=rounds, per=_REQUESTS)
        loops.append((base, decide))
    grown = plain[-1].value / plain[0].value
    yield Figure("decide by the base, largest by smallest", grown, 1.5)
    names = ("base", "decide")
    for name, smallest, largest in zip(names, loops[0], loops[-1], strict=True):
        yield ratio(f"{name}, time at largest by smallest", smallest, largest, None, rounds=rounds)


def _loops(modes: int, tools: int) -> tuple[Work, Work, Work]:
    known = catalog(tools)
    names = [t.key for t in known.tools]
    random = Random(modes)
    compiled = [compile_profile(p, known) for p in profiles(modes)]
    dials = [random.choice(list(Dial)) for _ in compiled]
    spaces = {f"space-{i}": pair for i, pair in enumerate(zip(compiled, dials, strict=True))}
    table = {
        space: {name: mode.decide(name, dial) for name in names}
        for space, (mode, dial) in spaces.items()
    }
    requests = [(random.choice(list(spaces)), random.choice(names)) for _ in range(_REQUESTS)]

    def look(space: str, name: str) -> object:
        return table[space][name]

    def base() -> None:
        for space, name in requests:
            look(space, name)

    def decide() -> None:
        for space, name in requests:
            mode, dial = spaces[space]
            mode.decide(name, dial)

    def text() -> None:
        for space, name in requests:
            mode, dial = spaces[space]
            mode.decide(name, dial).sentence(mode.profile.name, name)

    return base, decide, text
