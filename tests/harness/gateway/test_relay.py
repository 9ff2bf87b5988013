"""What passes between the two sides, value by value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.harness.gateway.changes import Notice
from remit.harness.gateway.messages import Lines, parsed
from remit.harness.gateway.relay import (
    LiveTool,
    admitted,
    fitting,
    foreign_free,
    result_for,
)

MODERN, LEGACY = "2026-07-28", "2025-11-25"
STAMP: dict[str, Any] = {"io.modelcontextprotocol/serverInfo": {"name": "remit"}}
KEYS = st.sampled_from(["a", "progressToken", "io.modelcontextprotocol/x", "example.org/b"])
METAS = st.none() | st.dictionaries(KEYS, st.integers())


def tool(**more: Any) -> dict[str, Any]:
    """A tool as it is listed."""
    return {"name": "t", "inputSchema": {"type": "object"}, **more}


@given(METAS, st.dictionaries(st.sampled_from(["content", "isError", "x"]), st.integers()))
def test_foreign_free(meta: dict[str, int] | None, rest: dict[str, int]) -> None:
    """Keys of one connection go, everything else stays as it was."""
    value = rest if meta is None else {**rest, "_meta": meta}
    kept = foreign_free(value)
    assert {k: v for k, v in kept.items() if k != "_meta"} == rest
    own = {k: v for k, v in (meta or {}).items() if k in ("a", "example.org/b")}
    assert kept.get("_meta") == (own or (None if meta is not None else kept.get("_meta")))


@given(st.sampled_from([MODERN, LEGACY]), METAS, st.booleans())
def test_result_for(version: str, meta: dict[str, int] | None, structured: bool) -> None:
    """A result has its content, and the envelope of the client's era and of no other."""
    raw: dict[str, Any] = {"content": [{"type": "text", "text": "x"}], "resultType": "complete"}
    if meta is not None:
        raw["_meta"] = meta
    if structured:
        raw["structuredContent"] = {"a": 1}
    result = result_for(version, raw, lambda: STAMP)
    assert result["content"] == raw["content"]
    assert result.get("structuredContent") == raw.get("structuredContent")
    assert result.get("resultType") == ("complete" if version == MODERN else None)
    stamped = "io.modelcontextprotocol/serverInfo" in result.get("_meta", {})
    assert stamped == (version == MODERN)


def test_structured_list() -> None:
    """Structured content that is no object reaches modern clients; legacy ones have no place."""
    raw = {"content": [], "structuredContent": [1]}
    assert result_for(MODERN, raw, lambda: STAMP)["structuredContent"] == [1]
    assert "structuredContent" not in result_for(LEGACY, raw, lambda: STAMP)


def test_hash() -> None:
    """A tool's hash is over name, description and schema, and over nothing else."""
    base = LiveTool.of(tool(description="d")).hash
    assert LiveTool.of(tool(description="d", title="T", _meta={"a": 1})).hash == base
    assert LiveTool.of(tool(description="e")).hash != base
    assert LiveTool.of(tool(description="d", inputSchema={})).hash != base


@pytest.mark.parametrize(
    ("listed", "codes"),
    [
        ([tool()], []),
        ([tool(), tool()], ["duplicate-tool"]),
        ([tool(name="mode")], ["tool-name-taken"]),
        ([tool(name="remit:mode")], ["tool-name-taken"]),
        ([tool(name="s:t"), tool(name="t:s")], ["bad-tool-name"]),
        (
            [tool(name="a b"), tool(name=""), tool(name="x" * 129), tool(name=None)],
            ["bad-tool-name"] * 4,
        ),
        (["text", None, 7], ["bad-tool-name"] * 3),
        ([{"name": "t"}], ["tool-malformed"]),
        ([tool(description=7)], ["tool-malformed"]),
        ([tool(inputSchema={"x": float("nan")})], ["tool-malformed"]),
    ],
)
def test_admitted(listed: list[Any], codes: list[str]) -> None:
    """What cannot be served is left out, each with its problem; the first of a name stays."""
    kept, problems = admitted("s", listed, {"mode", "remit:mode"})
    assert [p.code for p in problems] == codes
    assert len(kept) == len(listed) - len(codes)
    assert all("`s`" in p.message for p in problems)


def test_fitting() -> None:
    """A tool whose output schema an older client cannot read is listed there without it."""
    live = LiveTool.of(tool(outputSchema={"type": "array"}))
    assert fitting(live, MODERN) == live.raw
    bare = fitting(live, LEGACY)
    assert bare is not None
    assert "outputSchema" not in bare


@given(st.binary(), st.lists(st.integers(1, 7)))
def test_lines(data: bytes, sizes: list[int]) -> None:
    """Lines come out the same, however the bytes were cut on the way."""
    lines, found, rest = Lines(), [], data
    for size in sizes:
        found += lines.feed(rest[:size])
        rest = rest[size:]
    found += lines.feed(rest)
    assert found == [line for line in data.split(b"\n")[:-1] if line.strip()]


@given(st.binary(max_size=40))
def test_parsed(line: bytes) -> None:
    """No bytes raise: what is no message is an error as a value."""
    parsed(line)


class TestNotice:
    """The line that tells a conversation of a switch."""

    def test_once(self) -> None:
        """It is told once, and not at all where the conversation began."""
        notice = Notice()
        notice.begin("a", 1)
        assert notice.due("a", 1) is None
        assert "from a to b mode" in (notice.due("b", 2) or "")
        assert notice.due("b", 2) is None

    def test_net_zero(self) -> None:
        """A mode that was left and entered again between two results is no news."""
        notice = Notice()
        assert notice.due("a", 1) is None
        assert notice.due("a", 3) is None

    def test_late(self) -> None:
        """A result that was judged before what is known tells nothing, and unsays nothing."""
        notice = Notice()
        notice.begin("a", 1)
        assert notice.due("b", 2) is not None
        assert notice.due("a", 1) is None
        assert notice.due("b", 2) is None

    def test_told(self) -> None:
        """What an answer told of itself is not told again."""
        notice = Notice()
        notice.begin("a", 1)
        notice.told("b")
        assert notice.due("b", 2) is None
