"""Promise 3: visible is callable, hidden is refused."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from attrs import evolve

from remit.policy.ceiling import Ceiling
from remit.policy.compile import compile_profile
from remit.policy.profile import Profile, Side
from remit.policy.tools import CallEffects, Catalog, Tool
from remit.policy.vocabulary import Dial, Layer, Verdict
from tests.promises.modes import Case, built_in, findings, projected, worlds

#: Targets of which each limit of the worlds admits one, unless it admits none.
_PATTERNS = ("docs/**", "src/*.py", "**", "**/a.md", "origin feature/*", "!docs/private/**")
_TARGETS = (
    "docs/a.md", "docs/private/k", "docs/deep/down/a.md", "src/a.py", "src/in/a.py", "a.md",
    "origin main", "origin feature/x", "",
)  # fmt: skip


def _calls(case: Case, tool: Tool) -> list[CallEffects | None]:
    """The mildest calls that a tool can have, on a target within every limit where there is one."""
    if case.compiled.catalog.shape(tool).classify is None:
        return [None]
    limit = case.profile.ceiling.limit
    least = sorted(map(sorted, tool.least)) or [[]]
    return [
        CallEffects(effects, {e: (target,) for e in effects if e in limit})
        for effects in least
        for target in _TARGETS
    ]


def _within_reach(case: Case, tool: Tool) -> bool:
    """Is the question one that targets can answer: two limits may leave nothing between them."""
    limited = case.profile.ceiling.limit.keys()
    return any(not limited & set(least) for least in tool.least or [frozenset()])


def test_every_visible_tool_has_a_call_that_passes() -> None:
    """S003-24: what the model is shown can be called: some call of it is not refused under auto."""
    tried = 0
    for case in (*built_in(), *(c for world, c in worlds(150) if world.askable)):
        for tool in case.compiled.surface:
            if not _within_reach(case, tool):
                continue
            found = [case.compiled.decide(tool.key, Dial.AUTO, c) for c in _calls(case, tool)]
            early = [d for d in found if d.layer is not Layer.GUARD]
            assert early, (case.name, tool)
            tried += 1
    assert tried > 1_000


@pytest.mark.parametrize("patterns", [p for n in (0, 1, 2) for p in combinations(_PATTERNS, n)])
def test_a_limit_hides_a_tool_just_where_it_leaves_no_target(patterns: tuple[str, ...]) -> None:
    """A tool that cannot but write is shown under a limit that some target is within."""
    limit = {"worktree.write": frozenset({frozenset(patterns)})}
    write = Tool("fs", "write", effects={"worktree.write"}, classify="look",
                 least=[["worktree.write"]])  # fmt: skip
    compiled = compile_profile(
        Profile("made", sides=(Side("made", Ceiling(limit=limit)),)), Catalog([write], {"look"})
    )

    calls = [CallEffects({"worktree.write"}, {"worktree.write": (t,)}) for t in _TARGETS]
    passing = [c for c in calls if compiled.decide("write", Dial.AUTO, c).verdict is Verdict.ALLOW]

    assert compiled.admits("write") == bool(passing)


def test_every_hidden_tool_is_refused_whatever_is_seen_of_the_call() -> None:
    """A tool that the model is not shown is refused, under every dial, by the filter itself."""
    random = Random(3)
    hidden = 0
    for world, case in worlds(150):
        for tool, why in case.compiled.hidden:
            hidden += 1
            for dial in Dial:
                for found in (None, *findings(random, tool, world)):
                    decision = case.compiled.decide(tool.key, dial, found)
                    assert decision == why
                    assert (decision.verdict, decision.layer) == (Verdict.DENY, Layer.FILTER)
    assert hidden > 500


def test_the_surface_knows_no_dial_and_nobody_to_ask() -> None:
    """The surface depends on profile and catalogue alone."""
    for world, case in worlds(60):
        alone = projected(evolve(world, settings=(), askable=not world.askable))
        assert alone.tools == case.projection.tools
