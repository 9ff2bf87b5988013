"""The belt: the tools that the loop serves itself, and how each is described and run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from remit.harness.engine import Engine
from remit.harness.sandbox.box import Box
from remit.harness.tools import SOURCE, TOOLS, Desk, Result, Todos
from remit.policy.ceiling import Ceiling
from remit.policy.digest import tool_digest
from remit.policy.tools import Catalog

if TYPE_CHECKING:
    from remit.harness.loop.servers import Servers

__all__ = ["TASK", "Belt", "Offer", "Station"]

#: Its calls are served by the loop: each is a conversation of its own.
TASK = f"{SOURCE}:task"
#: What works without a worktree.
_ANYWHERE = frozenset({"web_fetch", "todo", "task"})


@frozen
class Offer:
    """A tool as the model sees it, and as approvals are bound to it."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    hash: str = field()

    @hash.default
    def _hash(self) -> str:
        return tool_digest(self.name, self.description, self.input_schema)


@frozen
class Station:
    """Where a conversation works.

    ``worktree`` is where relative paths of calls start, ``scratch`` a folder of its own outside.
    ``box`` makes the sandbox of a ceiling; without it there is no shell. ``environment`` is what
    commands are started with.
    """

    worktree: str | None
    protected: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    scratch: str | None = None
    box: Callable[[Ceiling], Box] | None = None
    environment: Mapping[str, str] = field(factory=dict, repr=False)

    @property
    def serves(self) -> tuple[str, ...]:
        """The names of the tools that can work here."""
        return tuple(
            name
            for name in TOOLS
            if name in _ANYWHERE
            or (self.worktree is not None and (name != "shell" or self.box is not None))
        )

    def desk(self, ceiling: Ceiling, todos: Todos, cancelled: threading.Event) -> Desk:
        """Return what one call is served with."""
        desk = Desk(
            self.worktree or self.scratch or "/nonexistent",
            self.protected,
            self.secret,
            scratch=self.scratch,
            cancelled=cancelled,
            environment=self.environment,
            todos=todos,
        )
        make = self.box
        return desk if make is None else evolve(desk, box=lambda: make(ceiling))


@define(eq=False)
class Belt:
    """The tools of one station, each with its declaration, and those of servers beside it."""

    _own: Catalog
    _offers: Mapping[str, Offer]
    servers: Servers | None = None

    @classmethod
    def of(cls, engine: Engine, station: Station, servers: Servers | None = None) -> Belt:
        """Return those of the harness's own tools that can work at a station."""
        names = station.serves
        declared = engine.catalog(SOURCE)
        catalog = Catalog(t for t in declared.tools if t.name in names)
        offers = {
            f"{SOURCE}:{n}": Offer(n, TOOLS[n].description, TOOLS[n].input_schema) for n in names
        }
        return cls(catalog, offers, servers)

    @property
    def catalog(self) -> Catalog:
        """All that there is by now, each tool with its declaration."""
        return self._own if self.servers is None else self.servers.beside(self._own)

    def offer(self, key: str) -> Offer | None:
        """Return a tool as the model sees it, None if there is no such tool by now."""
        own = self._offers.get(key)
        return own if own is not None or self.servers is None else self.servers.offer(key)

    def run(self, key: str, args: Mapping[str, Any], desk: Desk) -> Result:
        """Serve a call of an own tool that may run; blocks."""
        return TOOLS[key.partition(":")[2]].run(args, desk)
