"""The upstream's tools: as it lists, as the operator declares, as a client can read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import mcp_types as types
from attrs import define, evolve, field

from remit.harness.gateway.declared import Changed, declared
from remit.harness.gateway.relay import LiveTool, admitted, fitting
from remit.harness.gateway.untrusted import plain
from remit.policy.problems import Problem, Severity
from remit.policy.tools import Catalog, Tool

__all__ = ["COMPLETE", "PROMPT", "READ", "REQUESTS", "SAMPLE", "Shelf"]

#: What a server can be asked, or ask, besides calls of its tools: each is judged as a tool would
#: be, under the name of its request.
READ, PROMPT, COMPLETE = "resources/read", "prompts/get", "completion/complete"
SAMPLE = "sampling/createMessage"
REQUESTS = (READ, PROMPT, COMPLETE, SAMPLE)


@define(eq=False)
class Shelf:
    """What one server offers now.

    ``bound`` is the operator's catalogue for it, None where there is none; ``trusted`` says that
    its word on what only reads counts; ``taken`` are names and keys that mean something else here.
    ``report`` hears of each tool that is left out or not taken for what it was declared, once.
    """

    server: str
    bound: Catalog | None
    taken: frozenset[str]
    report: Callable[[Problem], None]
    trusted: bool = False
    #: What to do about tools that nobody declared.
    advice: str = ""
    #: The path of the catalogue, where it is a file.
    file: str = ""
    #: Tools that are no longer as they were reviewed.
    changed: tuple[Changed, ...] = field(default=(), init=False)
    _live: dict[str, LiveTool] = field(factory=dict, init=False)
    _fit: dict[tuple[str, str], Mapping[str, Any] | None] = field(factory=dict, init=False)
    _reported: set[Problem] = field(factory=set, init=False)

    def stock(
        self, listed: Iterable[Any], able: types.ServerCapabilities, samples: bool = False
    ) -> tuple[Tool, ...]:
        """Take what the server lists and can do; return its tools as remit knows them.

        ``samples`` says that the client's model can be asked.
        """
        live, problems = admitted(self.server, listed, self.taken | set(REQUESTS))
        for problem in problems:
            self._once(problem)
        self._live = {tool.name: tool for tool in live}
        self._fit.clear()
        known = {t.name: t for t in self.bound.tools} if self.bound else {}
        found = [declared(self.server, tool, known, self.trusted) for tool in live]
        for one in found:
            if one.problem is not None:
                self._once(one.problem)
        self.changed = tuple(one.changed for one in found if one.changed is not None)
        requests = [self._request(name, known) for name in _requests(able, samples)]
        silent = [o.tool.name for o in found if not o.tool.declared and o.problem is None]
        self._undeclared(silent)
        return (*(one.tool for one in found), *requests)

    def _request(self, name: str, known: Mapping[str, Tool]) -> Tool:
        if name in known:
            return evolve(known[name], source=self.server, origin=known[name].source)
        return Tool(self.server, name, declared=False)

    def find(self, tool: Tool) -> LiveTool | None:
        """Return the live tool of one of this server's."""
        return self._live.get(tool.name)

    def readable(self, tool: Tool, name: str, version: str) -> Mapping[str, Any] | None:
        """Return a tool as a client of a protocol version is to see it, None if it cannot.

        ``name`` is what it is called there.
        """
        live = self._live.get(tool.name)
        if live is None:
            return None
        at = (live.name, version)
        if at not in self._fit:
            fit = fitting(live, version)
            self._fit[at] = fit if fit is None else plain(fit)
            if fit is None:
                message = f"tool `{live.name}` of `{self.server}` says what {version} cannot carry"
                self._once(Problem("tool-unreadable", message, severity=Severity.WARNING))
        shown = self._fit[at]
        return shown if shown is None or name == live.name else {**shown, "name": name}

    @property
    def print(self) -> tuple[str, ...]:
        """What a client would have to read anew if it changed."""
        return tuple(tool.hash for tool in self._live.values())

    def _undeclared(self, names: list[str]) -> None:
        """Tell which tools nobody declared, in one line with what to add."""
        if not names:
            return
        told = ", ".join(f"`{n}`" for n in names[:8]) + (", …" if len(names) > 8 else "")
        count = "1 is" if len(names) == 1 else f"{len(names)} are"
        self._once(
            Problem(
                "tool-undeclared" if self.bound else "server-unbound",
                f"of what `{self.server}` offers {count} undeclared, so none of that runs without "
                f"being asked for: {told}",
                self.advice,
                severity=Severity.WARNING,
            )
        )

    def _once(self, problem: Problem) -> None:
        if problem not in self._reported:
            self._reported.add(problem)
            self.report(problem)


def _requests(able: types.ServerCapabilities, samples: bool) -> list[str]:
    there = {
        READ: able.resources is not None,
        PROMPT: able.prompts is not None,
        COMPLETE: able.completions is not None,
        SAMPLE: samples,
    }
    return [name for name in REQUESTS if there[name]]
