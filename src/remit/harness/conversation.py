"""A conversation: one thread in a space, whose mode moves at boundaries alone.

All that counts is in the store, so any process can go on with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import evolve

from remit.harness.inforce import in_force
from remit.harness.site import Site
from remit.harness.store import ConversationRecord, Overlay, Switch
from remit.harness.turns import USER, Turn
from remit.policy.announce import Message, Told, announce
from remit.policy.boundary import Boundary, crosses
from remit.policy.problems import InputError, Problem, near
from remit.policy.profile import Profile
from remit.policy.tasks import ActivePlan, read_tasks

if TYPE_CHECKING:
    from remit.harness.workspace import Workspace

__all__ = ["Conversation"]


class Conversation:
    """One conversation of a workspace, made by `OpenSpace.conversation`."""

    def __init__(
        self, workspace: Workspace, record: ConversationRecord, parent: Conversation | None = None
    ) -> None:
        self.workspace = workspace
        self.id = record.id
        self.space = record.space
        #: The conversation that it is a child of, where that is known in this process.
        self.parent = parent

    @property
    def running(self) -> Turn | None:
        """The turn that is open in this workspace, whichever object began it."""
        return self.workspace.running.get(self.id)

    @property
    def record(self) -> ConversationRecord:
        """The conversation as the store has it now."""
        return self.workspace.store.conversations.get(self.id)

    @property
    def mode(self) -> str:
        """The mode in force: that of the open turn, else the one that the next turn begins in."""
        there, modes = self.record, self.workspace.modes
        space = self.workspace.store.spaces.get(self.space)
        if there.open or there.child:
            return there.mode
        newer = space.revision > there.revision
        held, wanted = modes.usable(there.mode), modes.usable(space.mode)
        return space.mode if crosses(Boundary.TURN, held, wanted, newer=newer) else there.mode

    @property
    def profile(self) -> Profile:
        """What holds in it, by all that narrows it: now, or in the turn that comes next."""
        store = self.workspace.store
        own, *above = store.conversations.line(self.id)
        line = (evolve(own, mode=self.mode), *above)
        return self.workspace.modes.profile(in_force(store, self.space, line))

    @property
    def plan(self) -> ActivePlan | None:
        """How the active plan stands, None if there is none."""
        plan = self.record.plan
        return plan.active if plan else None

    @property
    def site(self) -> Site:
        """Where a run of it is worked on."""
        at = self.workspace
        return Site(at.engine, at.store, at.host, at.clock, self.space, self.id)

    def activate(self, plan: str, text: str) -> ActivePlan:
        """Track the tasks of a plan, read from its text once (S001-R10)."""
        at = self.workspace
        at.store.conversations.activate(self.id, plan, read_tasks(text), now=at.clock())
        return self.record.plan.active  # type: ignore[union-attr]  # it was made just now

    def tick(self, task: str) -> bool:
        """Record that a task of the active plan is done; False if it was."""
        at = self.workspace
        return at.store.conversations.tick(self.id, task, now=at.clock())

    def clear(self) -> None:
        """Record that no plan is active any more; its file stays."""
        self.workspace.store.conversations.clear(self.id, now=self.workspace.clock())

    @property
    def position(self) -> int:
        """The number of its last record: where to fork, or where to go back to."""
        return self.workspace.store.conversations.position(self.id)

    def turn(
        self,
        origin: str = USER,
        *,
        overlay: Overlay | None = None,
        cwd: str | None = None,
        scratch: str | None = None,
    ) -> Turn:
        """Return a turn to enter; ``overlay`` narrows it alone. ``origin`` says who began it.

        ``cwd`` and ``scratch`` are as `Session` takes them.
        """
        return Turn(self, origin, overlay, cwd, scratch)

    def child(self, mode: str | None = None, *, id: str | None = None) -> Conversation:
        """Begin a child: its own mode under what holds here, now and at each of its steps.

        ``mode`` is one that the brief in force names as its ``children``, the first unless given.
        """
        workspace, names = self.workspace, self.workspace.engine.library.children(self.profile)
        wanted = names[0] if mode is None and names else mode
        if wanted not in names:
            listed = ", ".join(f"`{n}`" for n in names)
            raise InputError(
                Problem(
                    "child-mode",
                    f"a child of {self.mode} mode may not be in `{wanted}`"
                    if wanted
                    else f"{self.mode} mode has no children",
                    near(wanted or "", names) or (f"it may be in {listed}" if names else ""),
                )
            )
        record = workspace.store.conversations.child(
            id or f"{self.id}/{secrets.token_hex(4)}", self.id, wanted, now=workspace.clock()
        )
        return Conversation(workspace, record, self)

    def fork(self, id: str, *, at: int | None = None) -> Conversation:
        """Begin another conversation as this one was at a record of it, or is now."""
        store, now = self.workspace.store, self.workspace.clock()
        return Conversation(
            self.workspace, store.conversations.fork(id, self.id, now=now, at=at), self.parent
        )

    def move(self, to: int) -> None:
        """Go on from an earlier record; never wider than the space is."""
        self.workspace.store.conversations.move(self.id, to, now=self.workspace.clock())

    def compacted(self) -> None:
        """Say that the host shortened what the conversation holds; nothing in force changes."""
        self.workspace.store.conversations.compacted(self.id, now=self.workspace.clock())

    def set_overlay(self, overlay: Overlay | None, *, by: str) -> None:
        """Narrow this conversation in every mode, as an operator; None takes that away."""
        now = self.workspace.clock()
        self.workspace.store.conversations.set_overlay(self.id, overlay, by=by, now=now)

    def switch(
        self,
        mode: str,
        *,
        by: str,
        why: str = "",
        send: Callable[[Message], None] | None = None,
    ) -> Switch:
        """Give the space a mode, telling this conversation at once if that leaves all limits.

        The record comes first, then exactly one message; if ``send`` raises, the space has its mode
        back and the error is raised, with that of giving it back if that failed too (S001-9, 10).
        """
        at, space = self.workspace, self.workspace.space(self.space)
        before = space.mode
        switch = space.set(mode, by=by, why=why)
        there = self.record
        if send is None or there.open or there.child or switch.space.mode == before:
            return switch
        projection = at.engine.project(self.profile, at.modes.catalog, at.host)
        said = announce(projection, Told.of_body(there.told), turn_start=False)
        if said.notice is None or not said.told.silent:
            return switch
        try:
            send(said.notice)
        except Exception as error:
            try:
                # Not as an operator would choose it: it was there. Not over a newer wish either.
                at.store.spaces.set_mode(
                    self.space,
                    before,
                    by=by,
                    why="the transition could not be sent",
                    now=at.clock(),
                    expect=switch.space.revision,
                )
            except Exception as second:
                raise ExceptionGroup(
                    "the transition could not be sent, nor the mode given back", [error, second]
                ) from None
            raise
        at.store.conversations.narrated(
            self.id, said.notice.what.value, said.notice.text, said.told.to_body(), now=at.clock()
        )
        return switch
