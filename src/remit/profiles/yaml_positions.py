"""YAML: values that TOML could say as well, and where each of them stands.

Declarations do without aliases, anchors and tags: an alias makes a small file large, and a tag
makes a value something else than it looks.
"""

from __future__ import annotations

from typing import Any

from remit.policy.problems import InputError, Position, Problem
from remit.profiles.positions import DEPTH, KeyPath, Located, Spot, key_path
from remit.profiles.source import Source

__all__ = ["locate_yaml", "parse_yaml_values"]


class _Wrong(Exception):
    """The text says what declarations do not."""

    def __init__(self, code: str, message: str, at: Any, hint: str = "") -> None:
        self.code, self.message, self.at, self.hint = code, message, at, hint


def parse_yaml_values(source: Source) -> Any:
    """Return the values of a text; raises `InputError` with the one problem that keeps it from it.

    What YAML calls a merge, a set, a date or binary is none of ours.
    """
    import yaml

    try:
        return _read(source.text, None)
    except _Wrong as error:
        where = Position(source.file, error.at.line + 1, error.at.column + 1)
        raise InputError(Problem(error.code, error.message, error.hint, where)) from None
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        why = str(getattr(error, "problem", None) or "it cannot be read")
        where = Position(source.file, *((mark.line + 1, mark.column + 1) if mark else (0, 0)))
        message = f"the text is not YAML: {why[:1].lower()}{why[1:]}"
        raise InputError(Problem("yaml-syntax", message, "", where)) from None


def locate_yaml(text: str) -> Located:
    """Find every key and value of a text that `parse_yaml_values` has taken."""
    spots: dict[KeyPath, Spot] = {}
    _read(text, spots)
    return Located(text, spots, None, None, True)


class _Open:
    """A list or table that is being read; ``key`` is what its next value is to be called."""

    __slots__ = ("holds", "key", "key_at", "lines", "path", "root")

    def __init__(self, holds: Any, path: KeyPath, *, root: bool = False) -> None:
        self.holds, self.path, self.root = holds, path, root
        self.key: str | None = None
        self.key_at = 0
        self.lines: dict[str, int] = {}


def _read(text: str, spots: dict[KeyPath, Spot] | None) -> Any:
    """Read the events once, without recursion; note places where somebody wants them."""
    import yaml

    root = _Open([], (), root=True)
    nest = [root]
    event: Any
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        kind = type(event)
        if kind in (yaml.SequenceEndEvent, yaml.MappingEndEvent):
            nest.pop()
            continue
        if kind is yaml.DocumentStartEvent and root.holds:
            raise _Wrong("yaml-syntax", "the text is not YAML: it has a second document",
                         event.start_mark)  # fmt: skip
        if not isinstance(event, yaml.NodeEvent):
            continue
        _check(event)
        above = nest[-1]
        scalar = kind is yaml.ScalarEvent
        if type(above.holds) is dict and above.key is None:
            _key(above, event, scalar)
            continue
        value = _scalar(event) if scalar else {} if kind is yaml.MappingStartEvent else []
        path = _put(above, value, event, spots)
        if not scalar:
            nest.append(_Open(value, path))
            if len(nest) > DEPTH + 1:
                message = f"lists and tables nest more than {DEPTH} deep"
                raise _Wrong("too-deep", message, event.start_mark)
    return root.holds[0] if root.holds else {}


def _check(event: Any) -> None:
    if event.anchor is not None:
        message = f"`{event.anchor}` is an anchor or an alias"
        raise _Wrong("yaml-part", message, event.start_mark, "write out what it stands for")
    if event.tag is not None:
        message = f"`{event.tag}` is a tag"
        raise _Wrong("yaml-part", message, event.start_mark, "write the value without it")


def _key(table: _Open, event: Any, scalar: bool) -> None:
    name = _scalar(event) if scalar else None
    if type(name) is not str or (name == "<<" and event.implicit[0]):
        raise _Wrong("wrong-type", "a key is to be text", event.start_mark, "write it in quotes")
    if name in table.lines:
        hint = f"the first one is in line {table.lines[name] + 1}; keep one of them"
        message = f"the key `{key_path((*table.path, name))}` is given twice"
        raise _Wrong("duplicate-key", message, event.start_mark, hint)
    mark = event.start_mark
    table.key, table.key_at, table.lines[name] = name, mark.index, mark.line


def _put(above: _Open, value: Any, event: Any, spots: dict[KeyPath, Spot] | None) -> KeyPath:
    """Put a value where it belongs; return its path."""
    at = event.start_mark.index
    if type(above.holds) is dict:
        path: KeyPath = (*above.path, above.key or "")
        key_at = above.key_at
        above.holds[above.key] = value
        above.key = None
    else:
        path = () if above.root else (*above.path, len(above.holds))
        key_at = at
        above.holds.append(value)
    if spots is not None:
        spots[path] = Spot(key_at, at)
    return path


def _scalar(event: Any) -> Any:
    text: str = event.value
    kind = _kind(text) if event.implicit[0] else "str"
    try:
        match kind:
            case "str" | "merge" | "value":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() in ("yes", "true", "on")
            case "int":
                return int(text.replace("_", ""), 10)
            case "float":
                return float(text.replace("_", ""))
    except ValueError:
        pass
    message = f"`{text}` is more to YAML than text or a decimal number"
    raise _Wrong("yaml-part", message, event.start_mark, "write it in quotes")


def _kind(text: str) -> str:
    """Return what YAML takes a text without quotes for."""
    import yaml

    resolvers: Any = yaml.SafeLoader.yaml_implicit_resolvers
    for tag, pattern in resolvers.get(text[:1], ()):
        if pattern.match(text):
            return str(tag.rpartition(":")[2])
    return "str"
