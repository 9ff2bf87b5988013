"""The graph of a workflow's stages: which can be reached, and which circles nobody would end.

An edge is a ``next`` or a ``goto``. A circle is harmless where one of its stages loops (its turns
count against the budget until the model is done) or asks a person.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from remit.policy.workflow import Stage

__all__ = ["Edge", "edges", "idle_circles", "unreachable"]


@frozen
class Edge:
    """A way from one stage to another; ``gate`` is the number of the exit gate that names it."""

    start: str
    end: str
    gate: int | None = None


def edges(stages: Mapping[str, Stage]) -> tuple[Edge, ...]:
    """Return every edge between stages that are there, in the order of the file."""
    found: list[Edge] = []
    for name, stage in stages.items():
        found += [Edge(name, g.goto, i) for i, g in enumerate(stage.exit) if g.goto is not None]
        found += [Edge(name, stage.next)] if stage.next is not None else []
    return tuple(e for e in found if e.end in stages)


def unreachable(stages: Mapping[str, Stage]) -> tuple[str, ...]:
    """Return the stages that no run can come to."""
    ways: dict[str, list[str]] = {}
    for edge in edges(stages):
        ways.setdefault(edge.start, []).append(edge.end)
    todo = list(stages)[:1]
    seen = set(todo)
    while todo:
        fresh = [e for e in ways.get(todo.pop(), ()) if e not in seen]
        seen.update(fresh)
        todo += fresh
    return tuple(s for s in stages if s not in seen)


def idle_circles(stages: Mapping[str, Stage]) -> tuple[Edge, ...]:
    """Return an edge of each circle in which no stage loops and none asks: the one closing it."""
    idle = {name for name, s in stages.items() if not (s.loop or s.asks)}
    ways: dict[str, list[Edge]] = {name: [] for name in idle}
    for edge in edges(stages):
        if edge.start in idle and edge.end in idle:
            ways[edge.start].append(edge)
    closing: list[Edge] = []
    done: set[str] = set()
    for start in stages:
        if start not in idle or start in done:
            continue
        line = [start]
        left = [iter(ways[start])]
        while line:
            edge_or_none = next(left[-1], None)
            if edge_or_none is None:
                done.add(line.pop())
                left.pop()
            elif edge_or_none.end in line:
                closing.append(edge_or_none)
            elif edge_or_none.end not in done:
                line.append(edge_or_none.end)
                left.append(iter(ways[edge_or_none.end]))
    return tuple(closing)
