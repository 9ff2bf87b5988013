"""`remit chat`: the built-in harness in the terminal."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from remit.cli.failures import NO, MachineError
from remit.cli.options import Place, in_workspace
from remit.cli.output import line, note, show_problems
from remit.policy.escape import escape
from remit.policy.problems import InputError, Problem, RemitError, Severity

if TYPE_CHECKING:
    from remit.harness.loop.events import Event
    from remit.harness.loop.loop import Loop
    from remit.policy.backend import Backend

__all__ = ["chat"]


@click.command()
@click.option("--space", "space", required=True, metavar="ID", help="The space whose mode holds.")
@click.option(
    "--model", metavar="NAME",
    help="PROVIDER:MODEL, or scripted:FILE; else what remit.toml says.",
)  # fmt: skip
@click.option("--base-url", metavar="URL", help="Where the model is served, if elsewhere.")
@click.option("--once", metavar="PROMPT", help="Answer one message and end; 1 if it is unmet.")
@click.option("--resume", is_flag=True, help="Go on with the last conversation of the space.")
@click.option("--json", "as_json", is_flag=True, help="With --once: print each event as JSON.")
@click.option(
    "--sandbox", default="auto", show_default=True, metavar="BACKEND",
    help="What holds the shell: auto, bubblewrap, landlock, seatbelt or none.",
)  # fmt: skip
@in_workspace
def chat(
    place: Place,
    space: str,
    model: str | None,
    base_url: str | None,
    once: str | None,
    resume: bool,
    as_json: bool,
    sandbox: str,
) -> int:
    """Talk with a model that works in the mode of a space.

    /mode, /dial, /approve, /reject, /plan, /why and /tools are for you, and never sent to it.
    """
    missing = [m for m in ("pydantic_ai", "prompt_toolkit") if importlib.util.find_spec(m) is None]
    if missing:
        named = " and ".join(f"`{m}`" for m in missing)
        raise MachineError(
            Problem("harness-missing", f"the chat needs {named}", "`pip install 'remit[harness]'`")
        )
    if as_json and once is None:
        raise InputError(Problem("usage", "`--json` goes with `--once`"))
    if once is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(
            Problem("usage", "there is no terminal to talk at", "`--once PROMPT` needs none")
        )
    from remit.harness.loop.history import FOLDER
    from remit.harness.loop.loop import Loop
    from remit.harness.loop.models import model_of
    from remit.harness.loop.opening import open_harness

    found = place.workspace
    name, url = model or found.model, base_url or ("" if model else found.base_url) or ""
    if name is None:
        raise InputError(
            Problem("no-model", "no model was named", "`--model NAME`, or `model` in remit.toml")
        )
    speaker = model_of(name, url, place.environ)
    backend = _backend(place, sandbox)
    with place.store() as store, TemporaryDirectory(prefix="remit-") as scratch:
        opened = open_harness(
            found, place.engine, store, space, backend, scratch, place.environ
        )  # fmt: skip
        id = opened.newest() if resume else opened.fresh()
        talk = opened.workspace.space(space).conversation(id)
        loop = Loop(talk, speaker, opened.station, Path(found.data) / FOLDER)
        if once is None:
            from remit.cli.chat_screen import talk_at_terminal

            return talk_at_terminal(place, loop, name)
        return _once(loop, once, as_json)


def _backend(place: Place, name: str) -> Backend | None:
    """Return what holds the shell; without any, say so once, and do without the shell."""
    from remit.harness.sandbox.box import choose

    try:
        return choose(name, place.engine.registry.backends)
    except RemitError as error:
        if name != "auto":
            raise
        why = error.problems[0]
        show_problems(
            [
                Problem(
                    "no-shell",
                    f"there is no shell: {why.message}",
                    f"{why.hint}; or `--sandbox none`, where nothing holds it".removeprefix("; "),
                    severity=Severity.WARNING,
                )
            ]
        )
        return None


def _once(loop: Loop, prompt: str, as_json: bool) -> int:
    from remit.harness.store import ApprovalKind

    # Nobody need be there: what only the operator can say comes back as pending.
    loop.waits = frozenset({ApprovalKind.CALL, ApprovalKind.PLAN_EXIT})
    loop.tell = _as_json if as_json else _as_text
    ended = asyncio.run(loop.turn(prompt))
    if not as_json:
        click.echo()
        if ended.error:
            note(f"remit chat: {ended.error}")
        if not ended.ok:
            owed = f"; `{ended.contract}` is {ended.outcome}" if ended.contract else ""
            note(f"remit chat: {ended.reason}{owed}")
    return 0 if ended.ok else NO


def _as_json(event: Event) -> None:
    line(event.to_json())


def _as_text(event: Event) -> None:
    from remit.cli.chat_words import words
    from remit.harness.loop.events import What

    if event.what is What.TEXT:
        click.echo(escape(event.text, lines=True), nl=False)
        sys.stdout.flush()
    elif said := words(event):
        note(said)
