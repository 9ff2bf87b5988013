"""`remit new` and `remit schema`: files to start from, and what editors check them by."""

from __future__ import annotations

import os
from pathlib import Path

import click

from remit.cli.app import Family
from remit.cli.output import note
from remit.policy.problems import InputError, Position, Problem

__all__ = ["new", "schema"]

_out = click.option("--out", metavar="FILE", help="Write it here; what is there is never replaced.")


@click.group(cls=Family, meant="a mode is written by `remit new profile`")
def new() -> None:
    """Print a commented file to start from, or write it."""


@new.command()
@_out
def profile(out: str | None) -> None:
    """A mode of your own; --out names it after the file."""
    _start("profile", out)


@new.command()
@_out
def catalog(out: str | None) -> None:
    """What the tools of a server can do; the file's name is the source unless it says another."""
    _start("catalog", out)


def _start(kind: str, out: str | None) -> None:
    from remit.profiles.starters import starter

    if out is None:
        click.echo(starter(kind), nl=False)
        return
    text = starter(kind, Path(out).stem)
    try:
        with open(out, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        message = f"there is something at `{out}` already"
        hint = "name another file; nothing is ever replaced"
        raise InputError(Problem("file-exists", message, hint, Position(out))) from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        message = f"`{out}` cannot be written: {why}"
        hint = "name a folder that is there and yours"
        raise InputError(Problem("file-unwritable", message, hint, Position(out))) from None
    note(f"wrote {os.path.abspath(out)}; `remit check {out}` finds every problem of it")


@click.command()
@click.argument(
    "kind",
    type=click.Choice(["profile", "mode", "catalog", "overlay", "config", "servers", "pipeline"]),
)
def schema(kind: str) -> None:
    """Print the JSON Schema of a kind of file, for editors: a line `#:schema FILE` names it."""
    from remit.profiles.schema import shipped_schema

    click.echo(shipped_schema(kind), nl=False)
