"""`remit demo`: the main job on real input, told as it happens."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remit.cli.failures import FINE, NO, MachineError
from remit.cli.output import say, show_problems, table, verdict
from remit.policy.escape import escape
from remit.policy.problems import InputError, Problem

if TYPE_CHECKING:
    from remit.harness.demo.scene import Scene
    from remit.harness.store import Event

__all__ = ["demo"]


@click.command()
@click.option("--dir", "folder", metavar="DIR", help="Play it in this empty folder.")
def demo(folder: str | None) -> int:
    """Show modes that hold, in front of a real server, with a real client, on a real repository.

    Needs no network and touches nothing but a scratch folder, which it leaves for you to look at.
    """
    if importlib.util.find_spec("mcp") is None:
        hint = "`pip install 'remit[demo]'`"
        raise MachineError(Problem("mcp-missing", "the demo needs `mcp`", hint))
    from remit.harness.demo.story import play, require
    from remit.harness.demo.teller import Unmet

    require(os.environ)
    began = time.monotonic()
    try:
        scene = play(_empty(folder), _Told(), os.environ)
    except Unmet as error:
        show_problems(error.problems)
        return NO
    _next(scene, time.monotonic() - began)
    return FINE


def _empty(given: str | None) -> Path:
    """Return a folder of our own to play in."""
    if given is None:
        return Path(tempfile.mkdtemp(prefix="remit-demo-"))
    path = Path(given).absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        used = any(path.iterdir())
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(Problem("folder-failed", f"`{path}` cannot be used: {why}")) from error
    if used:
        raise InputError(
            Problem("folder-used", f"the folder `{path}` is not empty", "name a new one")
        )
    return path


class _Told:
    """Tells the story on standard output."""

    def __init__(self) -> None:
        self._acts = 0

    def act(self, title: str) -> None:
        self._acts += 1
        click.echo()
        click.echo(click.style(f"{self._acts}. {title}", bold=True))

    def say(self, text: str) -> None:
        say(text)

    def command(self, command: str, output: str) -> None:
        click.echo(click.style(f"  $ {escape(command)}", fg="bright_black"))
        for line in output.splitlines():
            say(f"  {line}")

    def decision(self, space: str, event: Event, outcome: str) -> None:
        word = str(event.body["verdict"])
        click.echo(f"  {space:<8}{verdict(word)}{' ' * (6 - len(word))}", nl=False)
        say(f"{event.body['layer']:<8}{event.body['reason']}")
        if outcome:
            say(f"{' ' * 24}{outcome}")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        table(columns, rows)


def _next(scene: Scene, seconds: float) -> None:
    """Say that it went well, and what to try now, in commands that can be pasted."""
    beside = Path(sys.executable).with_name("remit")
    remit = str(beside) if beside.exists() else f"{sys.executable} -m remit"
    click.echo()
    click.echo(f"{verdict('ok')}: every promise was kept, in {seconds:.0f} s")
    say()
    say("Look around in this terminal; you are the operator of what it left:")
    say(f"  export REMIT_HOME={shlex.quote(str(scene.workspace.data))}")
    free, other, *_ = scene.spaces
    for args, what in (
        (f"log --space {other}", "every decision and switch"),
        (f"show {other}", "one declaration, and where each fact of it is written"),
        (f"space set {free} {other}", "a gateway that runs has it at its next request"),
        ("log --follow", "watch a gateway decide"),
    ):
        say(f"  {remit} {args}  # {what}")
    say("In front of an MCP client of your own, as the command that it starts:")
    say("  " + shlex.join([sys.executable, *scene.gateway(scene.spaces[0])]))
