"""Platforms: what does the actions of an approved orchestration.

`Platform` is what an adapter to another system has. `EmbeddedPlatform` keeps agents, projects,
tickets and pipelines in our own store, so that orchestrating works with nothing else there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from attrs import frozen

from remit.harness.store import OrchestrationRecord, Store
from remit.harness.store.events import stamp
from remit.policy.digest import digest
from remit.policy.materialise import Act
from remit.policy.pipeline import Pipeline
from remit.policy.schedule import PipelineLimit

__all__ = ["EmbeddedPlatform", "Platform"]


class Platform(Protocol):
    """Does what an orchestration asks for; each method returns the id of what it made.

    ``key`` is the action's own for good: called again with it, as after a crash, a platform makes
    nothing new and returns the same id. Bodies are those of `remit.policy.materialise.actions`,
    with the ids of what earlier actions made in them.
    """

    def hire(self, key: str, body: Mapping[str, Any]) -> str:
        """Make an agent of a specification."""

    def create_project(self, key: str, body: Mapping[str, Any]) -> str:
        """Make what the tickets belong to."""

    def create_ticket(self, key: str, body: Mapping[str, Any]) -> str:
        """Make a ticket; ``depends_on`` holds keys, some of which may come later."""

    def start_pipeline(self, key: str, body: Mapping[str, Any], pipeline: Pipeline) -> str:
        """Start the work, within the budget of the body."""


@frozen
class EmbeddedPlatform:
    """A platform in our own store, for one approved orchestration.

    A project is a space of its own, in mode ``mode``, as narrow otherwise as the space that the
    proposal came from: steps of its pipeline have the meet of it and of their pinned modes.
    """

    store: Store
    record: OrchestrationRecord
    mode: str
    clock: Callable[[], datetime]

    def hire(self, key: str, body: Mapping[str, Any]) -> str:
        """Keep an agent."""
        return self._make(Act.HIRE, key, body)

    def create_project(self, key: str, body: Mapping[str, Any]) -> str:
        """Make a space; its id is the project's."""
        return self._make(Act.CREATE_PROJECT, key, body, like=self.record.space, mode=self.mode)

    def create_ticket(self, key: str, body: Mapping[str, Any]) -> str:
        """Keep a ticket."""
        return self._make(Act.CREATE_TICKET, key, body)

    def start_pipeline(self, key: str, body: Mapping[str, Any], pipeline: Pipeline) -> str:
        """Keep the pipeline in the project's space, within the budget, for whoever drives it."""
        steps, minutes = body["budget"]["steps"], body["budget"]["minutes"]
        until = None
        if minutes is not None and self.record.decided_at is not None:
            began = datetime.fromisoformat(self.record.decided_at)
            until = stamp(began + timedelta(minutes=minutes))
        started = self.store.pipelines.start(
            body["project"],
            pipeline,
            by=self.record.decided_by or "",
            now=self.clock(),
            id=f"pl{digest(key)[:16]}",
            limit=PipelineLimit(steps, until),
        )
        return started.id

    def _make(self, act: Act, key: str, body: Mapping[str, Any], **space: str) -> str:
        by = self.record.decided_by or ""
        return self.store.items.make(act, key, body, by=by, now=self.clock(), **space)
