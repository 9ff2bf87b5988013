"""Drives a pipeline in a process that is killed: `piped.py FOLDER ID KEY…`."""

import asyncio
import sys
from pathlib import Path

from remit.harness.loop.belt import Station
from remit.harness.loop.loop import Loop
from remit.harness.loop.pipelines import PipelineDriver
from remit.harness.loop.scripted import Script, ScriptedCall, ScriptedTurn, ScriptFile, scripted
from remit.harness.workspace import Workspace

folder, id, *keys = sys.argv[1:]
home = {"REMIT_HOME": f"{folder}/home", "HOME": f"{folder}/home"}


def turns(key: str) -> tuple[ScriptedTurn, ...]:
    call = ScriptedCall("write", {"path": f"{key}.txt", "content": key})
    return ScriptedTurn("", (call,), wait=0.02), ScriptedTurn(f"{key} is done", wait=0.01)


with Workspace.open(environ=home, host="harness") as workspace:
    worktree = workspace.space("s").state.worktree
    station = Station(worktree, workspace.host.protected, workspace.host.secret, folder)
    model = scripted(ScriptFile((), tuple(Script(turns(k), f"Work on {k}.") for k in keys)))
    print("ready", flush=True)
    driver = PipelineDriver(
        workspace, id, lambda talk: Loop(talk, model, station, Path(folder) / "chats")
    )
    asyncio.run(driver.drive())
