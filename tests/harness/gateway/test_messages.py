"""Long messages: written in pieces, whole, and held as few times as can be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse

from remit.harness.gateway import pieces as module
from remit.harness.gateway.messages import Outgoing, parsed
from remit.harness.gateway.pieces import long, pieces
from tests.harness.gateway.footprint import direct, footprint
from tests.harness.gateway.rig import Place

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=5), v, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_pieces(value: Any) -> None:
    """Together they are the value, wherever a text is cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LONG", 8)
        patch.setattr(module, "_PIECE", 3)
        assert json.loads(b"".join(pieces(value))) == value


def test_halves_of_letters() -> None:
    """A text with half a letter in it is spelt, and ends nothing."""
    text = "\ud800" + "x" * (1 << 20)
    assert json.loads(b"".join(pieces({"text": text}))) == {"text": text}


def test_long() -> None:
    """A long text is seen however deep it lies; a value of very many parts is not long."""
    assert long({"a": [{"b": "x" * (1 << 20)}]})
    assert not long({"a": ["x" * 1000] * 20_000})


@pytest.mark.parametrize("size", [10, 2_000_000], ids=["short", "long"])
def test_parsed(size: int) -> None:
    """A line says the same whichever way it is read."""
    value = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"text": "x" * size}]}}
    message = parsed(json.dumps(value).encode())
    assert isinstance(message, SessionMessage)
    assert isinstance(message.message, JSONRPCResponse)
    assert message.message.model_dump(by_alias=True, exclude_unset=True) == value
    assert isinstance(parsed(b'{"jsonrpc": "2.0"' + b" " * size), ValueError)


def test_not_torn() -> None:
    """A long result whose sender is cancelled midway is written whole, and nothing in between."""
    written: list[bytes] = []
    result = {"content": [{"type": "text", "text": "x" * 2_000_000}]}
    large = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result=result))
    small = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/x"))

    async def put(data: bytes) -> None:
        written.append(data)
        await anyio.sleep(0.001)

    async def main() -> None:
        outgoing = Outgoing(put, written.append)
        async with anyio.create_task_group() as tasks:

            async def send_large(scope: anyio.CancelScope) -> None:
                with scope:
                    await outgoing.send(large)

            scope = anyio.CancelScope()
            tasks.start_soon(send_large, scope)
            await anyio.sleep(0.005)
            tasks.start_soon(outgoing.send, small)
            await anyio.sleep(0.002)
            assert len(written) < 30
            scope.cancel()

    anyio.run(main)
    first, second, rest = b"".join(written).split(b"\n")
    assert json.loads(first)["result"] == result
    assert json.loads(second)["method"] == "notifications/x"
    assert rest == b""


def test_footprint(tmp_path: Path) -> None:
    """A result of 50 MB passes, and costs the gateway less than it costs a client without one."""
    place = Place.make(tmp_path)
    size = 50_000_000
    passed, alone = footprint(place, size), direct(place, size)
    place.store.close()
    growth, usual = passed["after"] - passed["before"], alone["after"] - alone["before"]

    assert passed["bytes"] > size
    assert growth < 2.5 * size / (1 << 20)
    assert growth < usual, f"{growth:.0f} MB with a gateway, {usual:.0f} MB in a client without"
