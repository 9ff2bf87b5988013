"""The library of `remit.harness.workspace` for asyncio: the same objects, each act off the loop.

Nothing is decided here. An act that has begun ends, whoever is cancelled meanwhile: what is in the
log and what the caller knows do not part, and a turn that nobody entered is not left open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from remit.harness.conversation import Conversation
from remit.harness.frames import Frame
from remit.harness.natives import Answer
from remit.harness.session import Run
from remit.harness.store import Overlay, Switch
from remit.harness.turns import USER, Step, Turn
from remit.harness.workspace import OpenSpace, Workspace
from remit.policy.announce import Message
from remit.policy.profile import Profile
from remit.policy.tools import Call, Catalog, Tool

__all__ = ["AsyncConversation", "AsyncSpace", "AsyncStep", "AsyncTurn", "AsyncWorkspace"]

_T = TypeVar("_T")


async def _act(act: Callable[[], _T], undo: Callable[[_T], object] | None = None) -> _T:
    """Do something in a thread and wait for its end, even if cancelled; then undo it, and tell."""
    doing = asyncio.ensure_future(asyncio.to_thread(act))
    cancelled: asyncio.CancelledError | None = None
    while not doing.done():
        try:
            await asyncio.wait({doing})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return doing.result()
    if undo is not None and doing.exception() is None:
        made, back = doing.result(), undo
        await _act(lambda: back(made))
    raise cancelled from doing.exception()


class AsyncWorkspace:
    """A `Workspace` for asyncio: ``async with AsyncWorkspace(url, create=True) as workspace``.

    Takes what `Workspace.open` takes; the database is opened on entering.
    """

    def __init__(self, url: str | None = None, **given: Any) -> None:
        self._open = lambda: Workspace.open(url, **given)
        self._sync: Workspace | None = None

    @property
    def sync(self) -> Workspace:
        """The workspace itself, whose methods block; `RuntimeError` if it is not entered."""
        if self._sync is None:
            msg = "the workspace is not open: use `async with`"
            raise RuntimeError(msg)
        return self._sync

    async def space(self, id: str) -> AsyncSpace:
        """As `Workspace.space`."""
        return AsyncSpace(await _act(lambda: self.sync.space(id)))

    async def create_space(
        self, id: str, mode: str | None = None, *, by: str, **given: Any
    ) -> AsyncSpace:
        """As `Workspace.create_space`."""
        return AsyncSpace(await _act(lambda: self.sync.create_space(id, mode, by=by, **given)))

    async def conversation(self, id: str) -> AsyncConversation:
        """As `Workspace.conversation`."""
        return AsyncConversation(await _act(lambda: self.sync.conversation(id)))

    async def resolve(self, space: str | None, foreign: str = "error") -> Profile:
        """As `Workspace.resolve`."""
        return await _act(lambda: self.sync.resolve(space, foreign))

    async def __aenter__(self) -> Self:
        self._sync = await _act(self._open, Workspace.close)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await _act(self.sync.close)
        self._sync = None


class AsyncSpace:
    """An `OpenSpace` for asyncio."""

    def __init__(self, sync: OpenSpace) -> None:
        self.sync = sync
        self.id = sync.id

    async def mode(self) -> str:
        """As `OpenSpace.mode`."""
        return await _act(lambda: self.sync.mode)

    async def set(self, mode: str, *, by: str, why: str = "", expect: int | None = None) -> Switch:
        """As `OpenSpace.set`; one that is cancelled is done."""
        return await _act(lambda: self.sync.set(mode, by=by, why=why, expect=expect))

    async def conversation(self, id: str) -> AsyncConversation:
        """As `OpenSpace.conversation`."""
        return AsyncConversation(await _act(lambda: self.sync.conversation(id)))


class AsyncConversation:
    """A `Conversation` for asyncio."""

    def __init__(self, sync: Conversation) -> None:
        self.sync = sync
        self.id = sync.id

    async def mode(self) -> str:
        """As `Conversation.mode`."""
        return await _act(lambda: self.sync.mode)

    async def child(self, mode: str | None = None, *, id: str | None = None) -> AsyncConversation:
        """As `Conversation.child`."""
        return AsyncConversation(await _act(lambda: self.sync.child(mode, id=id)))

    async def fork(self, id: str, *, at: int | None = None) -> AsyncConversation:
        """As `Conversation.fork`."""
        return AsyncConversation(await _act(lambda: self.sync.fork(id, at=at)))

    def turn(
        self,
        origin: str = USER,
        *,
        overlay: Overlay | None = None,
        cwd: str | None = None,
        scratch: str | None = None,
    ) -> AsyncTurn:
        """As `Conversation.turn`, to enter with ``async with``."""
        return AsyncTurn(self.sync.turn(origin, overlay=overlay, cwd=cwd, scratch=scratch))


class AsyncTurn:
    """A `Turn` for asyncio; one whose task is cancelled is closed as interrupted."""

    def __init__(self, sync: Turn) -> None:
        self.sync = sync

    async def step(self, catalog: Catalog | None = None) -> AsyncStep:
        """As `Turn.step`."""
        return AsyncStep(await _act(lambda: self.sync.step(catalog)))

    async def __aenter__(self) -> Self:
        await _act(self.sync.__enter__, _interrupted)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await _act(lambda: self.sync.__exit__(kind, error, trace))


class AsyncStep:
    """A `Step` for asyncio: values as they are, and `decide` off the loop."""

    def __init__(self, sync: Step) -> None:
        self.sync = sync

    @property
    def mode(self) -> str:
        """As `Step.mode`."""
        return self.sync.mode

    @property
    def frame(self) -> Frame:
        """As `Step.frame`."""
        return self.sync.frame

    @property
    def tools(self) -> tuple[Tool, ...]:
        """As `Step.tools`."""
        return self.sync.tools

    @property
    def preamble(self) -> str:
        """As `Step.preamble`."""
        return self.sync.preamble

    @property
    def notices(self) -> tuple[Message, ...]:
        """As `Step.notices`."""
        return self.sync.notices

    async def decide(self, call: Call, tool_hash: str = "") -> Run | Answer:
        """As `Step.decide`; one that is cancelled is in the log, and nothing ran."""
        return await _act(lambda: self.sync.decide(call, tool_hash))


def _interrupted(turn: Turn) -> None:
    turn.__exit__(asyncio.CancelledError, None, None)
