"""Tool lists: the answer of an MCP server to ``tools/list``, as JSON.

A list says which tools there are and, in annotations that nobody has to keep, what they claim to
be. So each tool of it is undeclared.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import PurePath
from typing import Any

from remit.policy.problems import InputError, Position, Problem, Severity
from remit.policy.selectors import RESERVED_SOURCES
from remit.policy.tools import Tool
from remit.profiles.names import SOURCE_NAME, TOOL_NAME
from remit.profiles.source import JSON_BYTES, Source, decode
from remit.profiles.structure import described, quoted

__all__ = ["parse_tools_list"]


class _Twice(ValueError):
    """A key that an object holds twice."""


def parse_tools_list(
    text: Source, source: str | None = None, natives: Collection[str] = ()
) -> tuple[list[Tool], tuple[Problem, ...]]:
    """Return the tools of a bare list or of ``{"tools": [...]}``; raises `InputError`.

    A tool whose name cannot be used, or is one of ``natives``, is left out with a warning: nobody
    can call it then.
    """
    name = PurePath(text.file).stem if source is None else source
    if not SOURCE_NAME.fullmatch(name) or name in RESERVED_SOURCES:
        message = f"`{quoted(name)}` may not be the name of a source"
        raise _wrong(text, "bad-source", message, "give the file another name")
    data = _values(text)
    listed, path = (data.get("tools"), "tools") if isinstance(data, dict) else (data, "")
    if not isinstance(listed, list):
        message = f"expected a list of tools, got {described(listed)}"
        raise _wrong(text, "bad-tool-list", message, 'write `{"tools": [...]}`, or the list alone')
    tools, problems = [], []
    for i, entry in enumerate(listed):
        tool = entry.get("name") if isinstance(entry, dict) else entry
        at = Position(text.file)
        if not isinstance(entry, dict) or not isinstance(tool, str):
            message = f"expected a tool with a name, got {described(tool)}"
            problems.append(Problem("bad-tool-list", message, "", at, f"{path}[{i}]"))
        elif not TOOL_NAME.fullmatch(tool):
            message = f"`{quoted(tool)}` is no name of a tool, so it is left out"
            hint = "up to 128 letters, digits and `_.:/-`"
            place = f"{path}[{i}].name"
            problems.append(Problem("bad-tool-name", message, hint, at, place, Severity.WARNING))
        elif tool in natives:
            message = f"`{tool}` is the name of a native verb, so the tool is left out"
            place = f"{path}[{i}].name"
            problems.append(Problem("native-name", message, "", at, place, Severity.WARNING))
        else:
            tools.append(Tool(name, tool, declared=False, where=at))
    return tools, tuple(problems)


def _values(text: Source) -> Any:
    decode(text.text.encode(), text.file, JSON_BYTES)
    try:
        return json.loads(text.text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        message = f"the text is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise _wrong(text, "json-syntax", message, "", error.lineno, error.colno) from None
    except _Twice as error:
        message = f"the key `{quoted(str(error))}` is given twice"
        raise _wrong(text, "duplicate-key", message, "keep one of them") from None
    except RecursionError:
        raise _wrong(text, "too-deep", "lists and objects nest too deep") from None
    except ValueError:
        message = "a number has more digits than can be read"
        raise _wrong(text, "number-too-large", message) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise _Twice(key)
        values[key] = value
    return values


def _constant(word: str) -> Any:
    raise json.JSONDecodeError(f"`{word}` is not a number", "", 0)


def _wrong(
    text: Source, code: str, message: str, hint: str = "", line: int = 0, column: int = 0
) -> InputError:
    return InputError(Problem(code, message, hint, Position(text.file, line, column)))
