"""A shell as an MCP server: one tool that runs a command line and returns what it printed.

It guards nothing itself. Put the gateway in front of it: in the mode `explore` every command is
judged before it gets here.

    remit gateway --space s --server shell=remit-shell -- python server.py
"""

from __future__ import annotations

import subprocess

from mcp.server.mcpserver import MCPServer

server = MCPServer("shell")
#: Seconds before a command is ended, and characters of output that are returned.
PATIENCE, MOST = 60, 50_000


@server.tool()
def shell(command: str, cwd: str = ".") -> str:
    """Run a command line with bash and return its output and exit code."""
    try:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=cwd,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"ended after {PATIENCE} seconds"
    said = (done.stdout + done.stderr)[:MOST]
    return f"{said}\n[exit code {done.returncode}]"


if __name__ == "__main__":
    server.run()
