"""Structuring: plain values become the classes of `shapes`, or every problem is told at once.

Types are exact, because what converters do to help would widen: the text ``"false"`` is true to
`bool`, and a text is a sequence of letters.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, TypeVar

import attrs
from attrs import evolve
from cattrs import Converter
from cattrs.errors import (
    ClassValidationError,
    ForbiddenExtraKeysError,
    IterableValidationError,
    IterableValidationNote,
)
from cattrs.gen import make_dict_structure_fn, override

from remit.policy.problems import InputError, Problem, near
from remit.profiles.document import Document
from remit.profiles.positions import KeyPath

__all__ = ["Misshapen", "described", "quoted", "salvage", "structure"]

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]


class _Wrong(Exception):
    """A value that is not what its place wants."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        self.code, self.message, self.hint = code, message, hint
        super().__init__(message)


def structure(document: Document, shape: type[T], path: KeyPath = ()) -> T:
    """Return the values of a document as a shape; raises `Misshapen` with every problem."""
    value: Any = document.data
    for part in path:
        value = value[part]
    try:
        return _hook(shape)(value, shape)  # type: ignore[no-any-return,arg-type]
    except Exception as error:
        found = tuple(_problems(error, path))
    raise Misshapen(
        (document.problem(code, text, at, hint, key=key) for at, code, text, hint, key in found),
        (at for at, *_ in found),
    )


def salvage(
    document: Document, shape: type[T], fill: Mapping[str, Any] = MappingProxyType({})
) -> tuple[T | None, Document, tuple[Problem, ...]]:
    """Return the values as a shape without what is wrong in them, and all that is wrong.

    ``fill`` stands in for keys at the top that the shape needs. Nobody uses a file that lost
    something: what is left of it is there so that the problems of the rest are told in the same
    go. It is None where nothing can be made of the rest. The document knows what it lost.
    """
    problems: tuple[Problem, ...] = ()
    left = document
    while True:
        try:
            return structure(left, shape), left, problems
        except Misshapen as error:
            problems = problems or error.problems
            lost = {_taken(document, left.spelt(path), left.lost) for path in error.paths}
        if () in lost or lost <= left.lost:
            return None, left, problems
        lost |= left.lost
        data = {**fill, **_without(document.data, (), lost)}
        left = evolve(document, data=data, lost=frozenset(lost))


def _taken(document: Document, path: KeyPath, lost: Container[KeyPath]) -> KeyPath:
    """Return what has to go for what is wrong at a path: where a key is missing, all around it.

    A key that was ``lost`` before is missing.
    """
    value: Any = document.data
    for i, part in enumerate(path):
        there = part in value if isinstance(value, dict) else isinstance(value, list)
        if not there or path[: i + 1] in lost:
            return path[:i] if i else path
        value = value[part]
    return path


def _without(value: Any, path: KeyPath, lost: Container[KeyPath]) -> Any:
    if isinstance(value, dict):
        pairs = ((key, inner, (*path, key)) for key, inner in value.items())
        return {key: _without(inner, at, lost) for key, inner, at in pairs if at not in lost}
    if isinstance(value, list):
        items = ((inner, (*path, i)) for i, inner in enumerate(value))
        return [_without(inner, at, lost) for inner, at in items if at not in lost]
    return value


class Misshapen(InputError):
    """Values that are not of the shape; ``paths`` says where, in the order of the problems."""

    def __init__(self, problems: Iterable[Problem], paths: Iterable[KeyPath]) -> None:
        super().__init__(problems)
        self.paths = tuple(paths)


