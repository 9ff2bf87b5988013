"""Lines of the client that are no messages: each is answered with the error that JSON-RPC has."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types
from mcp_types import JSONRPCError
from pydantic_core import from_json

__all__ = ["refusal"]


def refusal(line: bytes) -> JSONRPCError | None:
    """Return the answer to a line that is no message; None for what looks like an answer itself.

    Two ends that answered each other's answers would never be done.
    """
    try:
        said = from_json(line)
    except ValueError as wrong:
        why = str(wrong).partition(" at line ")[0]
        return _error(None, types.PARSE_ERROR, f"the line cannot be read as JSON: {why}")
    if not isinstance(said, Mapping):
        what = "a batch is not taken" if isinstance(said, list) else "a message is an object"
        return _error(None, types.INVALID_REQUEST, what)
    if "method" not in said and ("result" in said or "error" in said):
        return None
    id = said.get("id")
    known = id if isinstance(id, str | int) and not isinstance(id, bool) else None
    return _error(known, types.INVALID_REQUEST, _why(said, known))


def _why(said: Mapping[str, object], id: str | int | None) -> str:
    if said.get("jsonrpc") != "2.0":
        return '`jsonrpc` must be "2.0"'
    if not isinstance(said.get("method"), str):
        return "`method` must be a text"
    if "id" in said and id is None:
        return "`id` must be a text or a whole number"
    if not isinstance(said.get("params", {}), Mapping):
        return "`params` must be an object"
    return "the line is no message of JSON-RPC 2.0"


def _error(id: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=types.ErrorData(code=code, message=message))
