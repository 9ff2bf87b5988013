"""A locked space forwards nothing, of whatever kind, in either era."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from remit.harness.store import OPERATOR
from tests.harness.gateway.rig import SPACE, Caller, Place, calling, text_of, until
from tests.harness.gateway.test_offers import Seen, client, near


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A workspace with a space in chat."""
    place = Place.make(tmp_path)
    yield place
    place.store.close()


def _lock(place: Place, locked: bool = True) -> None:
    place.store.spaces.set_lock(SPACE, locked, by=OPERATOR, now=datetime.now(UTC))


async def _refused(work: Any) -> str:
    with pytest.raises(MCPError) as caught:
        await work
    return str(caught.value.error.message)


async def _none_passes(caller: Caller) -> None:
    it = caller.client
    ref = types.PromptReference(type="ref/prompt", name="greet")
    assert "locked" in text_of(await caller.call("marked"))
    assert (await it.list_resources()).resources == []
    assert (await it.list_resource_templates()).resource_templates == []
    assert (await it.list_prompts()).prompts == []
    assert "locked" in await _refused(it.read_resource("note://a"))
    assert "locked" in await _refused(it.get_prompt("greet", {"name": "Bob"}))
    assert "locked" in await _refused(it.complete(ref, {"name": "name", "value": "A"}))


@pytest.mark.parametrize("mode", ["auto", "legacy"], ids=["modern", "legacy"])
def test_requests(mode: str, place: Place) -> None:
    """Tools, resources, prompts, completions: none is listed but tools, and none reaches it."""
    seen = Seen(place)

    async def converse() -> None:
        async with calling(place.gateways(near(place)), mode, **client(seen)) as caller:
            await caller.names()
            (place.folder / "near").write_text("")
            _lock(place)
            await _none_passes(caller)
            assert seen.notes("near") == []
            _lock(place, False)
            assert len((await caller.client.list_resources()).resources) == 2
            assert "fine" in text_of(await caller.call("marked"))

    anyio.run(converse)


def test_watching(place: Place) -> None:
    """A resource is not watched anew, and what is watched tells nothing."""
    seen = Seen(place)
    params = types.SubscribeRequestParams(uri="note://a")
    watch = types.SubscribeRequest(params=params)

    async def converse() -> None:
        gateway = place.gateways(near(place, "--legacy"))
        async with calling(gateway, "legacy", **client(seen)) as caller:
            await caller.names()
            session = caller.client.session
            await session.send_request(watch, types.EmptyResult)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_late, caller, seen, "late_touch")
                await until(lambda: "call late_touch" in seen.notes("near"))
                _lock(place)
                (place.folder / "near.go").write_text("")
            told = [n for n in caller.told if isinstance(n, types.ResourceUpdatedNotification)]
            assert seen.texts["late_touch"] == "done"
            assert told == []
            other = types.SubscribeRequest(params=types.SubscribeRequestParams(uri="note://b"))
            assert "locked" in await _refused(session.send_request(other, types.EmptyResult))
            assert "subscribe note://b" not in seen.notes("near")

    anyio.run(converse)


@pytest.mark.parametrize("mode", ["auto", "legacy"], ids=["modern", "legacy"])
@pytest.mark.parametrize("era", [(), ("--legacy",)], ids=["modern-server", "legacy-server"])
def test_in_flight(mode: str, era: tuple[str, ...], place: Place) -> None:
    """What a server says or asks within a call that was let through before the lock stops too."""
    seen = Seen(place)

    async def converse() -> None:
        async with calling(place.gateways(near(place, *era)), mode, **client(seen)) as caller:
            await caller.names()
            async with anyio.create_task_group() as tasks:
                for name in ("late_speak", "late_wonder", "late_dream"):
                    tasks.start_soon(_late, caller, seen, name)
                await until(lambda: sum("call late" in n for n in seen.notes("near")) == 3)
                _lock(place)
                (place.folder / "near.go").write_text("")
            assert seen.logged == []
            assert seen.asked == []
            assert seen.sampled == []

    anyio.run(converse)


async def _late(caller: Caller, seen: Seen, name: str) -> None:
    try:
        seen.texts[name] = text_of(await caller.call(name))
    except MCPError as refusal:
        seen.texts[name] = refusal.error.message