def _problems(error: BaseException, path: KeyPath) -> Iterator[tuple[KeyPath, str, str, str, bool]]:
    """Yield path, code, message, hint and whether the key is meant, for all that was raised."""
    if isinstance(error, ClassValidationError):
        noted, bare = error.group_exceptions()
        for inner, note in noted:
            yield from _problems(inner, (*path, note.name))
        for other in bare:
            yield from _problems(other, path)
    elif isinstance(error, IterableValidationError):
        elements, bare = error.group_exceptions()
        for inner, at in elements:
            yield from _problems(inner, (*path, at.index))
        for other in bare:
            yield from _problems(other, path)
    elif isinstance(error, ForbiddenExtraKeysError):
        known = [a.name for a in attrs.fields(error.cl)]
        for key in sorted(error.extra_fields):
            hint = near(key, known) or f"the keys here are {_listed(known)}"
            message = f"unknown key `{quoted(key)}`"
            yield (*path, key), "unknown-key", message, hint, True
    elif isinstance(error, KeyError):
        message = f"the key `{path[-1]}` is missing"
        yield path, "missing-key", message, "add it", True
    elif isinstance(error, _Wrong):
        yield path, error.code, error.message, error.hint, False
    else:
        raise error


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def quoted(text: str) -> str:
    """Return what was given as it may be shown: short, on one line, nothing invisible."""
    short = text if len(text) <= 60 else f"{text[:60]}…"
    return short if short.isprintable() else short.encode("unicode_escape").decode()


def described(value: object) -> str:
    """Say what a value is, as its author would."""
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case int():
            return f"the number `{value}`" if abs(value) < 10**12 else "a large number"
        case float():
            return f"the number `{value}`"
        case str():
            return f"the text `{quoted(value)}`"
        case Mapping():
            return "a table"
        case list():
            return "a list"
        case datetime.date() | datetime.time():
            return "a date or time"
    return "nothing" if value is None else "something else"


def _text(value: Any, _: Any) -> str:
    if type(value) is not str:
        raise _Wrong("wrong-type", f"expected text in quotes, got {described(value)}")
    return value


def _whole(value: Any, _: Any) -> int:
    if type(value) is not int:
        raise _Wrong("wrong-type", f"expected a whole number, got {described(value)}")
    return value


def _truth(value: Any, _: Any) -> bool:
    if type(value) is not bool:
        hint = "write it without quotes" if value in ("true", "false") else ""
        raise _Wrong("wrong-type", f"expected `true` or `false`, got {described(value)}", hint)
    return value


def _word(value: Any, words: type[StrEnum]) -> StrEnum:
    known = words._value2member_map_
    if type(value) is str and value in known:
        return known[value]  # type: ignore[return-value]
    listed = [f"`{w}`" for w in words]
    wanted = f"expected {', '.join(listed[:-1])} or {listed[-1]}"
    if type(value) is not str:
        raise _Wrong("wrong-type", f"{wanted}, got {described(value)}")
    hint = near(value, map(str, words))
    raise _Wrong("unknown-value", f"{wanted}, got `{quoted(value)}`", hint)


_STR = frozenset((str,))


def _texts(value: Any, _: Any) -> tuple[str, ...]:
    if type(value) is list and _STR.issuperset(map(type, value)):
        return tuple(value)
    return tuple(_list(value, _text, str))


def _list(value: Any, inner: Hook, of: Any) -> list[Any]:
    if type(value) is not list:
        hint = ""
        if type(value) is str:
            hint = f'write it as a list: `["{value}"]`'
        elif type(value) is dict:
            hint = 'a name with a dot in it is written in quotes: `"git.push" = [...]`'
        raise _Wrong("wrong-type", f"expected a list, got {described(value)}", hint)
    return _each(enumerate(value), inner, of)


def _each(items: Any, inner: Hook, of: Any) -> list[Any]:
    done, wrong = [], []
    for index, item in items:
        try:
            done.append(inner(item, of))
        except Exception as error:
            error.add_note(IterableValidationNote("", index, of))
            wrong.append(error)
    if wrong:
        raise IterableValidationError("", wrong, list)
    return done


