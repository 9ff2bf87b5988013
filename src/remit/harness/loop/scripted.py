"""A scripted model: what it says and calls is read from a file, so it works offline.

The file is TOML: `turns`, each with `say`, `calls` (`tool` and `args`), or `fail`. The nth
request of a conversation gets the nth turn. `scripts` hold the turns of conversations whose first
message contains `when`: those of subagents.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from remit.profiles.document import parse_toml
from remit.profiles.source import read_source
from remit.profiles.structure import structure

__all__ = ["Script", "ScriptEnded", "load_script", "scripted"]


class ScriptEnded(Exception):
    """The script has no such turn, or one that fails."""


@frozen
class ScriptedCall:
    """One call."""

    tool: str
    args: Mapping[str, Any] = field(factory=dict)


@frozen
class ScriptedTurn:
    """What comes back for one request. ``wait`` is in seconds, before each piece of it."""

    say: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    fail: str = ""
    wait: float = 0.0


@frozen
class Script:
    """Turns; ``when`` is what the first message of a conversation must contain to have them."""

    turns: tuple[ScriptedTurn, ...] = ()
    when: str = ""


@frozen
class ScriptFile:
    """The whole file."""

    turns: tuple[ScriptedTurn, ...] = ()
    scripts: tuple[Script, ...] = ()


def load_script(path: str | Path) -> ScriptFile:
    """Read a script; raises `InputError` with all that is wrong with it."""
    return structure(parse_toml(read_source(path)), ScriptFile)


def scripted(script: ScriptFile, name: str = "scripted") -> FunctionModel:
    """Return a model that follows a script; it streams like any other."""

    def turn(messages: Sequence[ModelMessage]) -> tuple[int, ScriptedTurn]:
        first = _first(messages)
        own = next((s.turns for s in script.scripts if s.when in first), script.turns)
        number = sum(isinstance(m, ModelResponse) for m in messages)
        if number >= len(own):
            raise ScriptEnded(f"the script has {len(own)} turns, and another was asked for")
        if own[number].fail:
            raise ScriptEnded(own[number].fail)
        return number, own[number]

    async def stream(
        messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        number, now = turn(messages)
        for word in _pieces(now.say):
            await asyncio.sleep(now.wait)
            yield word
        for index, call in enumerate(now.calls):
            await asyncio.sleep(now.wait)
            yield {index: DeltaToolCall(call.tool, "", tool_call_id=f"s{number}-{index}")}
            for piece in _pieces(json.dumps(dict(call.args))):
                yield {index: DeltaToolCall(json_args=piece)}
        if not now.say and not now.calls:
            yield ""

    def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        number, now = turn(messages)
        parts: list[Any] = [TextPart(now.say)] if now.say else []
        parts += [
            ToolCallPart(call.tool, dict(call.args), f"s{number}-{index}")
            for index, call in enumerate(now.calls)
        ]
        return ModelResponse(parts=parts)

    return FunctionModel(whole, stream_function=stream, model_name=name)


def _first(messages: Sequence[ModelMessage]) -> str:
    for message in messages:
        if isinstance(message, ModelRequest):
            for part in message.parts:
                if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                    return part.content
    return ""


def _pieces(text: str, size: int = 12) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]
