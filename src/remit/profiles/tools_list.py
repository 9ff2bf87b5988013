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
from remit.profiles.document import Document, Findings
from remit.profiles.names import SOURCE_NAME, TOOL_NAME
from remit.profiles.positions import KeyPath
from remit.profiles.source import JSON_BYTES, Source, decode
from remit.profiles.structure import described, quoted

__all__ = ["parse_tools_list"]


class _Twice(ValueError):
    """An object holds a key twice."""


def parse_tools_list(
    text: Source, source: str | None = None, natives: Collection[str] = ()
) -> tuple[list[Tool], tuple[Problem, ...]]:
    """Return the tools of a bare list or of ``{"tools": [...]}``; raises `InputError`.

    A tool whose name cannot be used, or is one of ``natives``, is left out with a warning: nobody
    can call it then.
    """
    document = Document(text, _values(text), json=True)
    found = Findings(document)
    name = PurePath(text.file).stem if source is None else source
    if not SOURCE_NAME.fullmatch(name) or name in RESERVED_SOURCES:
        message = f"`{quoted(name)}` may not be the name of a source"
        found.report("bad-source", message, (), "give the file another name")
    data: Any = document.data
    listed, at = (data.get("tools"), ("tools",)) if isinstance(data, dict) else (data, ())
    if not isinstance(listed, list):
        message = f"expected a list of tools, got {described(listed)}"
        found.report("bad-tool-list", message, at, 'write `{"tools": [...]}`, or the list alone')
        raise InputError(found.problems)
    tools = []
    for i, entry in enumerate(listed):
        path: KeyPath = (*at, i)
        tool = entry.get("name") if isinstance(entry, dict) else entry
        if not isinstance(entry, dict) or not isinstance(tool, str):
            message = f"expected a tool with a name, got {described(tool)}"
            found.report("bad-tool-list", message, path, 'write `{"name": "..."}` for each')
        elif not TOOL_NAME.fullmatch(tool):
            message = f"`{quoted(tool)}` is no name of a tool, so it is left out"
            hint = "up to 128 letters, digits and `_.:/-`"
            found.report("bad-tool-name", message, (*path, "name"), hint, Severity.WARNING)
        elif tool in natives:
            message = f"`{tool}` is the name of a native verb, so the tool is left out"
            hint = "native verbs are served by remit alone"
            found.report("native-name", message, (*path, "name"), hint, Severity.WARNING)
        else:
            tools.append(Tool(name, tool, declared=False, where=document.at((*path, "name"))))
    return tools, tuple(found.problems)


def _values(text: Source) -> Any:
    decode(text.text.encode(), text.file, JSON_BYTES)
    try:
        return json.loads(text.text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        message = f"the text is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        where = Position(text.file, error.lineno, error.colno)
        raise InputError(Problem("json-syntax", message, "", where)) from None
    except _Twice:
        raise _twice(text) from None
    except RecursionError:
        message = "lists and objects nest too deep"
        raise InputError(Problem("too-deep", message, "", Position(text.file))) from None
    except ValueError:
        message = "a number has more digits than can be read"
        raise InputError(Problem("number-too-large", message, "", Position(text.file))) from None


def _twice(text: Source) -> InputError:
    document = Document(text, {}, json=True)
    again = document.located.again
    path, offset = again if again else ((), 0)
    message = f"the key `{quoted(str(path[-1] if path else ''))}` is given twice"
    first = document.at(path, key=True)
    hint = f"the first one is in line {first.line}; keep one of them"
    where = Position(text.file, *document.located.line_column(offset))
    return InputError(Problem("duplicate-key", message, hint, where, ""))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise _Twice
    return values


def _constant(word: str) -> Any:
    raise json.JSONDecodeError(f"`{word}` is not a number", "", 0)
