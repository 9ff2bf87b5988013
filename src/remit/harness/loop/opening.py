"""Opening the harness for a space: what it enforces, and where its conversations work."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping

from attrs import frozen

from remit.harness.engine import Engine
from remit.harness.gateway.environment import upstream_environment
from remit.harness.location import Location, protected
from remit.harness.loop.belt import Station
from remit.harness.loop.history import FOLDER
from remit.harness.sandbox.box import Box, box
from remit.harness.sandbox.survey import ground
from remit.harness.store import Store
from remit.harness.workspace import Workspace
from remit.policy.backend import Backend
from remit.policy.ceiling import Ceiling
from remit.policy.problems import InputError, Problem
from remit.policy.projection import Host

__all__ = ["PRESENT_PLAN", "Opened", "open_harness"]

#: The verb that this host serves in every mode (S004-R3).
PRESENT_PLAN = "remit:present_plan"
#: What the harness's own conversations are called.
_PREFIX = "chat-"


@frozen
class Opened:
    """A workspace with the harness as its host, and the station of one space."""

    workspace: Workspace
    space: str
    station: Station

    def newest(self) -> str:
        """Return the conversation that this space had last, that of its open run if it has one.

        `InputError` if there is none.
        """
        if (run := self.workspace.store.runs.open_in(self.space)) is not None:
            return run.conversation
        found = [
            c.id
            for c in self.workspace.store.conversations.list(self.space)
            if c.id.startswith(_PREFIX) and not c.child
        ]
        if not found:
            message = f"space `{self.space}` has no conversation to go on with"
            raise InputError(Problem("unknown-conversation", message, "leave `--resume` out"))
        return found[-1]

    def fresh(self) -> str:
        """Return the id of a conversation that is to begin."""
        return f"{_PREFIX}{secrets.token_hex(5)}"


def open_harness(
    location: Location,
    engine: Engine,
    store: Store,
    space: str,
    backend: Backend | None,
    scratch: str,
    environ: Mapping[str, str] = os.environ,
    guards: Iterable[str] = (),
) -> Opened:
    """Open the harness in a space. Commands run in ``backend``; None means that there is no shell.

    ``scratch`` is a folder of this process alone, in which writing counts for nothing.
    ``guards`` are further paths that no tool may change.
    """
    worktree = store.spaces.get(space).worktree
    guarded = (*protected(location, worktree), str(location.data / FOLDER), *guards)
    secret = (str(location.token_file),)
    host = Host(
        "harness",
        offers=(PRESENT_PLAN,),
        worktree=worktree,
        protected=guarded,
        secret=secret,
        sandbox=backend.name if backend is not None and backend.holds else None,
    )
    environment = upstream_environment(environ, [worktree] if worktree else [])
    others = [s.worktree for s in store.spaces.list() if s.worktree]

    def make(ceiling: Ceiling) -> Box:
        assert backend is not None, "without a sandbox there is no shell"
        git = [name for name in environment if name.startswith("GIT_CONFIG_")]
        stands = ground(
            location, worktree, (), environment,
            others=others,
            keep=(*git, "GIT_OPTIONAL_LOCKS"),
            scratch=None if backend.namespaces else scratch,
        )  # fmt: skip
        return box(ceiling, stands, backend, worktree)

    station = Station(
        worktree, guarded, secret, scratch, make if backend is not None else None, environment
    )
    return Opened(Workspace(engine, store, host), space, station)
