"""What the gateway says that it can do: of what is relayed, what one of its servers can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import mcp_types as types

from remit.harness.gateway.fleet import Fleet
from remit.policy.problems import Problem, Severity

__all__ = ["OPENING", "claims"]

#: Seconds that an opening waits for the servers to say what they can do.
OPENING = 5.0


async def claims(fleet: Fleet, report: Callable[[Problem], None]) -> Mapping[str, Any]:
    """Return the capabilities, once the servers are up or have had their time.

    A client is told once, and many give up on an opening that takes long.
    """
    with anyio.move_on_after(OPENING):
        for served in fleet:
            await served.upstream.settled()
    for served in fleet:
        if served.upstream.starting:
            message = f"the server `{served.name}` is late, so only tools are claimed of it"
            report(Problem("server-late", message, severity=Severity.WARNING))
    resources = fleet.able("resources")
    watched = any(one.able.resources and one.able.resources.subscribe for one in resources)
    there = types.ServerCapabilities(
        tools=types.ToolsCapability(list_changed=True),
        resources=(
            types.ResourcesCapability(subscribe=watched, list_changed=True) if resources else None
        ),
        prompts=types.PromptsCapability(list_changed=True) if fleet.able("prompts") else None,
        completions=types.CompletionsCapability() if fleet.able("completions") else None,
        logging=types.LoggingCapability() if fleet.able("logging") else None,
    )
    return there.model_dump(by_alias=True, mode="json", exclude_none=True)
