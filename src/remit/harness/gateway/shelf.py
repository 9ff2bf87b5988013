"""The upstream's tools: as it lists, as the operator declares, as a client can read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from remit.harness.gateway.relay import LiveTool, admitted, catalog_of, fitting
from remit.policy.problems import Problem, Severity
from remit.policy.tools import Catalog, Tool

__all__ = ["Shelf"]


@define(eq=False)
class Shelf:
    """What one server offers now.

    ``bound`` is the operator's catalogue for it, None where there is none; ``taken`` are names and
    keys that mean something else here. ``report`` hears of each tool that is left out, once.
    """

    server: str
    bound: Catalog | None
    taken: frozenset[str]
    report: Callable[[Problem], None]
    _live: dict[str, LiveTool] = field(factory=dict, init=False)
    _fit: dict[tuple[str, str], Mapping[str, Any] | None] = field(factory=dict, init=False)
    _reported: set[Problem] = field(factory=set, init=False)

    def stock(self, listed: tuple[Any, ...]) -> Catalog:
        """Take what the server lists; return it as remit knows it."""
        live, problems = admitted(self.server, listed, self.taken)
        for problem in problems:
            self._once(problem)
        self._live = {tool.name: tool for tool in live}
        self._fit.clear()
        return catalog_of(self.server, live, self.bound)

    def find(self, name: str) -> LiveTool | None:
        """Return the tool of a name or key."""
        return self._live.get(name) or self._live.get(name.removeprefix(f"{self.server}:"))

    def readable(self, tool: Tool, version: str) -> Mapping[str, Any] | None:
        """Return a tool as a client of a protocol version is to see it, None if it cannot."""
        live = self._live.get(tool.name)
        if live is None:
            return None
        at = (live.name, version)
        if at not in self._fit:
            self._fit[at] = fitting(live, version)
            if self._fit[at] is None:
                message = f"tool `{live.name}` of `{self.server}` says what {version} cannot carry"
                self._once(Problem("tool-unreadable", message, severity=Severity.WARNING))
        return self._fit[at]

    @property
    def print(self) -> tuple[str, ...]:
        """What a client would have to read anew if it changed."""
        return tuple(tool.hash for tool in self._live.values())

    def _once(self, problem: Problem) -> None:
        if problem not in self._reported:
            self._reported.add(problem)
            self.report(problem)
