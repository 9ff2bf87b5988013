"""Mustering the servers that an operator names: each bound to its catalogue, none started yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import mcp_types as types

from remit.harness.engine import Engine
from remit.harness.gateway.boxes import Boxes
from remit.harness.gateway.environment import upstream_environment
from remit.harness.gateway.fleet import Fleet, Served
from remit.harness.gateway.servers import ServerSpec, check_server_name
from remit.harness.gateway.shelf import Shelf
from remit.harness.gateway.upstream import START, Upstream
from remit.policy.problems import InputError, Problem, RemitError
from remit.policy.tools import Catalog

__all__ = ["catalog_files", "muster", "us"]


def us() -> types.Implementation:
    """Return how remit calls itself to clients and servers."""
    try:
        return types.Implementation(name="remit", version=version("remit"))
    except PackageNotFoundError:
        return types.Implementation(name="remit", version="0")


def catalog_files(specs: Iterable[ServerSpec]) -> tuple[str, ...]:
    """Return the paths of catalogues that are files: no tool may change what declares it."""
    return tuple(os.path.abspath(s.catalog) for s in specs if s.catalog and _is_file(s.catalog))


def muster(
    engine: Engine,
    specs: Sequence[ServerSpec],
    worktree: str | None,
    report: Callable[[Problem], None],
    *,
    boxes: Callable[[ServerSpec], Boxes | None] = lambda spec: None,
    start_seconds: float = START,
) -> Fleet:
    """Return the servers; raises `InputError` with all that is wrong with names and catalogues."""
    bound = _bound(engine, specs)
    taken = frozenset(n for t in engine.natives.tools for n in (t.name, t.key))
    client = us()

    def served(spec: ServerSpec) -> Served:
        shelf = Shelf(
            spec.name,
            bound[spec.name],
            taken,
            report,
            trusted=spec.trusted,
            advice=spec.advice or _advice(spec),
            file=next(iter(catalog_files([spec])), ""),
        )
        made = boxes(spec)
        upstream = Upstream(
            spec.name,
            spec.command,
            lambda: upstream_environment(os.environ, _folders(worktree, spec.command)),
            report,
            client,
            start_seconds,
            made.make if made else None,
        )
        return Served(upstream, shelf, made)

    return Fleet.of(served(spec) for spec in specs)


def _bound(engine: Engine, specs: Iterable[ServerSpec]) -> dict[str, Catalog | None]:
    """Return the catalogue of each server, raising the problems of all at once."""
    bound: dict[str, Catalog | None] = {}
    problems: list[Problem] = []
    for spec in specs:
        if (wrong := check_server_name(spec.name)) is not None:
            problems.append(wrong)
        try:
            bound[spec.name] = engine.catalog(spec.catalog) if spec.catalog else None
        except RemitError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return bound


def _advice(spec: ServerSpec) -> str:
    """Say where a tool of a server is declared."""
    if spec.catalog is None:
        return "bind a catalogue to it: `--server NAME=CATALOG`"
    if _is_file(spec.catalog):
        return f'declare each in {spec.catalog}: `[tools."NAME"]` with its `effects`'
    return f"`remit catalog learn` writes a catalogue that has all that `{spec.name}` offers"


def _is_file(catalog: str) -> bool:
    return Path(catalog).is_file()


def _folders(worktree: str | None, command: Sequence[str]) -> list[str]:
    """Return where an upstream may work: the worktree, here, and folders it is started with."""
    named = (part.partition("=")[2] or part for part in command[1:])
    there = [worktree] if worktree else []
    return [*there, os.getcwd(), *(n for n in named if Path(n).is_dir())]
