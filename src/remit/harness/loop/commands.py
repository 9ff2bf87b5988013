"""Commands of exit gates: acts of the host, judged by the space's own ceiling and dial (S000-69).

No stage narrows them: it narrows what the model may do, and the model does not run these.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import anyio.to_thread
from attrs import define, evolve, frozen

from remit.harness.atrun import at_run
from remit.harness.inforce import InForce
from remit.harness.loop.belt import Station
from remit.harness.loop.calls import Calls, Done, in_thread
from remit.harness.natives import Answer
from remit.harness.session import Frame, Session
from remit.harness.session import Run as Forward
from remit.harness.site import Site
from remit.harness.store import SYSTEM
from remit.harness.tools.shell import Shell, run_shell
from remit.policy.ceiling import narrow
from remit.policy.run_brief import tail
from remit.policy.tools import Call

__all__ = ["host_session", "run_command"]


@frozen
class _HostStep:
    """What judges an act of the host: no step of a model's, and no stage narrows it."""

    frame: Frame
    session: Session

    def decide(self, call: Call, tool_hash: str = "") -> Forward | Answer:
        return self.session.call(self.frame, call, tool_hash)


@define(eq=False)
class _Commands(Calls):
    """Runs the commands of exit gates: judged like any call, with a time of their own."""

    seconds: int = 600

    async def _run(self, step: Any, run: Forward, args: Mapping[str, Any]) -> Done:
        cancelled = threading.Event()
        ceiling = narrow(step.frame.profile.ceiling, step.session.frame().profile.ceiling)
        desk = self.station.desk(ceiling, self.todos, cancelled)
        command = Shell(str(args["command"]), timeout=self.seconds)
        result = await in_thread(lambda: run_shell(command, desk), cancelled)
        return Done(tail(result.text.encode()), result.is_error, result.data, ran=True)


async def run_command(site: Site, calls: Calls, command: str, minutes: int) -> Done:
    """Run the command of an exit gate in the sandbox of the space; ``calls`` is how to ask for it.

    ``text`` is the end of what it said, ``failed`` any end but exit code 0, also that it never ran.
    """
    session = host_session(site, calls.station)
    session.set_catalog(calls.belt.catalog)
    step: Any = _HostStep(await anyio.to_thread.run_sync(session.frame), session)
    own = _Commands(
        calls.belt, calls.station, calls.waiting, calls.task, calls.waits, calls.waits_for,
        calls.todos, seconds=minutes * 60,
    )  # fmt: skip
    return await own.serve(step, "shell", {"command": command})


def host_session(site: Site, station: Station) -> Session:
    """Return what judges acts of the host in a space: its mode, its overlays and its dial."""

    def read() -> InForce:
        space = site.store.spaces.get(site.space)
        run = at_run(site.store, space)
        bare = run and evolve(run, stage=None, turn=None, unattended=False)
        return InForce(space, (), bare)

    return Session(
        site.engine, site.store, site.space, site.conversation, site.host, site.clock, read,
        cwd=station.worktree, scratch=station.scratch, actor=SYSTEM,
    )  # fmt: skip
