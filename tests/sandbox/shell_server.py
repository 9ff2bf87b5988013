"""An MCP server with a shell: `run` runs what it is given, for as long as it takes."""

import subprocess
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}


async def on_list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    """List the one tool."""
    return types.ListToolsResult(
        tools=[types.Tool(name="run", description="run a command", input_schema=TEXT)]
    )


async def on_call_tool(ctx: Any, params: Any) -> types.CallToolResult:
    """Run it; its output and exit code are the answer."""
    done = subprocess.run(
        ["sh", "-c", params.arguments["text"]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    text = f"{done.stdout}exit {done.returncode}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def main() -> None:
    """Serve standard input and output."""
    server: Server[Any] = Server("shell", on_list_tools=on_list_tools, on_call_tool=on_call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
