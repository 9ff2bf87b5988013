"""A request to a server that outlives the client's own, so that it can be asked something midway.

A server with a handshake asks while it works on a request; a modern client is asked by ending its
request, and answers with the next. In between the server waits, and so does its errand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import mcp_types as types
from attrs import define, field
from mcp.shared.exceptions import MCPError

from remit.harness.gateway.link import Gone
from remit.harness.gateway.peer import Context, Reply

__all__ = ["Errand", "Question"]

Raw = Mapping[str, Any]


@define(eq=False)
class Question:
    """What a server asked in the midst of an errand, until it is answered."""

    request: types.InputRequest
    _answer: Reply | None = field(default=None, init=False)
    _answered: anyio.Event = field(factory=anyio.Event, init=False)

    def answer(self, answer: Reply) -> None:
        """Answer it; only the first answer counts."""
        if self._answer is None:
            self._answer = answer
            self._answered.set()

    async def wait(self) -> Reply:
        """Return the answer, once there is one."""
        await self._answered.wait()
        assert self._answer is not None, "set together"
        return self._answer


@define(eq=False)
class Errand:
    """One request that a server works on; ``work`` sends it, once."""

    work: Callable[[], Awaitable[Raw]]
    #: The client's request that waits for it, or was the last to.
    ctx: Context
    scope: anyio.CancelScope = field(factory=anyio.CancelScope, init=False)
    _questions: deque[Question] = field(factory=deque, init=False)
    #: All that was ever asked: a server with a handshake does not say in which errand it asks, so
    #: another errand may wait for the answer.
    _asked: list[Question] = field(factory=list, init=False)
    _outcome: Raw | Exception | None = field(default=None, init=False)
    _more: anyio.Event = field(factory=anyio.Event, init=False)

    async def run(self) -> None:
        """Have it done, unless it is given up."""
        with self.scope:
            try:
                self._outcome = await self.work()
            except (Gone, MCPError) as error:
                self._outcome = error
        if self._outcome is None:
            self._outcome = Gone("was told to stop")
        for question in self._asked:
            question.answer(types.ErrorData(code=types.INVALID_REQUEST, message="it is over"))
        self._more.set()

    async def ask(self, request: types.InputRequest) -> Reply:
        """Ask whoever waits for it; return the answer."""
        question = Question(request)
        self._questions.append(question)
        self._asked.append(question)
        self._more.set()
        return await question.wait()

    async def next(self) -> Raw | Question:
        """Return its result, or what is asked first; raises as a request does."""
        while True:
            if self._questions:
                return self._questions.popleft()
            if isinstance(self._outcome, Exception):
                raise self._outcome
            if self._outcome is not None:
                return self._outcome
            self._more = anyio.Event()
            await self._more.wait()
