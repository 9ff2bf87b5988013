"""What a server said of a tool when it was reviewed, beside what it says now."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from remit.policy.digest import canonical
from remit.policy.escape import escape
from remit.policy.problems import InputError, Position, Problem
from remit.policy.tools import Catalog, Learnt, Tool
from remit.profiles.catalogs import parse_catalog
from remit.profiles.positions import locate
from remit.profiles.source import Source

__all__ = ["Difference", "difference", "repinned"]

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


def repinned(text: Source, tool: str, now: Learnt) -> str:
    """Return the text of a catalogue in which one tool is pinned to other words.

    All else stays as it is written, comments too; raises `InputError` where that cannot be done.
    """
    before = parse_catalog(text).require()
    out = text.text.replace("\r\n", "\n")
    bound = _one(before, tool)
    if bound is None or bound.learnt is None:
        raise _cannot(text, tool)
    out = _set(out, ("tools", tool, "hash"), now.hash)
    if bound.learnt.schema is None:
        now = Learnt(now.hash)
    else:
        out = _set(out, ("tools", tool, "description"), now.description)
        out = _set(out, ("tools", tool, "schema"), now.schema)
    wanted = evolve(bound, learnt=now)
    try:
        after = parse_catalog(Source(out, text.file, text.built_in)).require()
    except InputError:
        raise _cannot(text, tool) from None
    if after != Catalog([wanted if t.name == tool else t for t in before.tools]):
        raise _cannot(text, tool)
    return out


def _one(catalog: Catalog, tool: str) -> Tool | None:
    return next((t for t in catalog.tools if t.name == tool), None)


def _cannot(text: Source, tool: str) -> InputError:
    return InputError(
        Problem(
            "cannot-repin",
            f"`{tool}` cannot be pinned anew where it is written",
            "`remit catalog learn` writes the file as a whole",
            Position(text.file),
        )
    )


#: A text of TOML, in any of its four spellings.
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'", re.DOTALL
)


def _set(text: str, path: tuple[str, str, str], value: str | None) -> str:
    """Write a key of a table anew; None takes its line away."""
    spots = locate(text).spots
    line = "" if value is None else _toml({path[2]: value})
    if (spot := spots.get(path)) is None:
        at = text.find("\n", spots[(*path[:2], "hash")].key) + 1
        return text[:at] + line + text[at:] if at else f"{text}\n{line}"
    found = _STRING.match(text, spot.value)
    end = found.end() if found else spot.value
    if value is None:
        return text[: spot.key] + text[end:].lstrip(" ").removeprefix("\n")
    return text[: spot.value] + line.partition(" = ")[2].rstrip("\n") + text[end:]


def _toml(data: Mapping[str, Any]) -> str:
    import tomli_w

    return tomli_w.dumps(data)
