"""What servers tell and ask by themselves, what other processes change, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import mcp_types as types
from attrs import define, field

from remit.harness.gateway.asks import Asks
from remit.harness.gateway.changes import News
from remit.harness.gateway.directory import Directory
from remit.harness.gateway.fleet import Fleet, Served
from remit.harness.gateway.judge import Judge
from remit.harness.gateway.logs import Logs
from remit.harness.gateway.offers import PROMPTS, RESOURCES, TEMPLATES
from remit.harness.gateway.peer import Reply
from remit.harness.gateway.shelf import PROMPT, READ
from remit.harness.gateway.watching import Watching
from remit.policy.problems import Problem, RemitError
from remit.policy.tools import Call

__all__ = ["Hearing"]


@define(eq=False)
class Hearing:
    """The hub of all servers; ``report`` hears problems, for people."""

    judge: Judge
    fleet: Fleet
    directory: Directory
    news: News
    logs: Logs
    asks: Asks
    watching: Watching
    report: Callable[[Problem], None]
    #: What was told last of a trouble that lasts, so that it is told once.
    _trouble: str = field(default="", init=False)

    async def restocked(self, served: Served) -> None:
        """Take what a server lists now; the client hears of it if its surface changed."""
        try:
            await self.judge.set_catalog(self.fleet.catalog)
            self.directory.tell_shared(self.judge.session.catalog)
            if served.shelf.changed:
                await self.judge.keep(served.shelf.changed, served.shelf.file)
        except RemitError as error:
            self._report_all(error)
        served.turns.update(("resources", "prompts"))
        served.offers.forget(RESOURCES, TEMPLATES, PROMPTS)
        await self._tell_news()

    async def told(self, served: Served, message: types.ServerNotification) -> None:
        """Pass on what a server tells."""
        if isinstance(message, types.ResourceUpdatedNotification):
            await self.watching.updated(served, message.params.uri)
        elif isinstance(message, types.LoggingMessageNotification):
            await self.logs.tell(served, message.params)
        elif isinstance(message, types.ResourceListChangedNotification):
            served.offers.forget(RESOURCES, TEMPLATES)
            served.turns["resources"] += 1
            await self._tell_news()
        elif isinstance(message, types.PromptListChangedNotification):
            served.offers.forget(PROMPTS)
            served.turns["prompts"] += 1
            await self._tell_news()

    async def asked(self, served: Served, request: types.InputRequest) -> Reply:
        """Answer what a server with a handshake asks of the client."""
        return await self.asks.put(served, request)

    async def watch(self) -> None:
        """Wait for changes that other processes make, and tell the client."""
        last = -1
        for served in self.fleet:
            await served.upstream.settled()  # no client has seen a surface before that
        while True:
            try:
                version = await self.judge.changed(last)
            except RemitError as error:
                self._report_all(error)
                await anyio.sleep(1)
                continue
            self._trouble = ""
            if version != last:
                last = version
                await self._tell_news()

    async def _tell_news(self) -> None:
        """Announce the surface of now, if it is another."""
        try:
            frame = await self.judge.frame()
            self.fleet.fit(frame)
            projection = frame.projection
            tools = tuple(tool.key for tool in projection.tools)
            prints = tuple(one.shelf.print for one in self.fleet)
            await self.news.tell("tools", (projection.mode, tools, prints))
            for what, request in (("resources", READ), ("prompts", PROMPT)):
                able = self.fleet.able(what)
                calls = [Call(f"{one.name}:{request}") for one in able]
                let = await self.judge.admitted(frame, calls)
                seen = tuple(
                    (one.name, one.turns[what]) for one, ok in zip(able, let, strict=True) if ok
                )
                if able:
                    await self.news.tell(what, seen)
        except RemitError as error:
            self._report_all(error)

    def _report_all(self, error: RemitError) -> None:
        if str(error) != self._trouble:
            self._trouble = str(error)
            for problem in error.problems:
                self.report(problem)
