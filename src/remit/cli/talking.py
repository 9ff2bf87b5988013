"""Talking: the options of commands that let a model work, and the loop that they lead to."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click

from remit.cli.failures import MachineError
from remit.cli.options import Place
from remit.cli.output import line, note, show_problems
from remit.policy.escape import escape
from remit.policy.problems import InputError, Problem, RemitError, Severity

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from remit.harness.gateway.servers import ServerSpec
    from remit.harness.loop.events import Event
    from remit.harness.loop.loop import Ended, Loop
    from remit.harness.loop.opening import Opened
    from remit.harness.loop.servers import Servers
    from remit.harness.store import Store
    from remit.policy.backend import Backend

__all__ = [
    "answers_pending", "opened", "show_ended", "speaking", "talking", "with_model", "with_sandbox",
]  # fmt: skip

Command = TypeVar("Command", bound=Callable[..., Any])

_model = click.option(
    "--model", metavar="NAME",
    help="PROVIDER:MODEL, or scripted:FILE; else what remit.toml says.",
)  # fmt: skip
_base_url = click.option(
    "--base-url", metavar="URL", help="Where the model is served, if elsewhere."
)
with_sandbox = click.option(
    "--sandbox", default="auto", show_default=True, metavar="BACKEND",
    help="What holds the shell: auto, bubblewrap, landlock, seatbelt or none.",
)  # fmt: skip


def with_model(command: Command) -> Command:
    """Give a command `model`, `base_url` and `sandbox`."""
    return _model(_base_url(with_sandbox(command)))


def _present() -> None:
    # What a library has to say for itself is not for the screen of a conversation.
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    missing = [m for m in ("pydantic_ai", "prompt_toolkit") if importlib.util.find_spec(m) is None]
    if missing:
        named = " and ".join(f"`{m}`" for m in missing)
        raise MachineError(
            Problem("harness-missing", f"the chat needs {named}", "`pip install 'remit[harness]'`")
        )


@contextmanager
def opened(
    place: Place, store: Store, space: str, sandbox: str, guards: Iterable[str] = ()
) -> Iterator[Opened]:
    """Open the harness in a space."""
    _present()
    from remit.harness.loop.opening import open_harness

    backend = _backend(place, sandbox)
    with TemporaryDirectory(prefix="remit-") as scratch:
        yield open_harness(
            place.workspace, place.engine, store, space, backend, scratch, place.environ, guards
        )


@contextmanager
def talking(
    place: Place,
    space: str,
    model: str | None,
    base_url: str | None,
    sandbox: str,
    pick: Callable[[Opened], str],
    servers: str | None = None,
) -> Iterator[tuple[Loop, str]]:
    """Open the loop of a conversation that ``pick`` names, and say what the model is called."""
    speaker, name = speaking(place, model, base_url)
    from remit.harness.loop.history import FOLDER
    from remit.harness.loop.loop import Loop

    specs, guards = ((), ()) if servers is None else _specs(place, servers)
    with place.store() as store, opened(place, store, space, sandbox, guards) as at:
        beside = _servers(place, at, specs) if specs else None
        talk = at.workspace.space(space).conversation(pick(at))
        folder = Path(place.workspace.data) / FOLDER
        yield Loop(talk, speaker, at.station, folder, servers=beside), name


def speaking(place: Place, model: str | None, base_url: str | None) -> tuple[Model, str]:
    """Return the model that was named, or that remit.toml names, and what it is called."""
    _present()
    from remit.harness.loop.models import model_of

    found = place.workspace
    name, url = model or found.model, base_url or ("" if model else found.base_url) or ""
    if name is None:
        raise InputError(
            Problem("no-model", "no model was named", "`--model NAME`, or `model` in remit.toml")
        )
    return model_of(name, url, place.environ), name


def _specs(place: Place, file: str) -> tuple[tuple[ServerSpec, ...], tuple[str, ...]]:
    """Return the servers of a file, bound as `remit.toml` has it, and the files that say so."""
    if importlib.util.find_spec("mcp") is None:
        raise MachineError(
            Problem("mcp-missing", "`--servers` needs `mcp`", "`pip install 'remit[mcp]'`")
        )
    from remit.harness.gateway.muster import catalog_files
    from remit.harness.gateway.servers import load_servers

    specs = load_servers(file, place.workspace.servers)
    return specs, (os.path.abspath(file), *catalog_files(specs))


def _servers(place: Place, at: Opened, specs: tuple[ServerSpec, ...]) -> Servers:
    """Return servers that are not started; they run as they are, their calls are judged."""
    from remit.harness.loop.servers import Servers

    def report(problem: Problem) -> None:
        show_problems([problem])

    return Servers.of(place.engine, specs, at.station.worktree, report)


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


def answers_pending(loop: Loop, as_json: bool) -> None:
    """Let a loop work without anybody at it: what an operator is asked for may come back."""
    from remit.harness.store import ApprovalKind

    loop.waits = frozenset({ApprovalKind.CALL, ApprovalKind.PLAN_EXIT})
    loop.tell = _as_json if as_json else _as_text


def show_ended(ended: Ended) -> None:
    """Print how a turn ended, where that is news."""
    click.echo()
    if ended.error:
        note(f"remit chat: {ended.error}")
    if not ended.ok:
        owed = f"; `{ended.contract}` is {ended.outcome}" if ended.contract else ""
        note(f"remit chat: {ended.reason}{owed}")


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
