"""The session, from a loop that must not wait: all judging is done in one thread of its own.

One thread means one database connection, so that what `Session.version` compares is comparable,
and one decision at a time in a conversation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import anyio.to_thread
from attrs import define, field

from remit.harness.gateway.declared import Changed
from remit.harness.natives import Answer, NativeTool
from remit.harness.session import Frame, Run, Session
from remit.harness.store import SYSTEM, Approval
from remit.harness.store.events import TOOL_CHANGED
from remit.policy.problems import Problem, RemitError
from remit.policy.tools import Call, Catalog
from remit.policy.vocabulary import Verdict

__all__ = ["Judge"]

T = TypeVar("T")

#: Seconds that one wait lasts at the most, as nobody can end it sooner.
_WHILE = 0.25


@contextmanager
def _told() -> Iterator[None]:
    """Turn whatever fails into a `RemitError`, which nobody takes for the end of the gateway."""
    try:
        yield
    except RemitError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise RemitError(Problem("judging-failed", f"remit itself failed with {what}")) from error


@define(eq=False)
class Judge:
    """A `Session` whose methods are awaited; all that they raise is `RemitError`."""

    session: Session
    _thread: ThreadPoolExecutor = field(
        factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="remit-session"), init=False
    )

    async def think(self, work: Callable[[], T]) -> T:
        """Return what some work with the session returns.

        Raises `RemitError` whatever goes wrong: who cannot judge refuses, and goes on.
        """
        with _told():
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def frame(self) -> Frame:
        """Freeze a frame."""
        return await self.think(self.session.frame)

    async def surface(self) -> tuple[Frame, tuple[NativeTool, ...]]:
        """Freeze a frame; return it with the native verbs that it shows."""

        def look() -> tuple[Frame, tuple[NativeTool, ...]]:
            frame = self.session.frame()
            return frame, self.session.native_tools(frame)

        return await self.think(look)

    async def call(self, frame: Frame, call: Call, tool_hash: str) -> Run | Answer:
        """Judge a call by a frame."""
        return await self.think(lambda: self.session.call(frame, call, tool_hash))

    async def frame_and_call(self, call: Call, tool_hash: str) -> tuple[Frame, Run | Answer]:
        """Judge a call by a frame of now, in one change of threads."""

        def both() -> tuple[Frame, Run | Answer]:
            frame = self.session.frame()
            return frame, self.session.call(frame, call, tool_hash)

        return await self.think(both)

    async def admitted(self, frame: Frame, calls: Sequence[Call]) -> tuple[bool, ...]:
        """Say of each call whether it would run or be asked for; nothing is recorded."""

        def look() -> tuple[bool, ...]:
            verdicts = (self.session.look(frame, c).decision.verdict for c in calls)
            return tuple(v is not Verdict.DENY for v in verdicts)

        return await self.think(look)

    async def locked(self) -> bool:
        """Say whether the space is locked, so that nothing passes; so it is if nobody can tell."""
        try:
            return (await self.frame()).space.locked
        except RemitError:
            return True

    async def allowed(self, frame: Frame, call: Call) -> bool:
        """Say whether a call would run unasked; nothing is recorded."""
        look = await self.think(lambda: self.session.look(frame, call))
        return look.decision.verdict is Verdict.ALLOW

    async def approval(self, id: str) -> Approval:
        """Return an approval as it stands."""
        session = self.session
        return await self.think(lambda: session.store.approvals.get(id, now=session.clock()))

    async def decide(self, id: str, approve: bool, feedback: str | None, by: str) -> None:
        """Decide an approval; raises `StoreConflict` if it was decided otherwise meanwhile."""
        session = self.session
        await self.think(
            lambda: session.store.approvals.decide(
                id, approve, by=by, now=session.clock(), feedback=feedback
            )
        )

    async def keep(self, changed: Iterable[Changed], file: str) -> None:
        """Keep what changed of pinned tools where `remit catalog` finds it, each change once."""
        session = self.session

        def record() -> None:
            log = session.store.log
            kept = {
                (e.body["source"], e.body["tool"], e.body["was"], e.body["hash"])
                for e in log.read(kinds=(TOOL_CHANGED,))
            }
            for one in changed:
                if (one.source, one.tool, one.was.hash, one.now.hash) in kept:
                    continue
                body = {
                    "source": one.source,
                    "tool": one.tool,
                    "was": one.was.hash,
                    "hash": one.now.hash,
                    "description": one.now.description,
                    "schema": one.now.schema,
                    "catalog": file,
                }
                log.record(
                    TOOL_CHANGED,
                    body,
                    actor=SYSTEM,
                    now=session.clock(),
                    space=session.space,
                    conversation=session.conversation,
                )

        await self.think(record)

    async def set_catalog(self, catalog: Catalog) -> None:
        """Tell the session what the upstream's tools are."""
        await self.think(lambda: self.session.set_catalog(catalog))

    async def changed(self, last: int) -> int:
        """Return the number of the last record: once it is another than ``last``, or in a while.

        What is decided of calls changes no surface, so it is waited on. This is not done in the
        thread that judges.
        """
        with _told():
            return await anyio.to_thread.run_sync(
                lambda: self.session.store.wait(last, _WHILE, deaf=("decision",)),
                abandon_on_cancel=True,
            )

    def close(self) -> None:
        """End the thread, after what it is at."""
        self._thread.shutdown(wait=True, cancel_futures=True)
