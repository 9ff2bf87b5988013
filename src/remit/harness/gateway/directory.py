"""Where resources and prompts are found: by whose server, and under which name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import define, field
from mcp.shared.exceptions import MCPError

from remit.harness.gateway.fleet import Fleet, Served
from remit.harness.gateway.link import Gone
from remit.harness.gateway.offers import PROMPTS, RESOURCES, Kind
from remit.policy.escape import quoted, unmarked
from remit.policy.problems import Problem, Severity
from remit.policy.tools import Catalog

__all__ = ["Directory", "Entry"]

#: A server, an entry as it lists it, and the name by which the client knows that.
Entry = tuple[Served, Mapping[str, Any], str]


@define(eq=False)
class Directory:
    """What the servers list besides tools, kept apart where two use one name."""

    fleet: Fleet
    report: Callable[[Problem], None]
    _told: set[Problem] = field(factory=set, init=False)

    async def listed(self, kind: Kind) -> list[Entry]:
        """Return a list of all servers; one that does not answer has none."""
        found = [(one, entry) for one in self.fleet for entry in await self._of(one, kind)]
        return list(self._prompts(found) if kind == PROMPTS else self._by_address(found, kind))

    async def resource(self, uri: str) -> Served | None:
        """Return the server that a resource is read from."""
        able = self.fleet.able("resources")
        if len(able) <= 1:
            return able[0] if able else None
        for one in able:
            try:
                if one.link is not None and await one.offers.holds(one.link, uri):
                    return one
            except (Gone, MCPError):
                continue
        return None

    async def prompt(self, name: str) -> tuple[Served, str] | None:
        """Return the server of a prompt, and what it calls it."""
        for one, entry, shown in await self.listed(PROMPTS):
            if shown == name:
                return one, str(entry["name"])
        return None

    async def _of(self, one: Served, kind: Kind) -> tuple[Mapping[str, Any], ...]:
        if one.link is None:
            return ()
        try:
            return await one.offers.listed(one.link, kind)
        except (Gone, MCPError) as error:
            self._tell(
                "server-list", f"the server `{one.name}` did not answer `{kind[0]}`: {error}", ""
            )
            return ()

    def _prompts(self, found: list[tuple[Served, Mapping[str, Any]]]) -> Iterator[Entry]:
        """Put a server's name before a prompt's where two servers have one of that name."""
        owners: dict[str, list[str]] = {}
        for one, entry in found:
            owners.setdefault(entry["name"], []).append(one.name)
        for one, entry in found:
            name = entry["name"]
            if len(set(owners[name])) == 1:
                yield one, entry, unmarked(name)
                continue
            shown = f"{one.name}__{name}"
            if shown not in owners:
                yield one, entry, shown

    def _by_address(
        self, found: list[tuple[Served, Mapping[str, Any]]], kind: Kind
    ) -> Iterator[Entry]:
        """Leave out an address that another server has too: other texts refer to it as it is."""
        owners: dict[str, str] = {}
        own = kind[2]
        for one, entry in found:
            address = entry[own]
            owner = owners.setdefault(address, one.name)
            if owner == one.name:
                yield one, entry, address
            elif kind == RESOURCES:
                self._tell(
                    "name-shared",
                    f"the servers `{owner}` and `{one.name}` both list {quoted(address)}",
                    f"it is read from `{owner}`",
                )

    def tell_shared(self, catalog: Catalog) -> None:
        """Report which tools share a name, and what each is called."""
        for name, keys in catalog.ambiguous.items():
            called = ", ".join(f"`{catalog.called(key)}`" for key in keys)
            told = " and ".join(f"`{key}`" for key in keys)
            message = f"{told} share the name `{name}`, so the client knows them as {called}"
            self._tell("name-shared", message, "")

    def tell(self, problem: Problem) -> None:
        """Report a problem once."""
        if problem not in self._told:
            self._told.add(problem)
            self.report(problem)

    def _tell(self, code: str, message: str, hint: str) -> None:
        self.tell(Problem(code, message, hint, severity=Severity.WARNING))
