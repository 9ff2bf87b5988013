"""What a listed tool is taken to be: the operator's word of it, as far as the server's fits it.

A server can only take away from what the operator said: one that calls a declared reading tool a
writing one, or that says something else than what was reviewed, has an undeclared tool. Where the
operator trusts a server, its word that a tool only reads may stand in for a declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from remit.harness.gateway.relay import LiveTool
from remit.policy.problems import Problem, Severity
from remit.policy.tools import Learnt, Tool
from remit.policy.vocabulary import Tier
from remit.profiles.learnt import difference

__all__ = ["Changed", "Declared", "declared"]

_EGRESS = "network.egress"


@frozen
class Changed:
    """A tool that is no longer what it was when it was reviewed."""

    source: str
    tool: str
    was: Learnt
    now: Learnt

    @property
    def problem(self) -> Problem:
        """Tell it to people, with what changed."""
        differs = difference(self.was, self.now)
        verb = "is" if len(differs.what) == 1 else "are"
        return Problem(
            "tool-changed",
            f"tool `{self.source}:{self.tool}` is undeclared until it is reviewed again: "
            f"{differs} {verb} not as reviewed",
            "\n  ".join(
                (
                    *differs.lines,
                    f"`remit catalog trust {self.source}:{self.tool}` takes it as it is",
                )
            ),
            severity=Severity.WARNING,
        )


@frozen
class Declared:
    """One listed tool as remit knows it, and what is to be told of that."""

    tool: Tool
    changed: Changed | None = None
    problem: Problem | None = None


def declared(
    server: str, live: LiveTool, known: Mapping[str, Tool], trusted: bool = False
) -> Declared:
    """Return what a listed tool of a server is taken to be.

    ``known`` are the tools of the catalogue that the operator bound to it, by name. The operator's
    name for the server is the source; the catalogue's own stays as its origin.
    """
    bound = known.get(live.name)
    hints = _hints(live)
    if bound is None:
        if trusted and hints.get("readOnlyHint") is True:
            # That it is open to the world is what the protocol supposes where nothing is said.
            reaches = {_EGRESS} if hints.get("openWorldHint", True) is not False else ()
            return Declared(Tool(server, live.name, Tier.READ, reaches))
        return Declared(Tool(server, live.name, declared=False))
    tool = evolve(bound, source=server, origin=bound.source)
    unknown = evolve(tool, tier=Tier.EXECUTE, declared=False)
    if tool.learnt is not None and tool.learnt.hash != live.hash:
        changed = Changed(server, tool.name, tool.learnt, live.learnt)
        return Declared(unknown, changed, changed.problem)
    if tool.declared and tool.tier is Tier.READ and (said := _writes(hints)):
        return Declared(unknown, problem=_contradicted(tool, said))
    return Declared(tool)


def _hints(live: LiveTool) -> Mapping[str, Any]:
    hints = live.raw.get("annotations")
    return hints if isinstance(hints, Mapping) else {}


def _writes(hints: Mapping[str, Any]) -> str:
    """Return the hint by which a server says that a tool does more than read, if there is one."""
    if hints.get("readOnlyHint") is False:
        return "readOnlyHint = false"
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        return "destructiveHint = true"
    return ""


def _contradicted(tool: Tool, said: str) -> Problem:
    return Problem(
        "tool-annotated",
        f"tool `{tool.key}` is undeclared: the catalogue says that it reads, the server `{said}`",
        "look at what it does; a `tier` of write says that it may write",
        tool.where,
        severity=Severity.WARNING,
    )
