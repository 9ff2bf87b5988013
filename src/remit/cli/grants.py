"""`remit grants`: calls that run unasked, because the operator said so for good."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from remit.cli.app import Family
from remit.cli.options import Place, as_json, in_workspace, now
from remit.cli.output import emit, note, say
from remit.policy.digest import canonical
from remit.policy.escape import escape, quoted
from remit.policy.problems import InputError, Problem, near

if TYPE_CHECKING:
    from remit.harness.store import GrantRecord, Store

__all__ = ["grants"]


@click.group(cls=Family)
def grants() -> None:
    """Grants: calls of a tool that run unasked in one space, while it is in one mode.

    A grant answers for the operator where a call would ask. It lifts no refusal.
    """


@grants.command("list")
@click.option("--space", "space", metavar="ID", help="Those of one space.")
@as_json
@in_workspace
def list_(place: Place, space: str | None, as_json: bool) -> None:
    """List grants, newest first; revoked ones too."""
    with place.store() as store:
        found = store.grants.list(space)
    if as_json:
        emit([grant_value(g) for g in found])
    elif not found:
        note("there is no grant; `remit grants add` makes one")
    for grant in () if as_json else found:
        _print(grant)


@grants.command()
@click.argument("space")
@click.argument("tool")
@click.option("--args", "args", metavar="JSON", help="Calls with just these arguments.")
@click.option("--effect", metavar="CLASS", help="Calls with this effect, on what --target names.")
@click.option("--target", metavar="GLOB", help="What the effect may act on.")
@click.option("--servers", metavar="FILE", help="The tool is one of a gateway's with this FILE.")
@as_json
@in_workspace
def add(
    place: Place,
    space: str,
    tool: str,
    args: str | None,
    effect: str | None,
    target: str | None,
    servers: str | None,
    as_json: bool,
) -> None:
    """Let calls of TOOL run unasked in SPACE, while it is in the mode of now (operator).

    Either calls with exact arguments, or those whose every effect that asks is granted on every
    target. What is opaque, spawns or was declared by nobody is asked for all the same, and a tool
    that changes needs a new grant.
    """
    from remit.harness.store import OPERATOR
    from remit.policy.grants import Grant

    place.operator()
    if (args is None) is (effect is None) or (effect is None) is not (target is None):
        hint = "`--args JSON`, or `--effect CLASS --target GLOB`"
        raise InputError(Problem("usage", "say which calls are granted", hint))
    given = None if args is None else canonical(_arguments(args))
    bound = _bound(place, servers)
    with place.store() as store:
        key = _key(place, store, space, tool, bound)
        added = store.grants.add(
            space,
            Grant(key, given, effect, target),
            by=OPERATOR,
            now=now(),
            tool_hash=_pinned(place, key, bound),
            known=place.engine.effects,
        )
    _show(added, as_json)


@grants.command()
@click.argument("id")
@click.option("--why", default="", help="A reason, for the log.")
@as_json
@in_workspace
def revoke(place: Place, id: str, why: str, as_json: bool) -> None:
    """Take a grant back, from the next call on (operator)."""
    from remit.harness.store import OPERATOR

    place.operator()
    with place.store() as store:
        gone = store.grants.revoke(id, by=OPERATOR, now=now(), why=why)
    _show(gone, as_json)


def _bound(place: Place, servers: str | None) -> Mapping[str, str]:
    """Return the catalogues of servers by name: as a file of servers says, else remit.toml."""
    from remit.harness.gateway.servers import load_servers

    bound = dict(place.workspace.servers)
    for spec in () if servers is None else load_servers(servers, bound):
        if spec.catalog is not None:
            bound[spec.name] = spec.catalog
    return bound


def _key(place: Place, store: Store, space: str, tool: str, servers: Mapping[str, str]) -> str:
    """Return the key of a tool: as given, or of the one tool of that name that is known.

    What was called in the space comes first, then the operator's catalogues, then shipped ones.
    """
    called = store.grants.called(space)
    engine = place.engine
    bound = [engine.catalog(catalog, source=name) for name, catalog in servers.items()]
    mine = {t.key for c in (engine.operators, engine.natives, *bound) for t in c.tools}
    shipped = {t.key for name in engine.shipped for t in engine.catalog(name).tools}
    known = called | mine | shipped
    if ":" in tool:
        if tool not in known:
            hint = near(tool, known) or "where a file of servers binds it, say `--servers FILE`"
            note(f"no catalogue here has a tool {quoted(tool)}: {hint}")
        return tool
    for keys in (called, mine, shipped):
        named = sorted(k for k in keys if k.partition(":")[2] == tool)
        if len(named) > 1:
            listed = " and ".join(f"`{k}`" for k in named)
            message, hint = f"{quoted(tool)} could be {listed}", "name it by source and name"
            raise InputError(Problem("ambiguous-tool", message, hint))
        if named:
            return named[0]
    names = {k.partition(":")[2] for k in known}
    hint = near(tool, names) or "write `source:name`, with the server's name before the colon"
    raise InputError(Problem("unknown-tool", f"no tool {quoted(tool)} is known", hint))


def _pinned(place: Place, key: str, servers: Mapping[str, str]) -> str | None:
    """Return the hash under which a tool was reviewed, None where its catalogue pins none."""
    server = key.partition(":")[0]
    bound = servers.get(server)
    if bound is None:
        return None
    tool = place.engine.catalog(bound, source=server).get(key)
    return tool.learnt.hash if tool is not None and tool.learnt is not None else None


def _arguments(text: str) -> dict[str, Any]:
    """Return arguments as a model would give them: one object, each key once."""

    def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                raise ValueError(f"the key {quoted(key)} is given twice")
            made[key] = value
        return made

    def constant(name: str) -> Any:
        raise ValueError(f"`{name}` is no number of JSON")

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        why = (
            f"{error.msg.lower()} at column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else str(error)
            if isinstance(error, ValueError)
            else "it nests too deep"
        )
        raise InputError(
            Problem("bad-arguments", f"`--args` cannot be read: {why}", 'such as `{"path": "a"}`')
        ) from None
    if not isinstance(value, dict):
        message = "`--args` is to be an object"
        raise InputError(Problem("bad-arguments", message, 'such as `{"path": "a"}`'))
    return value


def grant_value(grant: GrantRecord) -> dict[str, Any]:
    """Return a grant as JSON; ``tool_hash`` is null until the tool is first called."""
    what = grant.grant
    return {
        "id": grant.id,
        "space": grant.space,
        "tool": what.tool,
        "mode": grant.mode,
        "args": None if what.args is None else json.loads(what.args),
        "effect": what.effect,
        "target": what.target,
        "tool_hash": grant.tool_hash,
        "state": "active" if grant.active else "revoked",
        "added_by": grant.added_by,
        "added_at": grant.added_at,
        "revoked_by": grant.revoked_by,
        "revoked_at": grant.revoked_at,
    }


def _show(grant: GrantRecord, as_json: bool) -> None:
    if as_json:
        emit(grant_value(grant))
    else:
        _print(grant)


def _print(grant: GrantRecord) -> None:
    what = grant.grant
    state = "active" if grant.active else "revoked"
    say(f"{grant.id}  {state}  space {grant.space}  in {grant.mode} mode  {what.tool}")
    if what.args is not None:
        shown = json.dumps(json.loads(what.args), ensure_ascii=False, sort_keys=True)
        say(f"  with {escape(shown)}")
    else:
        say(f"  {what.effect} on {what.target}")
