"""Fills the tables of docs/reference from the code, so that each fact has one home.

It writes the shipped JSON Schemas too.

A page holds the words; between ``<!-- from WHAT -->`` and ``<!-- end -->``
stands what is made here.
`tools/reference` writes the pages, and a test compares them.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

import attrs
import click

__all__ = ["PAGES", "SCHEMAS", "filled", "main", "schema_text"]

PAGES = Path(__file__).parents[1] / "docs" / "reference"
SCHEMAS = Path(__file__).parents[1] / "src" / "remit" / "profiles" / "schemas"
_PLACE = re.compile(r"(<!-- from (?P<what>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """Return the text of a page with what the code says now."""

    def fill(found: re.Match[str]) -> str:
        maker, *args = found["what"].split()
        made = "\n".join(MAKERS[maker](*args))
        return f"{found[1]}\n{made.strip()}\n\n{found[3]}"

    return _PLACE.sub(fill, page)


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    heads = list(columns)
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') or '-' for cell in row)} |"


def _keys(shape: str) -> Iterator[str]:
    """Rows of a shape, `MODULE:CLASS`: each key with what it takes and what it is for."""
    module, name = shape.split(":")
    yield from _table(
        ("key", "takes", "unless said", "what it says"), _rows(_get(module, name), "")
    )


def _get(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _rows(shape: type, prefix: str) -> Iterator[tuple[str, str, str, str]]:
    attrs.resolve_types(shape)
    for key in attrs.fields(shape):
        inner, path = _inner(key.type), f"{prefix}{key.name}"
        if inner is None:
            yield f"`{path}`", _takes(key.type), _default(key), key.metadata["doc"]
            continue
        table, each = inner
        yield f"`{path}`", each or "table", _default(key), key.metadata["doc"]
        step = {"": ".", "list of tables": "[].", "table of tables": ".NAME."}[each]
        yield from _rows(table, f"{path}{step}")


def _inner(of: Any) -> tuple[type, str] | None:
    """Return the shape of the tables that a key holds, and how it holds them; None for values."""
    args = get_args(of)
    if isinstance(of, types.UnionType):
        return _inner(next(t for t in args if t is not type(None)))
    if get_origin(of) is tuple and isinstance(args[0], type) and attrs.has(args[0]):
        return args[0], "list of tables"
    if len(args) == 2 and isinstance(args[1], type) and attrs.has(args[1]):
        return args[1], "table of tables"
    return (of, "") if isinstance(of, type) and attrs.has(of) else None


def _takes(of: Any) -> str:
    args = get_args(of)
    if isinstance(of, types.UnionType):
        return _takes(next(t for t in args if t is not type(None)))
    if get_origin(of) is tuple:
        inner = _takes(args[0])
        return "list of texts" if inner == "text" else "list of lists of texts"
    if args:
        inner = "anything" if args[1] is Any else _takes(args[1])
        return f"table: name to {inner}"
    if isinstance(of, type) and issubclass(of, StrEnum):
        return ", ".join(f"`{word.value}`" for word in of)
    return {bool: "`true`, `false`", int: "whole number"}.get(of, "text")


def _default(key: attrs.Attribute[Any]) -> str:
    if key.default is attrs.NOTHING:
        return "required"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    if isinstance(key.default, int):
        return f"`{key.default}`"
    if isinstance(key.default, str) and key.default:
        return f"`{key.default}`"
    return "`[]`" if key.default == () else "-"


def _commands() -> Iterator[str]:
    """Every command with its arguments and options."""
    app: click.Command = _get("remit.cli.app", "app")
    for path, command in _walk(app, "remit"):
        ctx = click.Context(command, info_name=path)
        usage = " ".join(command.collect_usage_pieces(ctx))
        yield f"## `{path}`" if path.count(" ") < 2 else f"### `{path}`"
        yield f"\n```text\n{path} {usage}\n```\n"
        yield from (line.strip() for line in (command.help or "").splitlines())
        options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
        if options:
            yield ""
            yield from _table(("option", "what it does"), map(_option, options))
        yield ""


def _walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            found = command.get_command(ctx, name)
            if found is not None and not found.hidden:
                yield from _walk(found, f"{path} {name}")


def _option(option: click.Option) -> tuple[str, str]:
    takes = option.metavar or "TEXT"
    if isinstance(option.type, click.Choice):
        takes = "|".join(str(getattr(c, "value", c)) for c in option.type.choices)
    names = ", ".join((*option.opts, *option.secondary_opts))
    said = option.help or ""
    if option.required:
        said = f"Required. {said}"
    return (f"`{names}`" if option.is_flag else f"`{names} {takes}`"), said.strip()


def _hooks() -> Iterator[str]:
    """Every hook with its exact signature."""
    specs = import_module("remit.plugins.hookspecs")
    for name, hook in vars(specs).items():
        if hasattr(hook, f"{specs.PROJECT}_spec"):
            yield f"## `{name}`\n\n```python\ndef {name}{_signature(hook)}\n```\n"
            yield f"{inspect.getdoc(hook)}\n"


def _signature(hook: Callable[..., Any]) -> str:
    signature = inspect.signature(hook)  # annotations are text here: `from __future__`
    given = ", ".join(f"{p.name}: {p.annotation}" for p in signature.parameters.values())
    return f"({given}) -> {signature.return_annotation}"


def _names(mapping: str, *columns: str) -> Iterator[str]:
    """Rows of a mapping of names to sentences, `MODULE:NAME`."""
    found: Mapping[str, str] = _get(*mapping.split(":"))
    yield from _table(columns, ((f"`{name}`", said) for name, said in found.items()))


def _codes() -> Iterator[str]:
    """Every code of a problem, by what it is about."""
    for group, codes in _get("remit.policy.problems", "CODE_GROUPS").items():
        yield f"## {group}\n"
        yield from _table(("code", "means"), ((f"`{code}`", said) for code, said in codes.items()))
        yield ""


def _effects() -> Iterator[str]:
    known = _get("remit.policy.vocabulary", "EFFECTS").values()
    yield from _table(
        ("effect class", "a call has it when it", "read-only modes"),
        ((f"`{e.id}`", e.meaning, "refuse" if e.world_changing else "admit") for e in known),
    )


def _dials() -> Iterator[str]:
    """What each dial says of each kind of call."""
    vocabulary, tools = (
        import_module("remit.policy.vocabulary"),
        import_module("remit.policy.tools"),
    )
    gate = _get("remit.policy.gate", "gate")
    write, read = vocabulary.Tier.WRITE, vocabulary.Tier.READ
    kinds = {
        "no world-changing effect": (tools.Tool("s", "t", read), False),
        "`worktree.write` alone": (tools.Tool("s", "t", write, {"worktree.write"}), False),
        "another world-changing effect": (tools.Tool("s", "t", write, {"git.push"}), False),
        "could not be read whole": (tools.Tool("s", "t", read, {"network.egress"}), True),
        "a tool that nobody declared": (tools.Tool("s", "t", write, declared=False), False),
        "a write or execute tool with no effects": (tools.Tool("s", "t", write), False),
    }
    rows = []
    for kind, (tool, opaque) in kinds.items():
        found = tools.CallEffects(tool.effects, opaque=opaque)
        verdicts = [gate(tools.Shape.of(tool), found, d).verdict for d in vocabulary.Dial]
        rows.append((kind, *verdicts))
    yield from _table(("a call with", *(f"`{d}`" for d in vocabulary.Dial)), rows)


def _causes() -> Iterator[str]:
    """What each cause says in a refusal."""
    decision = import_module("remit.policy.decision")
    vocabulary = import_module("remit.policy.vocabulary")
    rows = []
    for cause in decision.Cause:
        made = decision.Decision(vocabulary.Verdict.DENY, vocabulary.Layer.GUARD, cause, ("…",))
        text = decision.render(made, "", "")
        rows.append((f"`{cause}`", text.reason.partition(": ")[2], text.hint))
    yield from _table(("cause", "says", "hint of its own"), rows)


def _catalogs() -> Iterator[str]:
    """The shipped catalogues, with how many of their tools each tier has."""
    catalogs = import_module("remit.profiles")
    rows = []
    for name in catalogs.shipped_catalogs():
        tools = catalogs.load_catalog(name).tools
        rows.append((f"`{name}`", *(str(sum(t.tier == tier for t in tools)) for tier in _TIERS)))
    yield from _table(("catalogue", *_TIERS), rows)


_TIERS = ("read", "write", "execute")


def _harness_tools() -> Iterator[str]:
    """Every tool of the built-in harness: what it takes, and the worst that a call can do."""
    tools = import_module("remit.harness.tools")
    catalog = import_module("remit.profiles").load_catalog(tools.SOURCE)
    for tool in tools.TOOLS.values():
        declared = catalog.get(tool.name)
        worst = ", ".join(f"`{e}`" for e in sorted(declared.effects)) or "nothing"
        if len(declared.effects) > 5:
            worst = "what its command does"
        yield f"## `{tool.name}`\n\n{tool.description}\n"
        yield f"Tier `{declared.tier}`; at worst: {worst}.\n"
        yield from _table(("argument", "takes", "unless said", "what it says"), _arguments(tool))
        yield ""


def _arguments(tool: Any) -> Iterator[tuple[str, str, str, str]]:
    required = tool.input_schema.get("required", ())
    for name, said in tool.input_schema["properties"].items():
        of = said["items"] if said["type"] == "array" else said
        takes = {"string": "text", "integer": "number", "boolean": "`true`, `false`"}.get(
            of["type"], f"object: {', '.join(f'`{k}`' for k in of.get('properties', ()))}"
        )
        takes = f"list of {takes}" if said["type"] == "array" else takes
        default = "required" if name in required else "-"
        if "default" in said:
            default = f"`{str(said['default']).lower()}`"
        yield f"`{name}`", takes + _sized(said), default, said["description"]


def _sized(said: Mapping[str, Any]) -> str:
    """The bounds of a number; those of texts are there to stop accidents."""
    low, high = said.get("minimum"), said.get("maximum")
    if low is None:
        return ""
    return f", {low} to {high}" if high is not None else f", from {low}"


def _machine() -> Iterator[str]:
    """The states of a run and the ways between them, as a diagram drawn from the one table."""
    table = _get("remit.policy.run_step", "TABLE")
    ways: dict[tuple[str, str], list[str]] = {}
    for state, row in table.items():
        for kind, states in row.items():
            for after in states:
                if after is not state:
                    ways.setdefault((state.value, after.value), []).append(kind.value)
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield "    [*] --> running"
    for (state, after), kinds in ways.items():
        yield f"    {state} --> {after}: {', '.join(kinds)}"
    for state in table:
        if all(after is state for states in table[state].values() for after in states):
            yield f"    {state.value} --> [*]"
    yield "```"


MAKERS: Mapping[str, Callable[..., Iterator[str]]] = {
    "catalogs": _catalogs,
    "causes": _causes,
    "codes": _codes,
    "commands": _commands,
    "dials": _dials,
    "effects": _effects,
    "harness_tools": _harness_tools,
    "hooks": _hooks,
    "keys": _keys,
    "machine": _machine,
    "names": _names,
}


def schema_text(kind: str) -> str:
    """Return the JSON Schema of a kind of file; ASCII alone, so that every terminal takes it."""
    shapes = {
        "config": ("remit.harness.location", "ConfigFile"),
        "servers": ("remit.harness.gateway.servers", "ServersFile"),
    }
    shape = _get(*shapes[kind]) if kind in shapes else kind
    return json.dumps(_get("remit.profiles.schema", "schema")(shape), indent=2) + "\n"


def main() -> int:
    """Write every page anew; say which changed."""
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text()
        if (new := filled(text)) != text:
            page.write_text(new)
            print(f"{page.relative_to(PAGES.parents[1])} is changed")
    for kind in _get("remit.profiles.schema", "KINDS"):
        path = SCHEMAS / f"{kind}.schema.json"
        if not path.exists() or path.read_text() != schema_text(kind):
            path.write_text(schema_text(kind))
            print(f"{path.name} is changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
