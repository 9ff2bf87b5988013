"""Many conversations in one process, half in a mode that may write and half in one that may not."""

from __future__ import annotations

import asyncio
from pathlib import Path

from remit.harness.loop.belt import Station
from remit.harness.loop.loop import Ended, Loop
from remit.harness.loop.scripted import ScriptFile, scripted
from remit.harness.workspace import Workspace
from remit.policy.vocabulary import Dial
from tests.harness.loop.driver import call, says

#: The modes, and whether what is written in them is there in the end.
MODES = {"chat": True, "plan": False}


def soak(at: Workspace, folder: Path, count: int) -> list[tuple[str, bool, Ended]]:
    """Let ``count`` conversations write at once; return of each mode, whether it did, and its end.

    Each has a space and a worktree of its own.
    """

    async def talk(number: int) -> tuple[str, bool, Ended]:
        mode = list(MODES)[number % len(MODES)]
        tree = folder / f"w{number}"
        tree.mkdir()
        space = at.create_space(
            f"s{number}", mode, by="operator", dial=Dial.AUTO, worktree=str(tree)
        )
        model = scripted(
            ScriptFile(
                (
                    says(call("list")),
                    says(call("write", path="a.txt", content=f"{number}"), wait=0.01),
                    says("Done."),
                    says("Really."),
                )
            )
        )
        loop = Loop(space.conversation(f"c{number}"), model, Station(str(tree)), folder / "chats")
        ended = await loop.turn("go")
        wrote = (tree / "a.txt").exists() and (tree / "a.txt").read_text() == f"{number}"
        return mode, wrote, ended

    async def all_at_once() -> list[tuple[str, bool, Ended]]:
        return await asyncio.gather(*(talk(n) for n in range(count)))

    return asyncio.run(all_at_once())
