"""What passes between the two sides of the gateway: plain functions over wire values.

Everything is relayed as it came, but for what belongs to one side's own connection: keys of the
protocol in ``_meta`` and the envelope of a result differ between the two eras of MCP, which meet
here in any combination.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import mcp_types as types
from attrs import frozen
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from remit.policy.escape import quoted
from remit.policy.problems import Problem, Severity
from remit.policy.tools import Learnt
from remit.profiles.names import TOOL_NAME

__all__ = [
    "LiveTool", "admitted", "fits", "fitting", "foreign_free", "modern", "result_for",
    "said", "text_block",
]  # fmt: skip

#: The prefix of keys in ``_meta`` that belong to one connection.
_PROTOCOL = "io.modelcontextprotocol/"
#: What only a modern result has.
_MODERN = ("resultType", "ttlMs", "cacheScope")
#: The next request may see another surface, so nobody is to keep this one.
_FRESH = {"ttlMs": 0, "cacheScope": "private"}


def modern(version: str) -> bool:
    """Say whether a protocol version is of the era without a handshake."""
    return version in MODERN_PROTOCOL_VERSIONS


@frozen
class LiveTool:
    """A tool as the upstream lists it now; ``learnt`` is what it says of itself."""

    raw: Mapping[str, Any]
    learnt: Learnt

    @property
    def hash(self) -> str:
        """What stands for all that it says: its name, description and schema."""
        return self.learnt.hash

    @property
    def name(self) -> str:
        """The name that the upstream knows it by."""
        return str(self.raw["name"])

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> LiveTool:
        """Return the tool of what was listed, without the protocol's own keys."""
        said = Learnt.of(raw["name"], raw.get("description"), raw.get("inputSchema"))
        return cls(foreign_free(raw), said)


def foreign_free(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a wire value whose ``_meta`` holds nothing of the connection that it came by."""
    kept = dict(value)
    meta = kept.get("_meta")
    if isinstance(meta, Mapping):
        own = {
            k: v for k, v in meta.items() if not k.startswith(_PROTOCOL) and k != "progressToken"
        }
        if own:
            kept["_meta"] = own
        else:
            del kept["_meta"]
    return kept


def admitted(
    server: str, listed: Iterable[Any], taken: Iterable[str]
) -> tuple[tuple[LiveTool, ...], tuple[Problem, ...]]:
    """Return the listed tools that can be served, and a problem for each that is left out.

    ``taken`` are names and keys that mean something else here: remit's own verbs.
    """
    kept: dict[str, LiveTool] = {}
    problems = []
    taken = frozenset(taken)
    for raw in listed:
        wrong = _left_out(server, raw, taken, kept)
        if wrong is None:
            tool = LiveTool.of(raw)
            kept[tool.name] = tool
        else:
            problems.append(wrong)
    return tuple(kept.values()), tuple(problems)


def _left_out(
    server: str, raw: Any, taken: frozenset[str], kept: Mapping[str, LiveTool]
) -> Problem | None:
    """Return why a listed tool cannot be served, None if it can."""

    def _wrong(code: str, why: str, hint: str) -> Problem:
        message = f"{why}; the server `{server}` lists it, and it was left out"
        return Problem(code, message, hint, severity=Severity.WARNING)

    name = raw.get("name") if isinstance(raw, Mapping) else None
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        why = f"{quoted(str(name))} is no tool name"
        return _wrong("bad-tool-name", why, "a name is 1 to 128 letters, digits and `_.:/-`")
    if name.startswith(f"{server}:"):
        why = f"{quoted(name)} is spelt as the source and name of another tool"
        return _wrong("bad-tool-name", why, "rename the tool, or call the server otherwise")
    if name in taken:
        why = f"tool `{name}` bears the name of a verb of remit's own"
        hint = "remit serves that verb itself; rename the tool in the server"
        return _wrong("tool-name-taken", why, hint)
    if name in kept:
        return _wrong("duplicate-tool", f"tool `{name}` is listed twice", "the first is served")
    if not _well_formed(raw):
        why = f"tool `{name}` is not listed as MCP wants it"
        hint = "it needs an object as `inputSchema`, and its other fields of the right types"
        return _wrong("tool-malformed", why, hint)
    return None


def _well_formed(raw: Mapping[str, Any]) -> bool:
    try:
        types.Tool.model_validate(raw, by_name=False)
        json.dumps(raw, allow_nan=False)
    except ValueError:
        return False
    return True


def fitting(tool: LiveTool, version: str) -> Mapping[str, Any] | None:
    """Return a tool as a client of a protocol version can read it, None where it cannot.

    One tool that does not validate makes a client refuse the whole list. Output schemas are freer
    in the modern era, so an older client may have to do without.
    """
    bare = {k: v for k, v in tool.raw.items() if k != "outputSchema"}
    for raw in (tool.raw, bare):
        if fits("tools/list", "tools", raw, version):
            return raw
    return None


def fits(method: str, key: str, entry: Mapping[str, Any], version: str) -> bool:
    """Say whether a client of a protocol version can read an entry of a list."""
    listing = {key: [entry], "resultType": "complete", **_FRESH}
    try:
        methods.validate_server_result(method, version, listing)
        json.dumps(entry, allow_nan=False)
    except ValueError:
        return False
    return True


def text_block(text: str) -> dict[str, Any]:
    """Return a content block of text."""
    return {"type": "text", "text": text}


def said(text: str, error: bool, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a result of our own."""
    result: dict[str, Any] = {"content": [text_block(text)], "isError": error}
    return result if data is None else result | {"structuredContent": dict(data)}


def result_for(
    version: str,
    raw: Mapping[str, Any],
    stamp: Callable[[], Mapping[str, Any]],
    method: str = "tools/call",
) -> dict[str, Any]:
    """Return a result in the envelope of the client's era, all else untouched.

    ``stamp`` gives what a modern result carries of us in ``_meta``.
    """
    result = foreign_free(raw)
    if not modern(version):
        for key in _MODERN:
            result.pop(key, None)
        if not isinstance(result.get("structuredContent", {}), Mapping):
            # Only an object can be sent to a legacy client; the text says the same by convention.
            del result["structuredContent"]
        return result
    if method in methods.CACHEABLE_METHODS:
        result |= _FRESH
    kind = {"resultType": "complete"} | result
    return kind | {"_meta": {**result.get("_meta", {}), **stamp()}}
