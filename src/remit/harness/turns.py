"""Turns and steps: one message that is answered, and each request to the model within it.

A turn freezes what operators can only widen later; each step freezes a frame, tells the model what
holds in it, and judges the calls that come back (design section 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from attrs import define, field, frozen

from remit.harness.frames import Frame
from remit.harness.inforce import InForce, in_force
from remit.harness.natives import Answer, NativeTool
from remit.harness.owners import gone, owner
from remit.harness.session import Run, Session
from remit.harness.store import ConversationRecord, Outcome, Overlay, Space
from remit.harness.store.log import Writer
from remit.policy.announce import Message, Told, announce, dropped
from remit.policy.boundary import Boundary, crosses
from remit.policy.run_brief import standing_brief
from remit.policy.tools import Call, Catalog, Tool

if TYPE_CHECKING:
    from remit.harness.conversation import Conversation

__all__ = ["USER", "Step", "Turn"]

#: The origin of a turn that answers a message of the user.
USER = "user"


@frozen
class Step:
    """What one request to the model is made of, and by what its calls are judged."""

    frame: Frame
    #: The text before the conversation; empty for the absence of policy.
    preamble: str
    #: Hidden messages for the end of the request, one at most of a kind.
    notices: tuple[Message, ...]
    #: The number of its record: to fork at, or to go back to.
    position: int
    _turn: Turn = field(repr=False)

    @property
    def mode(self) -> str:
        """The mode whose brief holds."""
        return self.frame.mode

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model is shown, native verbs included."""
        return self.frame.projection.tools

    @property
    def session(self) -> Session:
        """What judges the calls of its turn."""
        return self._turn.session

    @property
    def native_tools(self) -> tuple[NativeTool, ...]:
        """The native verbs among them, with descriptions and schemas."""
        return self._turn.session.native_tools(self.frame)

    def decide(self, call: Call, tool_hash: str = "") -> Run | Answer:
        """Judge one call that came back, record the decision, and answer it or hand it on."""
        return self._turn.decide(self.frame, call, tool_hash)


