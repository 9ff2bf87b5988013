"""`remit pipeline`: steps and the modes that they pin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from remit.cli.app import Family
from remit.cli.failures import FINE, NO
from remit.cli.options import Place, as_json, in_place
from remit.cli.output import emit, note, problem_value, show_problems, table, where_value

if TYPE_CHECKING:
    from remit.profiles.pipelines import PipelineReading, Step

__all__ = ["pipeline"]


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
    from remit.profiles.names import ALIASES
    from remit.profiles.pipelines import parse_pipeline
    from remit.profiles.source import PIPELINE_BYTES, read_source

    source = read_source(file, PIPELINE_BYTES)
    library = place.engine.library
    modes = [e.name for e in library.entries if e.profile is not None]
    read = parse_pipeline(source, dict.fromkeys(modes), ALIASES)
    if as_json:
        emit(_value(read))
    elif read.problems:
        show_problems(read.problems, err=False)
        note(f"{len(read.problems)} problem{'s' * (len(read.problems) != 1)}")
    else:
        table(("step", "mode", "from", "after"), (_row(s) for s in read.steps))
    return NO if read.problems else FINE


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
