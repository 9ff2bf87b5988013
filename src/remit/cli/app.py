"""The command line: one table of commands, each imported when it is used."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from remit.cli.failures import run
from remit.cli.output import plain
from remit.policy.problems import near

__all__ = ["Family", "app", "main"]

#: Each command, in the order of the help, and where it is.
_COMMANDS: Mapping[str, str] = {
    "init": "workspace:init",
    "modes": "modes:modes",
    "show": "modes:show",
    "effects": "modes:effects",
    "catalog": "catalog:catalog",
    "surface": "tools:surface",
    "preamble": "tools:preamble",
    "matrix": "matrix:matrix",
    "decide": "decide:decide",
    "classify": "classify:classify",
    "conformance": "conformance:conformance",
    "explain": "explain:explain",
    "diff": "diff:diff",
    "check": "check:check",
    "new": "new:new",
    "schema": "new:schema",
    "space": "spaces:space",
    "approvals": "approvals:approvals",
    "grants": "grants:grants",
    "plans": "plans:plans",
    "run": "runs:run",
    "review": "review:review",
    "orchestrations": "orchestrations:orchestrations",
    "pipeline": "pipelines:pipeline",
    "log": "log:log",
    "sandbox": "sandbox:sandbox",
    "exec": "sandbox:execute",
    "chat": "chat:chat",
    "gateway": "gateway:gateway",
    "demo": "demo:demo",
    "doctor": "doctor:doctor",
}


class Family(click.Group):
    """A group of commands that are listed in the order in which they were declared.

    ``meant`` says what somebody wants who names no command of it, with the word in its braces.
    """

    def __init__(self, *args: Any, meant: str = "", **more: Any) -> None:
        super().__init__(*args, **more)
        self.meant = meant

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return their names."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of a name; name near misses of one that is not there."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            names = self.list_commands(ctx)
            hint = near(args[0], names)
            if not hint:
                meant = f"; {self.meant.format(args[0])}" if self.meant else ""
                hint = f"there are {', '.join(names)}{meant}"
            ctx.fail(f"no command `{args[0]}`: {hint}")
        return super().resolve_command(ctx, args)


class _Commands(Family):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"remit.cli.{module}"), name)
        return command


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"remit {version('remit')}")
        ctx.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Print the version.",
)  # fmt: skip
@click.option("--traceback", is_flag=True, help="Show where a fault of remit happened.")
@click.pass_context
def app(ctx: click.Context, traceback: bool) -> None:
    """Modes of agents that hold: one declaration, enforced everywhere alike."""
    if plain():
        ctx.color = False


def main(args: Sequence[str] | None = None) -> Any:
    """Run `remit` and leave the process with its exit code."""
    sys.exit(run(app, sys.argv[1:] if args is None else args))
