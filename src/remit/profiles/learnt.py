"""What a server said of a tool when it was reviewed, beside what it says now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from remit.policy.digest import canonical
from remit.policy.escape import escape
from remit.policy.tools import Learnt

__all__ = ["Difference", "difference"]

#: Characters of one side of a difference that are shown.
_WIDTH = 400


@frozen
class Difference:
    """What changed in a tool's word of itself.

    ``what`` names the parts, as the rest of a sentence; ``lines`` show each as it was and as it is,
    escaped, behind ``-`` and ``+``.
    """

    what: tuple[str, ...]
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return " and ".join(self.what)


def difference(was: Learnt, now: Learnt) -> Difference:
    """Return what differs between a pinned tool and the same tool as it is listed now.

    Where the words were not kept, it can only say that they differ.
    """
    if was.schema is None or now.schema is None:
        return Difference(
            ("its description or schema",), tuple(_lines("description", None, now.description))
        )
    parts = list(_parts(was, now))
    return Difference(
        tuple(f"its {what}" for what, _, _ in parts),
        tuple(line for what, old, new in parts for line in _lines(what, old, new)),
    )


def _parts(was: Learnt, now: Learnt) -> Iterator[tuple[str, str | None, str | None]]:
    if was.description != now.description:
        yield "description", was.description, now.description
    old, new = _object(was.schema), _object(now.schema)
    before, after = _object_of(old.pop("properties", {})), _object_of(new.pop("properties", {}))
    for name in dict.fromkeys((*before, *after)):
        was_it, is_it = before.get(name), after.get(name)
        if was_it != is_it:
            yield f"argument `{escape(name)}`", _text(was_it), _text(is_it)
    if old != new:
        yield "schema", canonical(old), canonical(new)


def _text(value: object) -> str | None:
    return None if value is None else canonical(value)


def _object(text: str | None) -> dict[str, Any]:
    return _object_of(json.loads(text or "{}"))


def _object_of(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {"": value}


def _lines(what: str, old: str | None, new: str | None) -> Iterator[str]:
    for sign, text in (("-", old), ("+", new)):
        if text is not None:
            shown = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
            yield f"{sign} {what}: {escape(shown)}"
