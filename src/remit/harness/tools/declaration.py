"""What a tool of the built-in harness is: a name, what it takes, and a function that serves it.

The arguments of a tool are one attrs class. Its fields say types, bounds and meaning, and both the
JSON Schema that the model sees and the check of what it sends are made from them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, TypeVar, get_args, get_origin

import attrs
from attrs import field, frozen

from remit.harness.tools.desk import Desk, Halted, Refused
from remit.policy.escape import escape, quoted
from remit.policy.problems import RemitError, near

__all__ = ["HarnessTool", "Result", "says"]

A = TypeVar("A")


@frozen
class Result:
    """What a call came to: text for the model, and the same facts as data for whoever shows it."""

    text: str
    is_error: bool = False
    data: Mapping[str, Any] = field(factory=dict)


def says(doc: str, **more: Any) -> Any:
    """Declare an argument: its meaning, ``default``, and ``least`` and ``most`` of its size.

    The size of a text is counted in characters, that of a list in items.
    """
    given = {k: more.pop(k) for k in ("default", "factory") if k in more}
    return field(metadata={"doc": doc, **more}, **given)


@frozen(slots=False)
class HarnessTool(Generic[A]):
    """One tool. ``act`` blocks, looks at ``desk.cancelled`` and may raise what it likes."""

    name: str
    description: str
    takes: type[A]
    act: Callable[[A, Desk], Result]

    @cached_property
    def input_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of its arguments."""
        return _table(self.takes)

    def check(self, args: Mapping[str, Any]) -> tuple[A | None, tuple[str, ...]]:
        """Return the arguments as the tool takes them, or everything that is wrong with them."""
        value, wrong = _read(self.takes, args, "")
        return (None, wrong) if wrong else (value, ())

    def run(self, args: Mapping[str, Any], desk: Desk) -> Result:
        """Serve a call; whatever goes wrong is an error result, never an exception."""
        try:
            value, wrong = self.check(args)
            if value is None:
                listed = "; ".join(wrong)
                return self._failed(f"did nothing: {listed}", "bad-arguments")
            desk.halt()
            return self.act(value, desk)
        except Refused as error:
            return self._failed(f"did nothing: {error}", error.why)
        except Halted:
            return self._failed("was interrupted", "interrupted")
        except RemitError as error:
            first = error.problems[0]
            hint = f" ({first.hint})" if first.hint else ""
            return self._failed(f"failed: {first.message}{hint}", first.code)
        except (
            Exception
        ) as error:  # a crash of a tool is an answer to the model, not the loop's end
            why = (error.strerror or "") if isinstance(error, OSError) else str(error)
            what = f"{type(error).__name__}: {why}".strip(": ")
            return self._failed(f"failed: {escape(what[:300])}", "crashed")

    def _failed(self, text: str, why: str) -> Result:
        return Result(f"`{self.name}` {text}", True, {"why": why})


def _table(shape: type) -> dict[str, Any]:
    attrs.resolve_types(shape)
    keys = attrs.fields(shape)
    required = [k.name for k in keys if k.default is attrs.NOTHING]
    table: dict[str, Any] = {
        "type": "object",
        "properties": {k.name: _key(k) for k in keys},
        "additionalProperties": False,
    }
    return table | ({"required": required} if required else {})


def _key(key: attrs.Attribute[Any]) -> dict[str, Any]:
    said = {**_schema(key.type), "description": key.metadata["doc"]}
    least, most = _BOUNDS[said.get("type", "string")]
    said |= {n: key.metadata[k] for k, n in (("least", least), ("most", most)) if k in key.metadata}
    if isinstance(key.default, bool | int | str) and key.default != "":
        said["default"] = key.default
    return said


_BOUNDS = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "boolean": ("", ""),
}


def _schema(of: Any) -> dict[str, Any]:
    if isinstance(of, types.UnionType):
        return _schema(_present(of))
    if get_origin(of) is tuple:
        return {"type": "array", "items": _schema(get_args(of)[0])}
    if issubclass(of, StrEnum):
        return {"type": "string", "enum": [word.value for word in of]}
    if attrs.has(of):
        return _table(of)
    return {"type": {str: "string", int: "integer", bool: "boolean"}[of]}


def _present(of: Any) -> Any:
    """Return what an argument is where it is given."""
    union = isinstance(of, types.UnionType)
    return next(t for t in get_args(of) if t is not type(None)) if union else of


def _read(shape: type, given: Any, path: str) -> tuple[Any, tuple[str, ...]]:
    """Return a table as its class, and all that is wrong with it."""
    attrs.resolve_types(shape)
    if not isinstance(given, Mapping):
        return None, (f"`{path or 'arguments'}` is to be an object",)
    keys = {k.name: k for k in attrs.fields(shape)}
    wrong = [_unknown(name, path, keys) for name in given if name not in keys]
    values = {}
    for name, key in keys.items():
        at = f"{path}{name}"
        # Some models send null for what they leave out.
        if given.get(name) is None:
            if key.default is attrs.NOTHING:
                wrong.append(f"`{at}` is missing")
            continue
        values[name], found = _value(_present(key.type), given[name], at)
        wrong += found
        if not found:
            wrong += _bounded(key.metadata, values[name], at)
    return (None if wrong else shape(**values)), tuple(wrong)


def _unknown(name: Any, path: str, keys: Mapping[str, Any]) -> str:
    known = ", ".join(f"`{k}`" for k in keys) or "none"
    return f"unknown argument {quoted(f'{path}{name}')} ({near(str(name), keys) or known})"


def _value(of: Any, given: Any, at: str) -> tuple[Any, tuple[str, ...]]:
    if get_origin(of) is tuple:
        if not isinstance(given, list | tuple):
            return None, (f"`{at}` is to be a list",)
        read = [_value(get_args(of)[0], one, f"{at}[{i}]") for i, one in enumerate(given)]
        return tuple(v for v, _ in read), tuple(w for _, wrong in read for w in wrong)
    if attrs.has(of):
        return _read(of, given, f"{at}.")
    if issubclass(of, StrEnum):
        if given in [word.value for word in of]:
            return of(given), ()
        words = ", ".join(f"`{word.value}`" for word in of)
        return None, (f"`{at}` is to be one of {words}",)
    if not isinstance(given, of) or (of is int and isinstance(given, bool)):
        said = {str: "text", int: "a whole number", bool: "true or false"}[of]
        return None, (f"`{at}` is to be {said}",)
    if of is str and any("\ud800" <= c <= "\udfff" for c in given):
        return None, (f"`{at}` holds half of a surrogate pair, which is no text",)
    return given, ()


def _bounded(metadata: Mapping[str, Any], value: Any, at: str) -> Iterator[str]:
    least, most = metadata.get("least"), metadata.get("most")
    size = value if isinstance(value, int) else len(value)
    what = "" if isinstance(value, int) else (" long" if isinstance(value, str) else " items")
    if least is not None and size < least:
        yield f"`{at}` is to be at least {least}{what}, got {size}"
    if most is not None and size > most:
        yield f"`{at}` is to be at most {most}{what}, got {size}"
