"""`remit run`: runs of staged modes, and what a person does about them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve

from remit.cli.app import Family
from remit.cli.failures import FINE, NO
from remit.cli.options import Place, as_json, in_workspace, now
from remit.cli.output import emit, note, say, table
from remit.cli.run_words import run_line, run_value
from remit.cli.talking import answers_pending, opened, show_ended, talking, with_model
from remit.policy.problems import InputError, Problem

if TYPE_CHECKING:
    from remit.harness.store import RunRecord, Store
    from remit.policy.run import Event
    from remit.policy.workflow import Budget

__all__ = ["run"]

_turns = click.option("--turns", type=click.IntRange(1), help="Turns that the host may start.")
_tokens = click.option(
    "--tokens", type=click.IntRange(1), help="Tokens at which it starts no more."
)
_drive = click.option("--drive", is_flag=True, help="Take its turns here, until it waits.")


@click.group(cls=Family, meant="`remit run show {}` shows one")
def run() -> None:
    """Runs: walks through the stages of a mode, driven by a host."""


@run.command()
@click.argument("space")
@click.argument("input")
@_turns
@_tokens
@_drive
@with_model
@as_json
@in_workspace
def start(
    place: Place,
    space: str,
    input: str,
    turns: int | None,
    tokens: int | None,
    drive: bool,
    model: str | None,
    base_url: str | None,
    sandbox: str,
    as_json: bool,
) -> int:
    """Start a run for INPUT in a space that is in a staged mode (operator)."""
    from remit.harness.store import OPERATOR

    place.operator()
    with place.store() as store, opened(place, store, space, sandbox) as at:
        from remit.harness.loop.belt import Belt
        from remit.harness.loop.starting import start_run

        talk = at.workspace.space(space).conversation(at.fresh())
        mode = place.engine.library.staged(at.workspace.space(space).mode)
        declared = mode.workflow.budget if mode else None
        budget = _budget(declared, turns, tokens) if declared else None
        belt = Belt.of(place.engine, at.station)
        made = start_run(talk, at.station, belt.catalog, input, by=OPERATOR, budget=budget)
    if drive:
        return _driven(place, made, model, base_url, sandbox, as_json)
    _show(made, as_json)
    if not as_json:
        note(f"`remit run resume {made.id} --drive` takes its turns")
        note(f"so does `remit chat --space {space} --resume`")
    return FINE


@run.command("list")
@click.option("--space", "space", metavar="ID", help="Those of one space.")
@as_json
@in_workspace
def list_(place: Place, space: str | None, as_json: bool) -> None:
    """List runs, newest first."""
    with place.store() as store:
        found = [run_value(r, now()) for r in store.runs.list(space)]
    if as_json:
        emit(found)
    elif not found:
        note("there is no run")
    else:
        table(("run", "space", "stands"), ((r["id"], r["space"], run_line(r)) for r in found))


@run.command()
@click.argument("id")
@as_json
@in_workspace
def show(place: Place, id: str, as_json: bool) -> None:
    """Show a run, what its exit gates gave, and what the model says of its own work."""
    with place.store() as store:
        found, gates = store.runs.get(id), store.runs.gates(id)
    value = {
        **run_value(found, now()),
        "artifacts": found.run.workflow.paths(id),
        "gates": [
            {
                "stage": g.stage, "gate": g.gate, "action": g.action, "outcome": g.outcome,
                "evidence": g.evidence, "at": g.at,
            }
            for g in gates
        ],
        "report": found.report,
        "said": found.said,
    }  # fmt: skip
    if as_json:
        emit(value)
        return
    say(run_line(value))
    say(f"input     {value['input']}")
    for artifact, path in value["artifacts"].items():
        say(f"artifact  {artifact}: {path}")
    for gate in gates:
        first = gate.evidence.partition("\n")[0]
        say(
            f"gate      {gate.stage} {gate.gate + 1} {gate.action}: {gate.outcome} {first}".rstrip()
        )
    if found.report is not None:
        say(f"report    {found.report.get('status')} {found.report.get('blocker') or ''}".rstrip())
    if found.approval is not None:
        note(f"waits for `remit approvals approve {found.approval}`")


@run.command()
@click.argument("id")
@as_json
@in_workspace
def pause(place: Place, id: str, as_json: bool) -> None:
    """Pause a run (operator): no turn of the host's begins, and one under way is closed out."""
    from remit.policy.run import Event, Kind

    _control(place, id, Event(Kind.PAUSE), as_json)


