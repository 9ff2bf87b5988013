"""`remit catalog learn` and `trust`: from a live server to a catalogue that a person reviews."""

from __future__ import annotations

import importlib.util
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remit.cli.failures import MachineError
from remit.cli.options import Place, as_json, in_place, in_workspace, now
from remit.cli.output import emit, note, show_problems
from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem, near
from remit.policy.tools import Learnt, Tool

if TYPE_CHECKING:
    from remit.harness.engine import Engine
    from remit.harness.store import Event, Store

__all__ = ["learn", "trust"]

#: How much of a server's tools a shipped catalogue must know to be that server's.
_SAME = 0.5


@click.command()
@click.option("--out", required=True, metavar="FILE", help="The catalogue to write.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@click.argument("command", nargs=-1, required=True, metavar="-- CMD...")
@as_json
@in_place
def learn(place: Place, out: str, force: bool, command: tuple[str, ...], as_json: bool) -> None:
    """Start the MCP server CMD, read its tools, and write a catalogue of them for you to review.

    Nothing that the server says is believed: it stands in comments, and each tool is undeclared
    until you say what it does. What the server says is pinned, so that a change is seen.
    """
    if importlib.util.find_spec("mcp") is None:
        raise MachineError(
            Problem("mcp-missing", "learning needs `mcp`", "`pip install 'remit[mcp]'`")
        )
    from remit.harness.gateway.learn import listed
    from remit.harness.gateway.servers import check_server_name
    from remit.profiles.learning import Found, learnt_catalog

    path = Path(out)
    source = path.stem
    if (wrong := check_server_name(source)) is not None:
        raise InputError(wrong)
    if path.suffix != ".toml":
        message = f"{quoted(out, 200)} is to be a `.toml` file"
        raise InputError(Problem("usage", message, f"such as `{source}.toml`"))
    _may_write(path, force)
    engine = place.engine
    taken = frozenset(n for t in engine.natives.tools for n in (t.name, t.key))
    found = listed(source, command, taken, lambda problem: show_problems([problem]))
    known = _shipped(engine, [t.name for t in found.tools])
    tools = [
        Found(t.name, t.learnt, t.raw.get("annotations") or {}, known.get(t.name))
        for t in found.tools
    ]
    text = learnt_catalog(source, shlex.join(command), tools, found.requests)
    _may_write(path, force)
    _write(path, text)
    show_problems(found.problems)
    names = [t.name for t in found.tools]
    if as_json:
        emit({"file": str(path), "source": source, "tools": names})
    note(
        f"{len(names)} tools of `{source}` are in {path}, none of them declared: read what each "
        "says, and give it its effects"
    )


def _may_write(path: Path, force: bool) -> None:
    if os.path.lexists(path) and not force:
        raise InputError(
            Problem(
                "out-exists",
                f"{quoted(str(path), 200)} is there already",
                "`--force` writes over it, and over what you declared in it",
            )
        )


def _shipped(engine: Engine, names: list[str]) -> dict[str, Tool]:
    """Return the declarations of the shipped catalogue that knows the most of these tools."""
    best: dict[str, Tool] = {}
    for name in engine.shipped:
        tools = {t.name: t for t in engine.catalog(name).tools}
        if len(both := tools.keys() & set(names)) > len(best):
            best = {n: tools[n] for n in both}
    return best if len(best) > _SAME * len(names) else {}


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all, with the mode that it had."""
    path = path.resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        why = (error.strerror or str(error)).lower()
        raise InputError(
            Problem("file-unreadable", f"{quoted(str(path), 200)} cannot be written: {why}")
        ) from error


@click.command()
@click.argument("name")
@as_json
@in_workspace
def trust(place: Place, name: str, as_json: bool) -> None:
    """Take a tool as a gateway saw it last, after you reviewed what changed (operator).

    NAME is SOURCE:TOOL, or a SOURCE for all of its tools that changed. What you declared of a tool
    stays; the pin in its catalogue is written anew.
    """
    from remit.harness.store import OPERATOR
    from remit.harness.store.events import TOOL_TRUSTED
    from remit.profiles.learnt import difference, repinned
    from remit.profiles.source import read_source

    place.operator()
    told = []
    with place.store() as store:
        for event in _seen(store, name):
            body = event.body
            path = Path(body["catalog"])
            text = read_source(path)
            bound = next((t for t in _tools(text.text, path) if t.name == body["tool"]), None)
            if bound is None or bound.learnt is None or bound.learnt.hash != body["was"]:
                continue
            now_it_is = Learnt(body["hash"], body["description"], body["schema"])
            differs = difference(bound.learnt, now_it_is)
            _write(path, repinned(text, body["tool"], now_it_is))
            record = {k: body[k] for k in ("source", "tool", "was", "hash", "catalog")}
            store.log.record(TOOL_TRUSTED, record, actor=OPERATOR, now=now())
            told.append({**record, "changed": list(differs.lines)})
            key = f"{body['source']}:{body['tool']}"
            note("\n  ".join((f"{key} is pinned anew in {path}: {differs}", *differs.lines)))
    if not told:
        raise InputError(
            Problem(
                "no-change",
                f"no change of {quoted(name)} waits to be reviewed",
                "a gateway sees one as its server starts; `remit catalog` lists them",
            )
        )
    if as_json:
        emit(told)


def _tools(text: str, path: Path) -> tuple[Tool, ...]:
    from remit.profiles.catalogs import parse_catalog
    from remit.profiles.source import Source

    return parse_catalog(Source(text, str(path))).require().tools


def _seen(store: Store, name: str) -> Iterator[Event]:
    """Yield the last change that was seen of each tool of a name."""
    from remit.harness.store.events import TOOL_CHANGED

    source, _, tool = name.partition(":")
    last: dict[tuple[str, str, str], Event] = {}
    keys = set()
    for event in store.log.read(kinds=(TOOL_CHANGED,)):
        body = event.body
        keys |= {body["source"], f"{body['source']}:{body['tool']}"}
        if body["catalog"] and body["source"] == source and tool in ("", body["tool"]):
            last[body["source"], body["tool"], body["catalog"]] = event
    if keys and name not in keys:
        raise InputError(
            Problem(
                "no-change",
                f"no change of {quoted(name)} was seen",
                near(name, keys) or f"there are {', '.join(sorted(keys)[:6])}",
            )
        )
    yield from last.values()
