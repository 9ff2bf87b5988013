"""What a listed tool is taken to be."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from remit.harness.gateway.declared import declared
from remit.harness.gateway.relay import LiveTool
from remit.policy.tools import Learnt, Tool
from remit.policy.vocabulary import Tier

SCHEMA = {"type": "object"}


def live(**more: Any) -> LiveTool:
    return LiveTool.of({"name": "t", "description": "d", "inputSchema": SCHEMA, **more})


def hinted(**hints: bool) -> LiveTool:
    return live(annotations=hints)


READS = Tool("notes", "t", Tier.READ, ())
WRITES = Tool("notes", "t", Tier.WRITE, ["worktree.write"], verb=True)


def test_the_operators_name_keeps_the_catalogues_own() -> None:
    """A tool bound under a server's name is known by it, and by its catalogue's source."""
    tool = declared("desk", live(), {"t": WRITES}).tool

    assert (tool.key, tool.origin, tool.verb, tool.declared) == ("desk:t", "notes", True, True)


def test_what_nobody_declared() -> None:
    """It is undeclared, and of the highest tier; so is a tool that bears a key for a name."""
    other = LiveTool.of({"name": "notes:t", "inputSchema": SCHEMA})
    for one in (declared("desk", live(), {}), declared("desk", other, {"t": READS})):
        assert (one.tool.declared, one.tool.tier, one.problem) == (False, Tier.EXECUTE, None)


@pytest.mark.parametrize(
    ("bound", "listed", "stays"),
    [
        (READS, hinted(), True),
        (READS, hinted(readOnlyHint=True), True),
        (READS, hinted(readOnlyHint=True, destructiveHint=True), True),
        (READS, hinted(readOnlyHint=False), False),
        (READS, hinted(destructiveHint=True), False),
        (READS, hinted(destructiveHint=False, openWorldHint=True), True),
        (READS, live(annotations="none"), True),
        (WRITES, hinted(readOnlyHint=False, destructiveHint=True), True),
        (WRITES, hinted(readOnlyHint=True), True),
    ],
)
def test_a_servers_hints_only_take_away(bound: Tool, listed: LiveTool, stays: bool) -> None:
    """A tool that was declared to read, and whose server says that it writes, is undeclared."""
    found = declared("desk", listed, {"t": bound})

    assert found.tool.declared is stays
    assert found.tool.tier is (bound.tier if stays else Tier.EXECUTE)
    assert (found.problem is None) is stays
    if found.problem is not None:
        assert found.problem.code == "tool-annotated"


@pytest.mark.parametrize(
    ("listed", "effects"),
    [
        (hinted(readOnlyHint=True), {"network.egress"}),
        (hinted(readOnlyHint=True, openWorldHint=True), {"network.egress"}),
        (hinted(readOnlyHint=True, openWorldHint=False), set()),
        (hinted(readOnlyHint=False, openWorldHint=False), None),
        (hinted(openWorldHint=False), None),
        (live(), None),
    ],
)
def test_the_word_of_a_trusted_server(listed: LiveTool, effects: set[str] | None) -> None:
    """That a tool reads stands in for a declaration; that it may reach out is supposed."""
    trusted = declared("desk", listed, {}, trusted=True).tool

    assert trusted.declared is (effects is not None)
    assert (trusted.tier is Tier.READ) is (effects is not None)
    assert trusted.effects == (effects or set())
    assert not declared("desk", listed, {}).tool.declared


def test_the_word_of_a_trusted_server_widens_nothing() -> None:
    """What the operator declared stays as it was declared."""
    found = declared("desk", hinted(readOnlyHint=True), {"t": WRITES}, trusted=True)

    assert found.tool.effects == WRITES.effects


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (live(), None),
        (live(title="Other", annotations={"readOnlyHint": True}), None),
        (live(description="d, and sends it home"), "its description is not as reviewed"),
        (live(inputSchema={"type": "object", "required": []}), "its schema is not as reviewed"),
    ],
)
def test_a_tool_that_is_not_what_was_reviewed(listed: LiveTool, told: str | None) -> None:
    """Another description or schema makes a pinned tool undeclared, and what changed is told."""
    pinned = evolve(READS, learnt=Learnt.of("t", "d", SCHEMA))
    found = declared("desk", listed, {"t": pinned}, trusted=True)

    assert found.tool.declared is (told is None)
    if told is None:
        assert found.changed is None
        return
    assert found.changed is not None
    assert found.problem is not None
    assert told in found.problem.message
    assert "remit catalog trust desk:t" in found.problem.hint
    assert "+ " in found.problem.hint