@define(eq=False)
class Turn:
    """One turn of a conversation: a context manager that opens and closes it."""

    conversation: Conversation
    origin: str
    overlay: Overlay | None = None
    #: Where relative paths of its calls start, and a folder in which writing counts for nothing.
    cwd: str | None = None
    scratch: str | None = None
    session: Session = field(init=False)
    #: Its number in the conversation, from 1; 0 before it is open.
    number: int = field(default=0, init=False)
    #: What held when it began, in it and in the turns of its parents.
    floors: tuple[InForce, ...] = field(default=(), init=False)
    _seq: int = field(default=0, init=False)
    _decisions: int = field(default=0, init=False)
    _catalog: Catalog | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        at = self.conversation.workspace
        self.session = Session(
            at.engine,
            at.store,
            self.conversation.space,
            self.conversation.id,
            at.host,
            at.clock,
            self._force,
            cwd=self.cwd,
            scratch=self.scratch,
            recorder=at.recorder,
        )
        self.session.set_catalog(at.engine.operators)

    def __enter__(self) -> Self:
        at = self.conversation.workspace
        record = at.store.conversations.open(
            self.conversation.id,
            origin=self.origin,
            owner=owner(),
            now=at.clock(),
            crosses=self._crosses,
            gone=gone,
            overlay=self.overlay,
            opening=self._opening if self.origin == USER else None,
        )
        self.number = record.turn
        self._begin(at.store.log.head())
        at.running[self.conversation.id] = self
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.close(Outcome.FAILED if issubclass(kind, Exception) else Outcome.INTERRUPTED)

    def close(self, outcome: Outcome = Outcome.ENDED) -> None:
        """Close the turn; a second time does nothing."""
        at = self.conversation.workspace
        at.recorder.flush()
        at.store.conversations.close(
            self.conversation.id,
            self.number,
            outcome,
            now=at.clock(),
            decisions=self._decisions,
        )
        if self.conversation.running is self:
            del at.running[self.conversation.id]

    def step(self, catalog: Catalog | None = None) -> Step:
        """Freeze what holds for the next request; ``catalog`` are the tools that there are.

        Without one, those of the step before, at first the operator's. `StoreError` if the record
        of it cannot be written: then nothing of it happened, and it can be tried again.
        """
        if catalog is not None:
            self.session.set_catalog(catalog)
        at = self.conversation.workspace
        at.recorder.flush()
        made: list[Step] = []
        began = self._seq, self.floors

        def frame(writer: Writer, record: ConversationRecord, flushed: bool) -> Mapping[str, Any]:
            step, telling = self._framed(writer, record, flushed)
            made.append(step)
            return {
                "projection": step.frame.projection.hash,
                "telling": telling,
                "notices": [{"what": m.what.value, "text": m.text} for m in step.notices],
            }

        try:
            at.store.conversations.step(
                self.conversation.id,
                self.number,
                now=at.clock(),
                crosses=self._crosses,
                frame=frame,
            )
        except BaseException:
            # What the step would have been granted was not recorded, so the turn does not have it.
            self._seq, self.floors = began
            raise
        self.session.seen(made[0].frame)
        return made[0]

    def decide(self, frame: Frame, call: Call, tool_hash: str) -> Run | Answer:
        """Judge a call of a step of this turn."""
        self._decisions += 1
        return self.session.call(frame, call, tool_hash)

    def _opening(self, writer: Writer) -> None:
        """A message of the user takes the place of a plan that waits for them (S004-7)."""
        plans = self.conversation.workspace.store.plans
        plans.supersede(writer, self.conversation.space, self.conversation.id)

    def _begin(self, seq: int) -> None:
        self._seq = seq
        parent = self.conversation.parent
        above = parent.running.floors if parent is not None and parent.running else ()
        self.floors = (self._force(), *above)

    def _framed(
        self, writer: Writer, record: ConversationRecord, flushed: bool
    ) -> tuple[Step, Mapping[str, Any]]:
        force = self._force()
        granted = flushed and force.space.left_by == record.id
        if granted:
            # What the operator set before approving is of this turn from here on.
            self._begin(writer.head.seq)
        frame = self.session.framed(force, self._seq, self.floors)
        before = record.telling or record.told or {}
        said = announce(
            frame.projection,
            Told.of_body(before),
            turn_start=record.step == 0,
            narrated=granted or self._narrated(force.space, record, before),
            plan=record.plan.active if record.plan else None,
        )
        notices, gone = said.messages, list(before.get("gone") or ())
        missing = self.session.modes.missing(record.mode) is not None
        if record.step == 0 and missing and record.mode not in gone:
            notices = (dropped(record.mode), *notices)
            gone.append(record.mode)
        position = writer.head.seq + len(notices) + 1
        standing = said.standing + self._stage(force)
        step = Step(frame, standing, notices, position, self)
        return step, {**said.told.to_body(), "gone": gone}

    def _stage(self, force: InForce) -> str:
        """Return what the model is told of the stage, in the conversation of the run (S000-21)."""
        if force.own_run is None:
            return ""
        store = self.conversation.workspace.store
        return f"\n{standing_brief(store.runs.get(force.own_run.run).run)}"

    def _narrated(
        self, space: Space, record: ConversationRecord, before: Mapping[str, Any]
    ) -> bool:
        """Say whether the last turn ended with the result that told of its own exit (S002-R7)."""
        own = space.left_by == record.id and space.mode == record.mode != before.get("mode")
        conversations = self.conversation.workspace.store.conversations
        return own and record.step == 0 and conversations.ended(record.id)

    def _crosses(self, at: Boundary, space: Space, record: ConversationRecord) -> bool:
        modes = self.session.modes
        return crosses(
            at,
            modes.usable(record.mode),
            modes.usable(space.mode),
            newer=space.revision > record.revision,
            granted=space.left_by == record.id,
        )

    def _force(self) -> InForce:
        store = self.conversation.workspace.store
        line = store.conversations.line(self.conversation.id)
        return in_force(store, line[0].space, line)
