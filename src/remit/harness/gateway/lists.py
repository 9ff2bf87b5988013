"""What a client is listed: what the frame of its request lets it have, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import define

from remit.harness.gateway.directory import Directory
from remit.harness.gateway.fleet import Fleet
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.offers import PROMPTS, Kind
from remit.harness.gateway.relay import fits
from remit.harness.gateway.shelf import PROMPT, READ, REQUESTS
from remit.harness.session import Frame
from remit.policy.tools import Call

__all__ = ["Lists", "call_of"]


@define(eq=False)
class Lists:
    """Lists as the client of a protocol version can read them; each raises `RemitError`."""

    judge: Judge
    fleet: Fleet
    directory: Directory

    async def tools(self, version: str) -> tuple[Frame, list[Any]]:
        """Return the surface: what the frame shows of the servers, and the native verbs."""
        for one in self.fleet:
            if one.upstream.starting:
                await one.upstream.settled()
        frame, native = await self.judge.surface()
        catalog = frame.catalog
        listed: list[Any] = []
        for tool in frame.projection.tools:
            server = self.fleet.of_tool(tool)
            if server is None or tool.name in REQUESTS:
                continue
            raw = server.shelf.readable(tool, catalog.called(tool.key), version)
            if raw is not None:
                listed.append(raw)
        listed += [
            {
                "name": verb.name,
                "description": verb.description,
                "inputSchema": dict(verb.input_schema),
            }
            for verb in native
        ]
        return frame, listed

    async def others(self, kind: Kind, version: str) -> list[Any]:
        """Return the resources, templates or prompts that could be read now."""
        method, key, own = kind
        found = await self.directory.listed(kind)
        frame = await self.judge.frame()
        calls = [call_of(one.name, kind, str(entry[own])) for one, entry, _ in found]
        let = await self.judge.admitted(frame, calls)
        entries: Iterable[Any] = (
            entry if entry[own] == shown else {**entry, own: shown}
            for (_, entry, shown), ok in zip(found, let, strict=True)
            if ok
        )
        return [entry for entry in entries if fits(method, key, entry, version)]


def call_of(server: str, kind: Kind, name: str) -> Call:
    """Return the call that getting one thing of a list is judged as."""
    if kind == PROMPTS:
        return Call(f"{server}:{PROMPT}", {"name": name})
    return Call(f"{server}:{READ}", {"uri": name})
