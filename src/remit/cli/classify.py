"""`remit classify`: what a command would do, part by part, without running it."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from remit.cli.failures import FINE, INPUT
from remit.cli.options import Place, in_place
from remit.cli.output import line, say
from remit.cli.parts import part_values, show_parts
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem
from remit.policy.vocabulary import in_order

__all__ = ["classify"]


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--worktree", metavar="DIR", help="The worktree that paths are judged by (default: here)."
)
@click.option(
    "--cwd", metavar="DIR", help="The folder that it would run in (default: the worktree)."
)
@click.option(
    "--shell", type=click.Choice(["bash", "powershell"]), default="bash", help="Whose language."
)
@click.option("--stdin", "lines", is_flag=True, help='Read JSON Lines: {"cmd": ...}.')
@click.option("--json", "as_json", is_flag=True, help="Print JSON on one line.")
@click.argument("command", nargs=-1)
@in_place
def classify(
    place: Place,
    worktree: str | None,
    cwd: str | None,
    shell: str,
    lines: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Say what COMMAND would do: effects, targets, and why, for each part of it.

    One word is a command line; several are joined with blanks.
    """
    worktree = _folder(worktree or cwd or os.getcwd())
    cwd = _folder(cwd or worktree)
    if bool(command) == lines:
        raise InputError(
            Problem(
                "no-command",
                "either a command or `--stdin` is wanted",
                "write the command behind `--`",
            )
        )
    if not lines:
        found = _classified(place, " ".join(command), worktree, cwd, shell)
        if as_json:
            line(found)
        else:
            _show(found)
        return FINE
    wrong = False
    for number, raw in enumerate(sys.stdin.buffer, 1):
        if raw.strip():
            given = _given(raw, number)
            wrong |= "problem" in given
            line(
                given
                if "problem" in given
                else _classified(
                    place,
                    given["cmd"],
                    given.get("worktree", worktree),
                    given.get("cwd", cwd),
                    given.get("shell", shell),
                )
            )
    return INPUT if wrong else FINE


def _folder(path: str) -> str:
    return path if _far(path) else os.path.abspath(path)


def _far(path: str) -> bool:
    """Is it a path of another system: it is judged as text."""
    return len(path) > 2 and path[1] == ":" and path[2] in "\\/"


def _given(raw: bytes, number: int) -> dict[str, Any]:
    try:
        given = json.loads(raw.decode())
    except (ValueError, RecursionError):
        return {"line": number, "problem": "the line is not JSON"}
    if not isinstance(given, dict) or not isinstance(given.get("cmd"), str):
        return {"line": number, "problem": "the line is no object with a text `cmd`"}
    unknown = given.keys() - {"cmd", "worktree", "cwd", "shell", "id"}
    if unknown:
        return {"line": number, "problem": f"unknown key {quoted(sorted(unknown)[0])}"}
    if given.get("shell", "bash") not in ("bash", "powershell"):
        return {"line": number, "problem": "`shell` is to be `bash` or `powershell`"}
    for key in ("worktree", "cwd"):
        if not isinstance(given.get(key, ""), str):
            return {"line": number, "problem": f"`{key}` is to be text"}
    return given


def _classified(
    place: Place, command: str, worktree: str | None, cwd: str | None, shell: str
) -> dict[str, Any]:
    from remit.harness.facts import look, start
    from remit.plugins.classifiers import Wants
    from remit.plugins.shell import classify_shell

    facts = start(worktree, cwd or worktree, place.host(worktree))
    known = place.engine.registry.programs
    found = classify_shell(command, facts, shell, known)
    for _ in range(5):
        wanted = Wants(found.wants, found.repos, found.globs)
        if not wanted:
            break
        facts = look(wanted, facts)
        found = classify_shell(command, facts, shell, known)
    return {
        "cmd": command,
        "effects": list(in_order(found.effects)),
        "targets": {e: list(found.targets[e]) for e in in_order(found.effects)},
        "opaque": found.opaque,
        "protected": list(found.protected),
        "parts": part_values(found),
    }


def _show(found: dict[str, Any]) -> None:
    effects = ", ".join(found["effects"]) or "no effect"
    say(f"{effects}{' (not everything could be seen)' if found['opaque'] else ''}")
    show_parts(found["cmd"], found["parts"])
    for path in found["protected"]:
        say(f"  touches the protected path {path}")
