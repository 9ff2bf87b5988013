"""A server of both eras: echo, write, slow, sloppy, asking, dying and changing tools.

It notes each call that reaches it in the file that it is given, so that a test can count them.
With `--legacy` after that it serves the era with a handshake alone.
"""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

NOTES = Path(sys.argv[1])
BUS = InMemorySubscriptionBus()
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


def tool(name: str, **more: Any) -> types.Tool:
    """Describe a tool that takes a text."""
    return types.Tool(name=name, description=f"{name} a text", input_schema=TEXT, **more)


TOOLS = {
    "echo": tool(
        "echo",
        annotations=types.ToolAnnotations(read_only_hint=True, title="Echo"),
        output_schema={"type": "object", "properties": {"text": {"type": "string"}}},
        _meta={"example.org/kept": 1, "io.modelcontextprotocol/foreign": 2},
    ),
    "write": tool("write"),
    "sloppy": tool("sloppy", output_schema={"type": "object", "required": ["never"]}),
    "slow": tool("slow"),
    "die": tool("die"),
    "grow": tool("grow"),
    "env": tool("env"),
    "elicit": tool("elicit"),
    "undeclared": tool("undeclared"),
    "submit_plan": tool("submit_plan"),
    "bad name": tool("bad name"),
}


def note(line: str) -> None:
    """Add a line to the notes."""
    with NOTES.open("a") as notes:
        notes.write(line + "\n")


async def on_list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    """List in two pages."""
    tools = list(TOOLS.values())
    if params and params.cursor == "rest":
        return types.ListToolsResult(tools=tools[3:])
    return types.ListToolsResult(tools=tools[:3], next_cursor="rest")


async def on_call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Do what the tool's name says."""
    args = params.arguments or {}
    meta = {k: v for k, v in (ctx.params or {}).get("_meta", {}).items() if "modelcontext" not in k}
    told = " ".join(f"{k}={v}" for k, v in sorted(meta.items()))
    note(f"{params.name} {args.get('text', '')} {told}".strip())
    said: list[types.ContentBlock] = [
        types.TextContent(type="text", text=str(args.get("text", "")))
    ]
    match params.name:
        case "echo":
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=str(args.get("text", "")),
                         annotations=types.Annotations(audience=["user"]))],
                structured_content={"text": args.get("text", "")},
                _meta={"example.org/kept": "yes"},
            )  # fmt: skip
        case "slow":
            try:
                for done in range(100):
                    await ctx.session.report_progress(done, 100, "on it")
                    await anyio.sleep(0.05)
            except anyio.get_cancelled_exc_class():
                note("slow was cancelled")
                raise
        case "die":
            os._exit(7)
        case "grow":
            TOOLS["grown"] = tool("grown")
            await BUS.publish(ToolsListChanged())
            if ctx.protocol_version < "2026":
                await ctx.session.send_tool_list_changed()
        case "env":
            value = repr(os.environ.get(args["text"]))
            said = [types.TextContent(type="text", text=value)]
        case "elicit":
            try:
                answer = await ctx.session.elicit_form(
                    "well?", {"type": "object", "properties": {}}
                )
                said = [types.TextContent(type="text", text=answer.action)]
            except MCPError as refusal:
                said = [types.TextContent(type="text", text=f"refused: {refusal.error.message}")]
        case "write" | "sloppy" | "undeclared" | "grown":
            pass
        case _:
            raise MCPError(types.INVALID_PARAMS, f"no tool {params.name}")
    return types.CallToolResult(content=said)


async def main() -> None:
    """Serve on standard input and output."""
    note(f"pid {os.getpid()}")
    server: Server[Any] = Server(
        "test",
        version="1",
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
        on_subscriptions_listen=ListenHandler(BUS),
    )
    options = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (read, write):
        if "--legacy" in sys.argv:
            await serve_loop(server, read, write, lifespan_state={}, init_options=options)
        else:
            await server.run(read, write, options)


anyio.run(main)
