"""Graphs of things that wait for each other, as plans and pipelines name them: by their keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from remit.policy.escape import escape, quoted
from remit.policy.problems import near

__all__ = ["Knot", "knots"]

#: For how many unknown keys near ones are looked for, which costs all keys each time.
_HINTED = 20


@frozen
class Knot:
    """What keeps a graph from being walked; ``index`` is the node's, None for the whole.

    ``what`` is ``duplicate``, ``self``, ``unknown`` or ``cycle``; ``nth`` the place of the key in
    the node's list.
    """

    what: str
    index: int | None
    message: str
    hint: str = ""
    nth: int = 0


def knots(
    nodes: Sequence[tuple[str, Sequence[str]]], noun: str, one: str = "node"
) -> Iterator[Knot]:
    """Yield all that is wrong with nodes, each a key and the keys that it depends on.

    ``noun`` is what holds the nodes, ``one`` what a node is called there. Costs a step for
    each node and each dependency.
    """
    first: dict[str, int] = {}
    unknown = 0
    keys = Counter(key for key, _ in nodes)
    for index, (key, depends) in enumerate(nodes):
        if key and first.setdefault(key, index) != index:
            yield Knot(
                "duplicate", index, f"key {quoted(key)} is also that of `{one}s[{first[key]}]`"
            )
        for nth, before in enumerate(depends):
            if before == key:
                yield Knot("self", index, f"{quoted(key)} depends on itself", nth=nth)
            elif before not in keys:
                unknown += 1
                hint = near(before, keys) if unknown <= _HINTED else ""
                yield Knot(
                    "unknown",
                    index,
                    f"{quoted(key)} depends on {quoted(before)}, which is no {one}'s key",
                    hint or f"give the key of a {one} of this {noun}",
                    nth,
                )
    if cycle := _cycle({key: [d for d in depends if d != key] for key, depends in nodes}):
        yield Knot("cycle", None, f"{one}s wait for each other: {' -> '.join(cycle)}")


def _cycle(depends: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the keys of one cycle, its first key again at its end; empty where there is none."""
    done: set[str] = set()
    for start in depends:
        # Without recursion: a chain may be as long as a pipeline. A dict keeps the order of the
        # trail and says at once whether a key is on it.
        trail: dict[str, Iterator[str]] = {}
        key: str | None = start
        while key is not None:
            if key in trail:
                keys = list(trail)
                return [escape(k) for k in (*keys[keys.index(key) :], key)]
            if key not in done and key in depends:
                trail[key] = iter(depends[key])
            key = None
            while trail and key is None:
                last = next(reversed(trail))
                key = next(trail[last], None)
                if key is None:
                    trail.popitem()
                    done.add(last)
    return []