def _lists(converter: Converter) -> Callable[[Any], Hook]:
    def make(shape: Any) -> Hook:
        of = shape.__args__[0]
        inner = converter.get_structure_hook(of)

        def lists(value: Any, _: Any) -> tuple[Any, ...]:
            return tuple(_list(value, inner, of))

        return lists

    return make


def _table(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        hint = "a header in double brackets makes a list of tables" if type(value) is list else ""
        raise _Wrong("wrong-type", f"expected a table, got {described(value)}", hint)
    return value


def _tables(converter: Converter) -> Callable[[Any], Hook]:
    def make(shape: Any) -> Hook:
        of = shape.__args__[1]
        if of is Any:
            return lambda value, _: _table(value)
        inner = converter.get_structure_hook(of)

        def tables(value: Any, _: Any) -> dict[str, Any]:
            table = _table(value)
            return dict(zip(table, _each(table.items(), inner, of), strict=True))

        return tables

    return make


def _optional(converter: Converter) -> Callable[[Any], Hook]:
    """TOML has no nothing, so what may be absent is of its type when it is there."""

    def make(shape: Any) -> Hook:
        of = next(t for t in shape.__args__ if t is not type(None))
        inner = converter.get_structure_hook(of)
        return lambda value, _: inner(value, of)

    return make


def _classes(converter: Converter) -> Callable[[Any], Hook]:
    def make(cls: Any) -> Hook:
        attrs.resolve_types(cls)
        limited: dict[str, Any] = {
            a.name: override(struct_hook=_limited(converter.get_structure_hook(a.type), limits))
            for a in attrs.fields(cls)
            if (limits := {k: n for k, n in a.metadata.get("limits", {}).items() if k in _BOUNDS})
        }
        inner = make_dict_structure_fn(
            cls,
            converter,
            _cattrs_forbid_extra_keys=True,
            _cattrs_detailed_validation=True,
            **limited,
        )
        shorthand = getattr(cls, "SHORTHAND", None)

        def hook(value: Any, of: Any) -> Any:
            if shorthand is not None and type(value) is str:
                value = {shorthand: value}
            return inner(_table(value), of)

        return hook

    return make


#: Limits of single values, spelt as JSON Schema spells them; those of sizes are checked later.
_BOUNDS = frozenset({"minimum", "maximum", "minLength"})


def _limited(inner: Hook, limits: Mapping[str, int]) -> Hook:
    """Return a hook that also refuses what lies beyond limits."""
    least, most, short = (limits.get(k) for k in ("minimum", "maximum", "minLength"))

    def hook(value: Any, of: Any) -> Any:
        made = inner(value, of)
        if short is not None and isinstance(value, str) and not value.strip():
            raise _Wrong("over-limit", "expected a text that says something, got an empty one")
        if type(value) is int and not (least or 0) <= value <= (value if most is None else most):
            bounds = f"{least} or more" if most is None else f"{least} to {most}"
            raise _Wrong("over-limit", f"expected {bounds}, got {described(value)}")
        return made

    return hook


def _origin(shape: Any) -> Any:
    return getattr(shape, "__origin__", None)


def _make() -> Converter:
    converter = Converter(detailed_validation=True, forbid_extra_keys=True)
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook(bool, _truth)
    converter.register_structure_hook(int, _whole)
    converter.register_structure_hook(StrEnum, _word)
    converter.register_structure_hook_factory(lambda t: _origin(t) is tuple, _lists(converter))
    converter.register_structure_hook_func(lambda t: t == tuple[str, ...], _texts)
    converter.register_structure_hook_factory(lambda t: _origin(t) is Mapping, _tables(converter))
    converter.register_structure_hook_factory(
        lambda t: isinstance(t, UnionType) and type(None) in t.__args__, _optional(converter)
    )
    converter.register_structure_hook_factory(
        lambda t: isinstance(t, type) and attrs.has(t), _classes(converter)
    )
    return converter


_converter = _make()


@cache
def _hook(shape: type) -> Hook:
    return _converter.get_structure_hook(shape)
