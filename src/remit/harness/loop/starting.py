"""Starting a run: what would keep it from its end is told before there is one."""

from __future__ import annotations

from attrs import evolve

from remit.harness.conversation import Conversation
from remit.harness.inforce import InForce
from remit.harness.loop.belt import Station
from remit.harness.loop.commands import host_session
from remit.harness.session import Frame
from remit.harness.store import RunRecord, Space
from remit.policy.problems import InputError, Problem
from remit.policy.staged import StagedMode
from remit.policy.tools import Call, Catalog
from remit.policy.vocabulary import Dial, Verdict
from remit.policy.workflow import Action, Budget

__all__ = ["start_run"]


def start_run(
    conversation: Conversation,
    station: Station,
    catalog: Catalog,
    input: str,
    *,
    by: str,
    budget: Budget | None = None,
) -> RunRecord:
    """Begin a run in a conversation whose space is in a staged mode.

    ``catalog`` are the tools at the station. Raises `InputError` with all that would keep the run
    from its end, `StoreConflict` if the space has an open one.
    """
    at = conversation.workspace
    space = at.store.spaces.get(conversation.space)
    mode = at.engine.library.staged(space.mode)
    if mode is None:
        message = f"{space.mode} mode has no stages, so there are no runs of it"
        raise InputError(Problem("run-mode", message, "`remit modes` says which modes have"))
    if problems := [*_place(space, station, mode), *_never(conversation, station, catalog, mode)]:
        raise InputError(problems)
    return at.store.runs.start(
        mode, space.id, conversation.id, input, by=by, now=at.clock(), budget=budget
    )


def _commands(mode: StagedMode) -> list[tuple[str, str]]:
    stages = mode.workflow.stages.items()
    return [(id, g.what) for id, s in stages for g in s.exit if g.action is Action.RUN]


def _place(space: Space, station: Station, mode: StagedMode) -> list[Problem]:
    """Return what the place lacks that a mode needs."""
    commands, name = _commands(mode), mode.workflow.name
    if space.worktree is None and (commands or mode.workflow.artifacts):
        message = f"space `{space.id}` has no worktree, and {name} mode works in one"
        return [Problem("run-worktree", message, "make a space with `--worktree`")]
    if commands and station.box is None:
        message = f"the exit gate `{commands[0][1]}` runs a command, and there is no shell here"
        return [Problem("run-gate-never", message, "`remit doctor` says what is missing")]
    return []


def _never(
    conversation: Conversation, station: Station, catalog: Catalog, mode: StagedMode
) -> list[Problem]:
    """Return the commands of exit gates that the space's own ceiling refuses, whoever is asked."""
    at = conversation.workspace
    if station.box is None or not (commands := _commands(mode)):
        return []
    session = host_session(conversation.site, station)
    session.set_catalog(catalog)
    # A dial can be turned and an approval given; a ceiling holds.
    space = evolve(at.store.spaces.get(conversation.space), dial=Dial.AUTO, effects=())
    force = InForce(space)
    profile = at.modes.narrowed(mode.profile, force)
    frame = Frame(force, at.engine.project(profile, session.catalog, at.host))
    problems = []
    for stage, command in commands:
        filled = mode.workflow.fill(command, "r0", "")
        judged = session.look(frame, Call("shell", {"command": filled}))
        if judged.decision.verdict is Verdict.DENY:
            why = frame.projection.text(judged).reason
            message = f"the exit gate `{command}` of stage `{stage}` can never pass: {why}"
            hint = "give the mode a wider permission, or the gate another command"
            problems.append(Problem("run-gate-never", message, hint))
    return problems
