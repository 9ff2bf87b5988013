"""The requests of a loop in chat, recorded, are those of a host without remit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from attrs import Factory, define
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel

from remit.harness.loop.scripted import ScriptFile, scripted
from tests.harness.loop.driver import Chat, call, says


@define
class Sent:
    """Each request as it was sent: its messages in bytes, and the tools that went with it."""

    bytes: list[bytes] = Factory(list)
    tools: list[frozenset[str]] = Factory(list)
    last: list[ModelMessage] = Factory(list)

    def note(self, messages: list[ModelMessage], how: ModelRequestParameters) -> None:
        self.last = messages
        # Ids and times of a run stay with the host.
        whole = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
        sent = [[m["kind"], m.get("instructions"), m["parts"]] for m in whole]
        self.bytes.append(json.dumps(sent).encode())
        self.tools.append(frozenset(t.name for t in how.function_tools))

    def model(self, script: ScriptFile) -> Model:
        sent = self

        class Recorded(WrapperModel):
            async def request(self, messages: Any, settings: Any, how: Any) -> Any:
                sent.note(messages, how)
                return await super().request(messages, settings, how)

            @asynccontextmanager
            async def request_stream(
                self, messages: Any, settings: Any, how: Any, context: Any = None
            ) -> AsyncIterator[Any]:
                sent.note(messages, how)
                async with super().request_stream(messages, settings, how, context) as stream:
                    yield stream

        return Recorded(scripted(script))


def test_chat_sends_what_a_host_without_remit_sends(chat: Chat) -> None:
    """S002-10: in chat each request of a real loop is byte for byte the host's own."""
    sent = Sent()
    chat.model = sent.model
    loop = chat.loop(says(call("read", path="a.txt")), says("One and two."), says("Again."))
    for prompt in ("what is in it?", "and again?"):
        asyncio.run(loop.turn(prompt))

    assert len(sent.bytes) == 3
    # The host's own is what was typed, what the tools gave back, and what the model said.
    requests = [m for m in sent.last if isinstance(m, ModelRequest)]
    parts = [part for request in requests for part in request.parts]
    assert [type(p) for p in parts] == [UserPromptPart, ToolReturnPart, UserPromptPart]
    assert [p.content for p in parts if isinstance(p, UserPromptPart)] == [
        "what is in it?",
        "and again?",
    ]
    assert all(request.instructions is None for request in requests)
    # What was sent once is sent again as it was: nothing is put in between or taken out.
    for before, after in zip(sent.bytes, sent.bytes[1:], strict=False):
        assert after.startswith(before[:-1])
    # All tools that the host has, in each request.
    assert {t.name for t in loop.belt.catalog.tools if not t.native} <= sent.tools[0]
    assert len(set(sent.tools)) == 1


def test_another_mode_does_not(chat: Chat) -> None:
    """The same in a mode with words has them, so their absence says something."""
    sent = Sent()
    chat.space.set("plan", by="operator")
    chat.model = sent.model
    asyncio.run(chat.loop(says(call("nothing_to_deliver", reason="no")), says("x")).turn("go"))

    assert b"[remit]" in sent.bytes[0]
