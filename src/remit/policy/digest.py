"""Digests: what an approval is bound to, and the one form in which values are hashed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["call_digest", "canonical", "digest", "tool_digest"]


def canonical(value: object) -> str:
    """Return JSON with one spelling for equal values: sorted keys, no spaces, ASCII alone.

    ASCII, because text of a model may hold halves of surrogate pairs, which have no UTF-8.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(value: object) -> str:
    """Return the SHA-256 of a value's canonical form, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def call_digest(
    *,
    source: str,
    tool: str,
    tool_hash: str,
    args: Mapping[str, Any],
    cwd: str | None,
    effects: Iterable[str],
    revision: int,
) -> str:
    """Return what an approval of one call is bound to (design section 6).

    ``tool_hash`` stands for the tool's description and schema as the model saw them, ``revision``
    for the mode of the space: a tool or a mode that changed needs a new approval.
    """
    return digest(
        {
            "source": source,
            "tool": tool,
            "tool_hash": tool_hash,
            "args": args,
            "cwd": cwd,
            "effects": sorted(effects),
            "revision": revision,
        }
    )


def tool_digest(name: str, description: object, schema: object) -> str:
    """Return what a tool's word of itself comes to: its name, description and schema of arguments.

    It is what a catalogue pins, and what an approval of a call is bound to.
    """
    return digest([name, description, schema])
