"""`remit init`: makes the workspace."""

from __future__ import annotations

import click
from attrs import asdict

from remit.cli.options import Place, as_json, in_workspace, now
from remit.cli.output import emit, note, say

__all__ = ["init"]


@click.command()
@as_json
@in_workspace
def init(place: Place, as_json: bool) -> None:
    """Make the workspace and its operator token, or leave them as they are; say where they lie."""
    from remit.harness.location import init as make

    made = make(place.workspace, now=now())
    if as_json:
        emit(asdict(made))
        return
    for name, path in asdict(made).items():
        say(f"{name:<20}{path}")
    note("keep the token from agents: with it they could change their own modes")
