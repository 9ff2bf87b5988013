"""A server in the standard library alone, for what a server should not do; quick to start.

`tiny.py NOTES MANNER`: it notes what it hears. It speaks the era with a handshake.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

NOTES = Path(sys.argv[1])
#: What it does otherwise than others, and after a colon what it says of its first tool.
MANNER, _, ABOUT = sys.argv[2].partition(":")
SCHEMA = {"type": "object"}
TOOLS: list[Any] = [
    {"name": "echo", "inputSchema": SCHEMA},
    {"name": "write", "inputSchema": SCHEMA},
]
if ABOUT:
    TOOLS[0] |= {"description": ABOUT, "annotations": {"readOnlyHint": True}}
if MANNER == "malformed":
    TOOLS += [
        "no object", {"inputSchema": SCHEMA}, {"name": 7, "inputSchema": SCHEMA},
        {"name": "slow"}, {"name": "die", "inputSchema": "text"},
        {"name": "echo", "description": "again", "inputSchema": SCHEMA},
        {"name": "grow", "inputSchema": SCHEMA, "outputSchema": {"anyOf": []}},
    ]  # fmt: skip


def note(text: str) -> None:
    """Add a line to the notes."""
    with NOTES.open("a") as notes:
        notes.write(text + "\n")


def send(**message: Any) -> None:
    """Write a message."""
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method: str, **params: Any) -> str:
    """Send a request; return the message of the error that comes back."""
    send(id=method, method=method, params=params)
    answer = json.loads(sys.stdin.readline())
    return str(answer.get("error", answer).get("message"))


def call(params: dict[str, Any]) -> dict[str, Any] | None:
    """Answer a call, in its manner."""
    match MANNER:
        case "silent":
            return None
        case "mortal" | "orphan":
            os._exit(3)
        case "asking":
            text = ask("sampling/createMessage", messages=[], maxTokens=1)
            form = {"type": "object", "properties": {}}
            text += " | " + ask("elicitation/create", message="?", requestedSchema=form)
            text += " | " + ask("roots/list")
            return {"content": [{"type": "text", "text": text}]}
        case "large":
            return {"content": [{"type": "text", "text": "x" * int(ABOUT or 3_000_000)}]}
        case "empty":
            return {}
    return {"content": [{"type": "text", "text": str(params.get("arguments"))}]}


note(f"pid {os.getpid()}")
if MANNER == "garbage":
    print("Welcome!\n\n\x1b[31mred\x1b[0m", flush=True)
if MANNER == "instant":
    sys.exit(3)
if MANNER == "orphan":
    child = subprocess.Popen(["sleep", "60"])
    note(f"pid {child.pid}")
if MANNER == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    note(f"{method} {json.dumps(message.get('params', {}).get('name', ''))}")
    if "id" not in message or MANNER == "mute":
        continue
    match method:
        case "server/discover" if MANNER == "touchy":
            sys.exit(4)  # some end where they are asked what they do not know
        case "initialize":
            about = {"name": "tiny", "version": "1"}
            able: dict[str, Any] = {"tools": {}}
            version = message["params"]["protocolVersion"]
            result: Any = {"protocolVersion": version, "capabilities": able, "serverInfo": about}
        case "tools/list" if MANNER != "toolless":
            result = {"tools": TOOLS}
        case "tools/call":
            result = call(message["params"])
        case _:
            send(id=message["id"], error={"code": -32601, "message": f"no {method} here"})
            continue
    if result is not None:
        send(id=message["id"], result=result)
    if MANNER == "garbage":
        print("{not json}", flush=True)
    if MANNER == "deaf" and method == "tools/list":
        os.close(0)
        note("deaf")
        break

while MANNER in ("stubborn", "deaf"):
    signal.pause()
