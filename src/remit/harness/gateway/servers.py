"""The servers of a gateway: what the operator's file says of each.

Catalogues are shipped names or paths; a relative path begins at the file's own folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from attrs import field, frozen

from remit.policy.escape import quoted
from remit.policy.problems import InputError, Problem
from remit.policy.tools import NATIVE
from remit.profiles.document import Findings, parse_toml
from remit.profiles.names import SOURCE_NAME
from remit.profiles.source import read_source
from remit.profiles.structure import salvage

__all__ = ["ServerFile", "ServerSpec", "ServersFile", "check_server_name", "load_servers"]

#: What a selector of a profile means by these (design section 5).
_NOT_NAMES = frozenset({NATIVE, "group", "tier"})
_NAMES = "use 1 to 64 of A-Z a-z 0-9 _ . -, and not group, tier or remit"


def _says(doc: str) -> dict[str, Any]:
    return {"doc": doc}


@frozen
class ServerFile:
    """One server."""

    command: tuple[str, ...] = field(
        metadata=_says("What starts it: the program and each of its arguments.")
    )
    catalog: str | None = field(
        default=None,
        metadata=_says(
            "The catalogue that declares its tools: a shipped name or a path. Absent means as "
            "`remit.toml` binds it; where that does not, all its tools are undeclared."
        ),
    )
    trusted: bool = field(
        default=False,
        metadata=_says("May its word that a tool only reads stand in for a declaration."),
    )


@frozen
class ServersFile:
    """The servers by their source names, in the order in which they are listed."""

    servers: Mapping[str, ServerFile] = field(
        factory=dict, metadata=_says("Per server, by its source name, what starts it.")
    )


@frozen
class ServerSpec:
    """A server that a gateway stands in front of; ``advice`` says where a tool is declared."""

    name: str
    command: tuple[str, ...]
    catalog: str | None = None
    trusted: bool = False
    advice: str = ""


def check_server_name(name: str) -> Problem | None:
    """Return why a server may not have a name, None if it may."""
    if SOURCE_NAME.fullmatch(name) and name not in _NOT_NAMES:
        return None
    message = f"{quoted(name)} cannot be the source name of a server"
    return Problem("bad-source-name", message, _NAMES)


def load_servers(
    path: str | PathLike[str], bound: Mapping[str, str] | None = None
) -> tuple[ServerSpec, ...]:
    """Return the servers of a file; raises `InputError` with all that is wrong with it.

    ``bound`` are the catalogues of servers for which the file names none.
    """
    document = parse_toml(read_source(path))
    file, _, misshapen = salvage(document, ServersFile)
    found = Findings(document)
    found.problems += misshapen
    tables = document.data.get("servers")
    for name in tables if isinstance(tables, Mapping) else ():
        if (wrong := check_server_name(name)) is not None:
            found.report(wrong.code, wrong.message, ("servers", name), wrong.hint, key=True)
    if not tables and not misshapen:
        hint = "write `[servers.NAME]` with a `command` for each"
        found.report("no-servers", "the file names no server", (), hint)
    folder = Path(path).absolute().parent
    specs = []
    for name, one in (file.servers if file else {}).items():
        at = ("servers", name)
        if not one.command or not one.command[0]:
            message = "a server is started by a program"
            found.report("server-command", message, (*at, "command"), 'such as `["npx", "server"]`')
        named = (bound or {}).get(name) if one.catalog is None else _place(one.catalog, folder)
        advice = f'add `catalog = "..."` to `[servers.{name}]` in {path}' if named is None else ""
        specs.append(ServerSpec(name, one.command, named, one.trusted, advice))
    if found.problems:
        raise InputError(sorted(found.problems, key=lambda p: (p.where.line, p.where.column)))
    return tuple(specs)


def _place(catalog: str, folder: Path) -> str:
    """Shipped catalogues are plain names; whatever has a slash or an ending is a file."""
    is_file = "/" in catalog or catalog.endswith((".toml", ".json"))
    return str(folder / Path(catalog).expanduser()) if is_file else catalog
