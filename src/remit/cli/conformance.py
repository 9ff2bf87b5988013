"""`remit conformance`: the shipped corpus, run against the classifier or another host's answers."""

from __future__ import annotations

import importlib.util
import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import click

from remit.cli.failures import FINE, NO
from remit.cli.options import as_json
from remit.cli.output import note
from remit.policy.problems import InputError, Problem
from remit.policy.vocabulary import in_order

__all__ = ["conformance"]

Answer = tuple[frozenset[str], bool]


@click.command()
@click.option(
    "--host",
    metavar="COMMAND",
    help="Judge this host: it reads JSON Lines as `remit classify --stdin` does, and answers each.",
)
@click.option("--list", "listed", is_flag=True, help="Print the lines instead of judging them.")
@as_json
def conformance(host: str | None, listed: bool, as_json: bool) -> int:
    """Run the corpus of commands with known effects, and tell each that is judged otherwise."""
    from remit.plugins.conformance import lines

    corpus = list(lines())
    if listed:
        for one in corpus:
            click.echo(json.dumps(_shown(one)))
        return FINE
    answer: Callable[[], Iterator[Answer]] = (
        (lambda: _theirs(host, corpus)) if host is not None else (lambda: _ours(corpus))
    )
    wrong = []
    leaks = falsely = 0
    for one, (effects, opaque) in zip(corpus, answer(), strict=True):
        said = one.wrong(effects, opaque)
        if said:
            wrong.append({**_shown(one), "wrong": said})
            leaks += bool(one.effects - effects or (one.opaque and not opaque))
            falsely += bool(effects - one.effects or (opaque and not one.opaque))
    found = {"lines": len(corpus), "leaks": leaks, "false": falsely, "wrong": wrong}
    if as_json:
        click.echo(json.dumps(found))
    else:
        for line in wrong:
            click.echo(f"{line['file']}: {json.dumps(line['command'])}: {line['wrong']}")
        click.echo(f"{len(corpus)} lines, {leaks} leaks, {falsely} false blocks")
    if wrong and host is None and importlib.util.find_spec("sqlglot") is None:
        note("SQL is not read here, so it counts as the worst: `pip install 'remit[guard]'`")
    return NO if wrong else FINE


def _shown(line: Any) -> dict[str, Any]:
    return {
        "file": line.file,
        "group": line.group,
        "command": line.command,
        "shell": line.shell,
        "effects": list(in_order(line.effects)),
        "opaque": line.opaque,
        "open": line.open,
        "why": line.why,
    }


def _ours(corpus: list[Any]) -> Iterator[Answer]:
    from remit.plugins.shell import read_shell
    from remit.policy.tools import Facts

    for line in corpus:
        root = "C:\\ws" if line.shell == "powershell" else "/ws"
        found = read_shell(line.command, Facts(worktree=root, cwd=root, plain=True), line.shell)
        yield found.effects, found.opaque


def _theirs(host: str, corpus: list[Any]) -> Iterator[Answer]:
    """Ask another host all lines at once; the worktree is a folder that does not exist."""
    asked = "".join(
        json.dumps(
            {
                "cmd": line.command,
                "shell": line.shell,
                "worktree": "C:\\ws" if line.shell == "powershell" else "/ws",
                "cwd": "C:\\ws" if line.shell == "powershell" else "/ws",
            }
        )
        + "\n"
        for line in corpus
    )
    try:
        done = subprocess.run(
            shlex.split(host), input=asked, capture_output=True, text=True, check=False
        )
        answers = [json.loads(raw) for raw in done.stdout.splitlines() if raw.strip()]
        found = [(frozenset(a["effects"]), bool(a["opaque"])) for a in answers]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _silent(host, str(error)) from error
    if len(found) != len(corpus):
        raise _silent(host, f"{len(found)} answers to {len(corpus)} lines")
    return iter(found)


def _silent(host: str, why: str) -> InputError:
    hint = "it answers each line with `effects` and `opaque`, in order"
    return InputError(Problem("host-answers", f"`{host}` did not answer the corpus: {why}", hint))
