"""A server on loopback that follows a script and speaks as two kinds of providers do, streaming.

Each request is answered with the turn that follows the answers that it carries, as `scripted` does.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import define, field

from remit.harness.loop.scripted import ScriptedTurn, ScriptFile

#: Paths, by the provider whose wire format they speak.
PATHS = {"/v1/chat/completions": "openai-chat", "/v1/messages": "anthropic"}
#: What a base URL ends with, by provider.
BASES = {"openai-chat": "/v1", "anthropic": ""}


@define
class Wire:
    """A server that is up: what it answers, and what it was asked."""

    url: str
    script: ScriptFile = field(factory=ScriptFile)
    #: The provider and the body of each request.
    asked: list[tuple[str, Mapping[str, Any]]] = field(factory=list)

    def tools(self, request: int) -> set[str]:
        """Return the names of the tools that a request offered."""
        kind, body = self.asked[request]
        offered = body.get("tools", [])
        return {t["function"]["name"] if kind == "openai-chat" else t["name"] for t in offered}

    def turn(self, body: Mapping[str, Any]) -> tuple[int, ScriptedTurn]:
        said = body["messages"]
        first = str(next(m["content"] for m in said if m["role"] == "user"))
        own = next((s.turns for s in self.script.scripts if s.when in first), self.script.turns)
        number = sum(m["role"] == "assistant" for m in said)
        return number, own[number]


@contextmanager
def wired() -> Iterator[Wire]:
    """Serve until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kind = PATHS[self.path]
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            wire.asked.append((kind, body))
            number, turn = wire.turn(body)
            if turn.fail:
                self.send_response(400)
                self.end_headers()
                error = {"type": "invalid_request_error", "message": turn.fail}
                self.wfile.write(json.dumps({"type": "error", "error": error}).encode())
                return
            assert body["stream"]
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for piece in _STREAMS[kind](number, turn):
                self.wfile.write(piece.encode())
                self.wfile.flush()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    wire = Wire(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield wire
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _openai(number: int, turn: ScriptedTurn) -> Iterator[str]:
    def piece(delta: Mapping[str, Any], ended: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": ended}
        chunk = {
            "id": f"chat-{number}", "object": "chat.completion.chunk", "created": 0,
            "model": "tale", "choices": [choice],
        }  # fmt: skip
        return f"data: {json.dumps(chunk)}\n\n"

    yield piece({"role": "assistant", "content": ""})
    for text in _halves(turn.say):
        yield piece({"content": text})
    for index, call in enumerate(turn.calls):
        about = {"index": index, "id": f"w{number}-{index}", "type": "function"}
        yield piece({"tool_calls": [{**about, "function": {"name": call.tool, "arguments": ""}}]})
        for text in _halves(json.dumps(dict(call.args))):
            yield piece({"tool_calls": [{"index": index, "function": {"arguments": text}}]})
    yield piece({}, "tool_calls" if turn.calls else "stop")
    yield "data: [DONE]\n\n"


def _anthropic(number: int, turn: ScriptedTurn) -> Iterator[str]:
    def event(kind: str, **more: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"

    def block(
        index: int, begins: Mapping[str, Any], kind: str, key: str, text: str
    ) -> Iterator[str]:
        yield event("content_block_start", index=index, content_block=begins)
        for half in _halves(text):
            yield event("content_block_delta", index=index, delta={"type": kind, key: half})
        yield event("content_block_stop", index=index)

    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": f"msg-{number}", "type": "message", "role": "assistant", "model": "tale",
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield event("message_start", message=message)
    index = 0
    if turn.say:
        yield from block(0, {"type": "text", "text": ""}, "text_delta", "text", turn.say)
        index = 1
    for call in turn.calls:
        begins = {"type": "tool_use", "id": f"w{number}-{index}", "name": call.tool, "input": {}}
        given = json.dumps(dict(call.args))
        yield from block(index, begins, "input_json_delta", "partial_json", given)
        index += 1
    why = "tool_use" if turn.calls else "end_turn"
    yield event("message_delta", delta={"stop_reason": why, "stop_sequence": None}, usage=usage)
    yield event("message_stop")


_STREAMS = {"openai-chat": _openai, "anthropic": _anthropic}
