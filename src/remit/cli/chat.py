"""`remit chat`: the built-in harness in the terminal."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click

from remit.cli.failures import FINE, NO
from remit.cli.options import Place, in_workspace
from remit.cli.talking import answers_pending, show_ended, talking, with_model
from remit.policy.problems import InputError, Problem

if TYPE_CHECKING:
    from remit.harness.loop.loop import Ended, Loop

__all__ = ["chat"]


@click.command()
@click.option("--space", "space", required=True, metavar="ID", help="The space whose mode holds.")
@click.option("--once", metavar="PROMPT", help="Answer one message and end; 1 if it is unmet.")
@click.option("--resume", is_flag=True, help="Go on with the last conversation of the space.")
@click.option("--json", "as_json", is_flag=True, help="With --once: print each event as JSON.")
@click.option(
    "--servers", metavar="FILE",
    help="A file that names MCP servers, as for the gateway; their tools are there too.",
)  # fmt: skip
@with_model
@in_workspace
def chat(
    place: Place,
    space: str,
    model: str | None,
    base_url: str | None,
    once: str | None,
    resume: bool,
    as_json: bool,
    servers: str | None,
    sandbox: str,
) -> int:
    """Talk with a model that works in the mode of a space.

    /mode, /dial, /approve, /reject, /plan, /why and /tools are for you, and never sent to it.
    """
    if as_json and once is None:
        raise InputError(Problem("usage", "`--json` goes with `--once`"))
    if once is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(
            Problem("usage", "there is no terminal to talk at", "`--once PROMPT` needs none")
        )
    with talking(
        place, space, model, base_url, sandbox,
        lambda at: at.newest() if resume else at.fresh(), servers,
    ) as (loop, name):  # fmt: skip
        if once is None:
            from remit.cli.chat_screen import talk_at_terminal

            return talk_at_terminal(place, loop, name)
        return _once(loop, once, as_json)


def _once(loop: Loop, prompt: str, as_json: bool) -> int:
    from remit.harness.loop.driving import Driver

    answers_pending(loop, as_json)

    async def answer() -> Ended:
        async with loop.ready():
            return await Driver(loop).answer(prompt)

    ended = asyncio.run(answer())
    if not as_json:
        show_ended(ended)
    return FINE if ended.ok else NO
