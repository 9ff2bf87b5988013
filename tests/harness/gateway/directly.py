"""A client without a gateway: `python directly.py SERVER...` calls `echo` once, keeps the result.

It prints the peaks of its resident memory before and after, in MB, as JSON.
"""

from __future__ import annotations

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.harness.gateway.footprint import peak


async def main() -> None:
    """Call."""
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with Client(stdio_client(server), mode="legacy") as client:
        await client.list_tools()
        before = peak(os.getpid())
        await client.call_tool("echo", {})
        print(json.dumps({"before": before, "after": peak(os.getpid())}))


anyio.run(main)
