"""`remit pipeline`: steps and the modes that they pin."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from remit.cli.app import Family
from remit.cli.failures import FINE, NO
from remit.cli.options import Place, as_json, in_place, in_workspace, now
from remit.cli.output import emit, line, note, problem_value, say, show_problems, table, where_value
from remit.cli.pipeline_words import count_done, record_value, show_record, tell_json, tell_text
from remit.cli.talking import opened, speaking, with_model
from remit.policy.problems import InputError

if TYPE_CHECKING:
    from remit.harness.store import PipelineRecord
    from remit.profiles.pipelines import PipelineReading, Step

__all__ = ["pipeline"]

Command = TypeVar("Command", bound=Callable[..., Any])

_jobs = click.option(
    "--jobs", type=click.IntRange(1, 64), default=4, show_default=True,
    help="Steps that run at the same time.",
)  # fmt: skip


def _driving(command: Command) -> Command:
    """Give a command `jobs`, and the options of a model."""
    return _jobs(with_model(command))


@click.group(cls=Family, meant="`remit pipeline check {}` checks one")
def pipeline() -> None:
    """Pipelines: steps that wait for each other, each in a mode."""


@pipeline.command()
@click.argument("file")
@as_json
@in_place
def check(place: Place, file: str, as_json: bool) -> int:
    """Find every problem of FILE, or print each step's mode and where it comes from.

    FILE is TOML, or YAML if it ends in .yaml or .yml. Exits 1 if there is a problem.
    """
    read = _read(place, file)
    if as_json:
        emit(_value(read))
    elif read.problems:
        show_problems(read.problems, err=False)
        note(f"{len(read.problems)} problem{'s' * (len(read.problems) != 1)}")
    else:
        table(("step", "mode", "from", "after"), (_row(s) for s in read.steps))
    return NO if read.problems else FINE


@pipeline.command()
@click.argument("file")
@click.option("--space", "space", required=True, metavar="ID", help="The space that runs it.")
@_driving
@as_json
@in_workspace
def run(
    place: Place,
    file: str,
    space: str,
    jobs: int,
    model: str | None,
    base_url: str | None,
    sandbox: str,
    as_json: bool,
) -> int:
    """Run the steps of FILE in a space, each in its pinned mode (operator).

    A step has no more than the space has. Exits 1 unless all of them are done.
    """
    from remit.harness.store import OPERATOR

    place.operator()
    read = _read(place, file)
    if read.pipeline is None:
        raise InputError(read.problems)
    speaking(place, model, base_url)  # before anything is kept
    with place.store() as store:
        made = store.pipelines.start(space, read.pipeline, by=OPERATOR, now=now())
    return _driven(place, made, jobs, model, base_url, sandbox, as_json)


@pipeline.command()
@click.argument("id")
@_driving
@as_json
@in_workspace
def resume(
    place: Place,
    id: str,
    jobs: int,
    model: str | None,
    base_url: str | None,
    sandbox: str,
    as_json: bool,
) -> int:
    """Go on with a pipeline whose process ended; no step that is done runs again (operator)."""
    place.operator()
    with place.store() as store:
        found = store.pipelines.get(id)
    return _driven(place, found, jobs, model, base_url, sandbox, as_json)


@pipeline.command()
@click.argument("id")
@_driving
@as_json
@in_workspace
def retry(
    place: Place,
    id: str,
    jobs: int,
    model: str | None,
    base_url: str | None,
    sandbox: str,
    as_json: bool,
) -> int:
    """Try anew what failed or was cancelled; what is done stays done (operator)."""
    from remit.harness.owners import gone
    from remit.harness.store import OPERATOR

    place.operator()
    speaking(place, model, base_url)
    with place.store() as store:
        found = store.pipelines.retry(id, by=OPERATOR, now=now(), gone=gone)
    return _driven(place, found, jobs, model, base_url, sandbox, as_json)


@pipeline.command()
@click.argument("id")
@as_json
@in_workspace
def cancel(place: Place, id: str, as_json: bool) -> None:
    """Have nothing more of a pipeline begin, and what runs stop (operator)."""
    from remit.harness.store import OPERATOR

    place.operator()
    with place.store() as store:
        show_record(store.pipelines.cancel(id, by=OPERATOR, now=now()), as_json)


@pipeline.command("list")
@click.option("--space", "space", metavar="ID", help="Those of one space.")
@as_json
@in_workspace
def list_(place: Place, space: str | None, as_json: bool) -> None:
    """List pipelines, newest first."""
    with place.store() as store:
        found = store.pipelines.list(space)
    if as_json:
        emit([record_value(r) for r in found])
    elif not found:
        note("no pipeline was started; `remit pipeline run FILE --space ID` starts one")
    else:
        rows = ((r.id, r.pipeline.name, r.space, r.state, count_done(r)) for r in found)
        table(("id", "pipeline", "space", "state", "done"), rows)


@pipeline.command()
@click.argument("id")
@as_json
@in_workspace
def show(place: Place, id: str, as_json: bool) -> None:
    """Show how each step of a pipeline stands."""
    with place.store() as store:
        show_record(store.pipelines.get(id), as_json)


def _driven(
    place: Place,
    made: PipelineRecord,
    jobs: int,
    model: str | None,
    base_url: str | None,
    sandbox: str,
    as_json: bool,
) -> int:
    from remit.harness.loop.history import FOLDER
    from remit.harness.loop.loop import Loop
    from remit.harness.loop.pipelines import PipelineDriver
    from remit.policy.schedule import PipelineState

    speaker, _ = speaking(place, model, base_url)
    folder = Path(place.workspace.data) / FOLDER
    tell = tell_json if as_json else tell_text
    with place.store() as store, opened(place, store, made.space, sandbox) as at:
        if not as_json:
            note(f"pipeline {made.id} runs in {made.space}")
        driver = PipelineDriver(
            at.workspace,
            made.id,
            lambda talk: Loop(talk, speaker, at.station, folder),
            jobs,
            tell=tell,
        )
        try:
            state = asyncio.run(driver.drive())
        except KeyboardInterrupt:
            note(f"what is done is kept; `remit pipeline resume {made.id}` goes on")
            raise
        found = store.pipelines.get(made.id)
    if as_json:
        line(record_value(found))
    else:
        say(f"pipeline {found.id} is {found.state}: {count_done(found)} steps done")
        if state is PipelineState.FAILED:
            note(f"`remit pipeline retry {found.id}` tries what failed anew")
    return FINE if state is PipelineState.DONE else NO


def _read(place: Place, file: str) -> PipelineReading:
    from remit.profiles.names import ALIASES
    from remit.profiles.pipelines import parse_pipeline
    from remit.profiles.source import PIPELINE_BYTES, read_source

    source = read_source(file, PIPELINE_BYTES)
    modes = [e.name for e in place.engine.library.entries if e.profile is not None]
    return parse_pipeline(source, dict.fromkeys(modes), ALIASES)


def _row(step: Step) -> tuple[str, ...]:
    place = str(step.where) if step.where.line else "remit"
    said = f"{step.mode.origin.value}, {place}"
    return step.node.key, step.mode.mode, said, ", ".join(step.node.depends_on) or "-"


def _value(read: PipelineReading) -> dict[str, Any]:
    made = read.pipeline
    return {
        "name": made and made.name,
        "default": made and made.default,
        "allowed": None if made is None or made.allowed is None else list(made.allowed),
        "steps": [
            {
                "key": s.node.key,
                "title": s.node.title,
                "role": s.node.role,
                "depends_on": list(s.node.depends_on),
                "mode": s.mode.mode,
                "from": s.mode.origin.value,
                "where": where_value(s.where),
            }
            for s in read.steps
        ],
        "problems": [problem_value(p) for p in read.problems],
    }
