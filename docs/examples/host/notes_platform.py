"""A platform in a hundred lines: spaces in modes, an agent's loop, and an operator.

Run it with a folder for its database: `python notes_platform.py FOLDER`. The model is a script, so
what it prints is the same each time, but for ids.
"""

import os
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

from remit import Answer, Call, Engine, Run, Workspace

HERE = Path(__file__).parent

Model = Iterable[Call]
"""A real one is given the preamble and the tools, and yields calls."""


def now() -> datetime:
    return datetime.now(UTC)


class Notes:
    """The platform's own tools: plain functions, which know nothing of modes."""

    def __init__(self) -> None:
        self.notes = {"todo": "mend the gate"}
        self.reports: list[str] = []

    def read_note(self, name: str) -> str:
        return self.notes.get(name, "there is no such note")

    def write_note(self, name: str, text: str) -> str:
        self.notes[name] = text
        return f"`{name}` is written"

    def send_report(self, text: str) -> str:
        self.reports.append(text)
        return "the report is sent"


class Platform:
    """Many spaces of one workspace, which other processes may share."""

    def __init__(self, folder: Path, say: Callable[[str], None] = print) -> None:
        self.workspace = Workspace.open(
            folder / "platform.db",
            create=True,
            engine=Engine.load([HERE / "report.toml"], [HERE / "notes.toml"]),
            host="notes-platform",
            environ=os.environ,
        )
        self.tools = Notes()
        self.say = say

    def open_space(self, space: str, mode: str) -> None:
        """Give a space its mode. Only an operator, the system or a pipeline can."""
        # An unknown mode raises, with near misses.
        self.workspace.create_space(space, mode, by="operator")

    def run(self, space: str, conversation: str, model: Model) -> None:
        """One turn: each step freezes a frame, tells what holds, and judges one call by it."""
        with self.workspace.space(space).conversation(conversation).turn() as turn:
            for call in model:
                step = turn.step()
                for notice in step.notices:
                    self.say(f"{space} is told: {notice.text}")
                shown = [t.name for t in step.tools]
                self.say(f"{space} [{step.mode}] {call.tool} of {', '.join(shown)}")
                match step.decide(call):
                    case Run(tool):  # judged and recorded: now it may run, once
                        self.say(f"  {getattr(self.tools, tool.name)(**call.args)}")
                    case Answer(text):  # refused, asked for, or served by remit itself
                        self.say(f"  {text}")

    def approve_all(self) -> None:
        """What an operator does, in a console of the platform's."""
        approvals = self.workspace.store.approvals
        for approval in approvals.list(now=now()):
            if approval.state == "pending":
                self.say(f"operator approves {approval.shown!r}")
                approvals.decide(approval.id, True, by="operator:ada", now=now())


def main(folder: Path) -> None:
    platform = Platform(folder)
    platform.open_space("reading", "report")
    platform.open_space("writing", "chat")
    write = Call("write_note", {"name": "todo", "text": "the gate is mended"})

    platform.run("reading", "c1", [Call("read_note", {"name": "todo"}), write])
    platform.run("reading", "c1", [Call("send_report", {"text": "one note, about the gate"})])
    platform.run("writing", "c2", [write])
    platform.approve_all()
    platform.run("writing", "c2", [write])

    with platform.workspace.space("reading").conversation("c3").turn() as turn:
        print(turn.step().preamble)
    platform.workspace.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FOLDER")
    main(Path(sys.argv[1]))
