"""Catalogues that are learnt: what a server says of its tools, written down for a person to judge.

A tool is undeclared until somebody gives it effects, so nothing that a server says of itself is
believed: what it suggests stands in comments, and what it says is pinned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from remit.policy.escape import escape
from remit.policy.tools import Learnt, Tool
from remit.policy.vocabulary import Tier
from remit.profiles.source import TOML_BYTES
from remit.profiles.writer import tool_data

__all__ = ["Found", "learnt_catalog", "suggested"]

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_HEAD = """\
# What {command} says of its tools; nothing here is believed.
#
# A tool is undeclared until it has `effects`: hidden in read-only modes, asked for elsewhere. Read
# what it says, look at what it does, and take the `#` from the lines above its hash, changed to the
# worst that a call can do. `remit effects` lists the effect classes, `remit check` reads this file.
# A tool that says something else one day is undeclared again.
"""


@frozen
class Found:
    """A tool as a server lists it; ``shipped`` is the declaration of a catalogue that knows it."""

    name: str
    learnt: Learnt
    hints: Mapping[str, Any]
    shipped: Tool | None = None


def suggested(found: Found) -> Tool:
    """Return what a tool could be declared as, by what is said of it; the worse where in doubt."""
    if found.shipped is not None:
        return found.shipped
    hints = found.hints
    reaches = hints.get("openWorldHint", True) is not False
    effects = ["network.egress"] if reaches else []
    if hints.get("readOnlyHint") is True:
        return Tool("", found.name, Tier.READ, effects)
    effects += ["vendor.write"] if reaches else ["worktree.write"]
    if hints.get("destructiveHint", True) is not False:
        effects += [] if reaches else ["file.delete", "file.write_outside"]
        return Tool("", found.name, Tier.EXECUTE, effects)
    return Tool("", found.name, Tier.WRITE, effects)


def learnt_catalog(
    source: str, command: str, tools: Iterable[Found], requests: Iterable[str] = ()
) -> str:
    """Return the text of a catalogue of what a server lists.

    ``requests`` are those besides calls that it answers, such as ``resources/read``. Where the
    words of all tools are more than a file may hold, their hashes alone are kept.
    """
    tools, requests = tuple(tools), tuple(requests)
    text = _text(source, command, tools, requests)
    if len(text.encode()) > TOML_BYTES:
        bare = (evolve(t, learnt=Learnt(t.learnt.hash)) for t in tools)
        text = _text(source, command, tuple(bare), requests)
    return text


def _text(source: str, command: str, tools: Iterable[Found], requests: Iterable[str]) -> str:
    blocks = [_HEAD.format(command=f"`{escape(command)}`"), _toml({"source": source})]
    blocks += ["".join(_table(found)) for found in tools]
    blocks += [f'# [tools."{name}"]\n# tier = "read"\n# effects = []\n' for name in requests]
    return "\n".join(blocks)


def _table(found: Found) -> Iterator[str]:
    yield _toml({"tools": {found.name: {}}})
    said = [f"{h} = {str(found.hints[h]).lower()}" for h in _HINTS if h in found.hints]
    yield f"# it says: {escape(', '.join(said))}\n" if said else "# it says nothing of itself\n"
    declared = suggested(found)
    if found.shipped is not None:
        yield f"# as the catalogue `{found.shipped.source}` declares a tool of this name\n"
    keys = tool_data(evolve(declared, verb=False, exit=False, learnt=None))
    tables = {k: keys.pop(k) for k in tuple(keys) if isinstance(keys[k], Mapping)}
    lines = _toml(keys).splitlines()
    # Dotted, because a table of its own would take in what comes after it.
    lines += [f"{k}.{_toml({at: v}).rstrip()}" for k, t in tables.items() for at, v in t.items()]
    yield "".join(f"# {line}\n" for text in lines for line in text.splitlines())
    yield from _learnt(found.learnt)


def _learnt(learnt: Learnt) -> Iterator[str]:
    yield _toml({"hash": learnt.hash})
    if learnt.schema is not None and _writable(learnt.description or ""):
        if learnt.description is not None:
            yield _toml({"description": learnt.description})
        yield _toml({"schema": learnt.schema})


def _writable(text: str) -> bool:
    """Say whether TOML can hold a text: it has no halves of surrogate pairs."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _toml(data: Mapping[str, Any]) -> str:
    import tomli_w

    return tomli_w.dumps(data)
