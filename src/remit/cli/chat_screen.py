"""The chat at a terminal: what is said streams above a line to write in, and a line of status."""

from __future__ import annotations

import asyncio
import time

from attrs import define, field
from prompt_toolkit import PromptSession
from prompt_toolkit.patch_stdout import patch_stdout

from remit.cli.chat_commands import Commands
from remit.cli.chat_words import words
from remit.cli.options import Place, now
from remit.cli.run_words import run_line, run_value
from remit.harness.loop.driving import Driver
from remit.harness.loop.events import Event, What
from remit.harness.loop.loop import Loop
from remit.policy.escape import escape

__all__ = ["talk_at_terminal"]


def talk_at_terminal(place: Place, loop: Loop, model: str) -> int:
    """Talk until the person leaves; returns the exit code."""

    async def talk() -> int:
        async with loop.ready():
            return await Screen(Commands(place, loop), loop, model).talk()

    return asyncio.run(talk())


@define(eq=False)
class Screen:
    """One terminal with one conversation."""

    commands: Commands
    loop: Loop
    model: str
    _session: PromptSession[str] = field(init=False)
    _driver: Driver = field(init=False)
    _turn: asyncio.Task[None] | None = field(default=None, init=False)
    #: Text of the model that has no end of line yet.
    _line: str = field(default="", init=False)
    _doing: str = field(default="", init=False)
    _since: float = field(default=0.0, init=False)
    _contract: str = field(default="", init=False)

    def __attrs_post_init__(self) -> None:
        self.loop.tell = self._hear
        self._driver = Driver(self.loop)
        self._session = PromptSession(
            message=self._message, bottom_toolbar=self._status, refresh_interval=0.5
        )

    async def talk(self) -> int:
        """Read lines until there are no more."""
        with patch_stdout():
            self._print(f"space {self.loop.conversation.space}, {self.loop.conversation.id}; /help")
            # A run may be due for a turn since it was left.
            self._turn = asyncio.create_task(self._answer(""))
            while (text := await self._read()) is not None:
                if text in ("/quit", "/exit"):
                    break
                if text.startswith("/"):
                    for said in self.commands.run(text):
                        self._print(said)
                elif text and self._busy:
                    self.loop.queue.append(text)
                    self._print(f"queued: {text}")
                elif text:
                    self._turn = asyncio.create_task(self._answer(text))
            await self._interrupt()
        return 0

    async def _read(self) -> str | None:
        """Return a line, None at the end; Ctrl-C interrupts the turn under way."""
        while True:
            try:
                return (await self._session.prompt_async()).strip()
            except KeyboardInterrupt:
                if self._busy:
                    await self._interrupt()
                else:
                    self._print("Ctrl-D leaves")
            except EOFError:
                return None

    @property
    def _busy(self) -> bool:
        return self._turn is not None and not self._turn.done()

    async def _interrupt(self) -> None:
        if self._turn is not None and not self._turn.done():
            self._turn.cancel()
            await asyncio.wait([self._turn])

    async def _answer(self, text: str) -> None:
        if text:
            self._print(f"you: {text}")
        try:
            await (self._driver.answer(text) if text else self._driver.go_on())
        except asyncio.CancelledError:
            self._print("interrupted; what was done is kept")
        except Exception as error:
            self._print(f"error: {escape(str(error), lines=True)}")
        self._doing = ""

    def _hear(self, event: Event) -> None:
        if event.what is What.TEXT:
            *whole, self._line = (self._line + event.text).split("\n")
            for said in whole:
                self._print(said)
        elif event.what is not What.THINKING:
            if self._line:
                said, self._line = self._line, ""
                self._print(said)
            if told := words(event):
                for said in told.splitlines():
                    self._print(said)
        self._note(event)
        self._session.app.invalidate()

    def _note(self, event: Event) -> None:
        """Keep what the line of status shows."""
        if event.what in (What.TURN, What.STEP):
            self._doing, self._since = "thinking", time.monotonic()
        elif event.what is What.CALL:
            self._doing, self._since = event.text, time.monotonic()
        elif event.what is What.WAITING:
            self._doing = "waiting for you: /approve or /reject"
        elif event.what is What.ENDED and event.conversation == self.loop.conversation.id:
            data = event.data
            self._contract = f"{data['contract']} {data['outcome']}" if data["contract"] else ""
            if data["error"]:
                self._print(f"error: {data['error']}")

    def _message(self) -> str:
        return f"{escape(self._line, lines=True)}\n> " if self._line else "> "

    def _status(self) -> str:
        talk = self.loop.conversation
        store = talk.workspace.store
        run = store.runs.open_in(talk.space)
        if run is not None and run.conversation == talk.id:
            doing = f" · {self._doing}" if self._busy and self._doing else ""
            return f"{run_line(run_value(run, now()))}{doing} · {self.model}"
        parts = [talk.mode, talk.workspace.store.spaces.get(talk.space).dial.value]
        owed = talk.workspace.modes.usable(talk.mode).brief
        if self._contract:
            parts.append(self._contract)
        elif owed is not None and owed.contract:
            parts.append(f"{owed.contract} owed")
        parts.append(self.model)
        if self._busy and self._doing:
            parts.append(f"{self._doing} {time.monotonic() - self._since:.0f} s")
        return " · ".join(parts)

    def _print(self, text: str) -> None:
        print(escape(text, lines=True), flush=True)
