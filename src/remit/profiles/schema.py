"""JSON Schemas for editors, made from the same declarations as the loader.

`tools/reference` writes them to the files of `schemas/`, which are shipped.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from enum import StrEnum
from importlib.resources import files
from typing import Any, get_args, get_origin

import attrs

from remit.profiles.mode_shapes import ModeFile
from remit.profiles.shapes import CatalogFile, OverlayFile, PipelineFile, ProfileFile

__all__ = ["KINDS", "SHAPES", "schema", "shipped_schema"]

#: The kinds of file that have a schema here, and their shapes.
SHAPES: Mapping[str, type] = types.MappingProxyType(
    {
        "profile": ProfileFile,
        "catalog": CatalogFile,
        "overlay": OverlayFile,
        "pipeline": PipelineFile,
        "mode": ModeFile,
    }
)

#: The kinds of file that have a shipped schema; the shapes of the last two are the harness's.
KINDS = (*SHAPES, "config", "servers")


def shipped_schema(kind: str) -> str:
    """Return the text of a shipped schema, one of `KINDS`."""
    return (files("remit.profiles") / "schemas" / f"{kind}.schema.json").read_text("utf-8")


def schema(kind: str | type) -> dict[str, Any]:
    """Return the JSON Schema of a kind of file, or of any shape; an unknown kind is a `KeyError`.

    It is of draft 7, the newest that taplo, which editors use for TOML, is sure to know, and says
    types and words. What depends on other files (parents, tools, plugins' effect
    classes) is checked when the file is loaded.
    """
    shape = SHAPES[kind] if isinstance(kind, str) else kind
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": (shape.__doc__ or "").split("\n")[0],
        **_table(shape),
    }


def _table(shape: type) -> dict[str, Any]:
    attrs.resolve_types(shape)
    fields = attrs.fields(shape)
    required = [a.name for a in fields if a.default is attrs.NOTHING]
    table: dict[str, Any] = {
        "type": "object",
        "properties": {a.name: _key(a) for a in fields},
        "additionalProperties": False,
    }
    return table | ({"required": required} if required else {})


def _key(attribute: attrs.Attribute[Any]) -> dict[str, Any]:
    metadata = attribute.metadata
    said = {"description": metadata["doc"]} if "doc" in metadata else {}
    pattern = {"pattern": metadata["pattern"]} if "pattern" in metadata else {}
    default = attribute.default
    simple = isinstance(default, bool | int | str) and default != ""
    limits = dict(metadata.get("limits", {}))
    return said | _of(attribute.type) | pattern | limits | ({"default": default} if simple else {})


def _of(shape: Any) -> dict[str, Any]:
    if isinstance(shape, types.UnionType):
        return _of(next(t for t in get_args(shape) if t is not type(None)))
    origin, args = get_origin(shape), get_args(shape)
    if origin is tuple:
        return {"type": "array", "items": _of(args[0])}
    if origin is not None:
        return {"type": "object"} | (
            {} if args[1] is Any else {"additionalProperties": _of(args[1])}
        )
    if isinstance(shape, type) and issubclass(shape, StrEnum):
        return {"enum": [word.value for word in shape]}
    if isinstance(shape, type) and attrs.has(shape):
        table = _table(shape)
        short = getattr(shape, "SHORTHAND", None)
        return {"anyOf": [table["properties"][short], table]} if short else table
    return {"type": {bool: "boolean", int: "integer"}.get(shape, "string")}