@run.command()
@click.argument("id")
@_drive
@with_model
@as_json
@in_workspace
def resume(
    place: Place,
    id: str,
    drive: bool,
    model: str | None,
    base_url: str | None,
    sandbox: str,
    as_json: bool,
) -> int:
    """Let a run go on that was paused, waits or has spent its budget (operator)."""
    from remit.policy.run import Event, Kind, State

    place.operator()
    with place.store() as store:
        found = store.runs.get(id)
        if not (drive and found.run.state is State.RUNNING):
            found = _stepped(store, id, Event(Kind.RESUME))
    if drive:
        return _driven(place, found, model, base_url, sandbox, as_json)
    _show(found, as_json)
    return FINE


@run.command()
@click.argument("id")
@as_json
@in_workspace
def stop(place: Place, id: str, as_json: bool) -> None:
    """End a run (operator): a turn under way is interrupted."""
    from remit.policy.run import Event, Kind

    _control(place, id, Event(Kind.STOP), as_json)


@run.command()
@click.argument("id")
@as_json
@in_workspace
def remove(place: Place, id: str, as_json: bool) -> None:
    """End a run (operator): a turn under way ends by itself, as one of the mode returned to."""
    from remit.policy.run import Event, Kind

    _control(place, id, Event(Kind.REMOVE), as_json)


@run.command()
@click.argument("id")
@click.option("--input", "input", metavar="TEXT", help="What it is for.")
@_turns
@_tokens
@as_json
@in_workspace
def edit(
    place: Place, id: str, input: str | None, turns: int | None, tokens: int | None, as_json: bool
) -> None:
    """Change what a run is for, or its budget, from its next turn on (operator)."""
    from remit.policy.run import Event, Kind

    if input is None and turns is None and tokens is None:
        hint = "`--input`, `--turns` or `--tokens`"
        raise InputError(Problem("usage", "nothing was said to be changed", hint))
    place.operator()
    with place.store() as store:
        before = store.runs.get(id).run.budget
        budget = _budget(before, turns, tokens)
        found = _stepped(store, id, Event(Kind.EDIT, input=input, budget=budget))
    _show(found, as_json)


def _budget(before: Budget, turns: int | None, tokens: int | None) -> Budget:
    return evolve(
        before,
        turns=before.turns if turns is None else turns,
        tokens=before.tokens if tokens is None else tokens,
    )


def _control(place: Place, id: str, event: Event, as_json: bool) -> None:
    place.operator()
    with place.store() as store:
        found = _stepped(store, id, event)
    _show(found, as_json)


def _stepped(store: Store, id: str, event: Event) -> RunRecord:
    """Let a person do something to a run; raises `StoreConflict` where it does not take that."""
    from remit.harness.store import OPERATOR, StoreConflict
    from remit.harness.store.runs import refusal

    there = store.runs.get(id)
    seen = evolve(event, revision=there.run.revision)
    found, effects = store.runs.step(id, seen, by=OPERATOR, now=now())
    if (why := refusal(effects)) is not None:
        raise StoreConflict(evolve(why, hint=f"`remit run show {id}` says how it stands"), found)
    return found


def _driven(
    place: Place,
    record: RunRecord,
    model: str | None,
    base_url: str | None,
    sandbox: str,
    as_json: bool,
) -> int:
    """Take the turns of a run here until it waits or is over; 0 if it is finished."""
    from remit.harness.loop.driving import Driver
    from remit.policy.run import State

    with talking(place, record.space, model, base_url, sandbox, lambda at: record.conversation) as (
        loop,
        _,
    ):
        answers_pending(loop, as_json)
        ended = asyncio.run(Driver(loop).go_on(record.id))
        found = loop.conversation.workspace.store.runs.get(record.id)
    if not as_json:
        if ended is not None:
            show_ended(ended)
        _show(found, as_json)
        if found.approval is not None:
            note(f"waits for `remit approvals approve {found.approval}`")
    return FINE if found.run.state is State.FINISHED else NO


def _show(record: RunRecord, as_json: bool) -> None:
    value: dict[str, Any] = run_value(record, now())
    if as_json:
        emit(value)
    else:
        say(f"{record.id}: {run_line(value)}")
