"""The parts of a command line: as JSON, and for people underlined in its text with the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from remit.cli.output import say, width
from remit.policy.escape import escape
from remit.policy.vocabulary import in_order

if TYPE_CHECKING:
    from remit.plugins.shell import Reading

__all__ = ["part_values", "show_parts"]


def part_values(reading: Reading) -> list[dict[str, Any]]:
    """Return each part with its place in the text, its effects on targets, and why."""
    return [
        {
            "text": part.text,
            "effects": list(in_order(part.effects)),
            "targets": {e: list(part.targets[e]) for e in in_order(part.effects)},
            "opaque": part.opaque,
            "why": list(part.why),
            "at": list(part.at),
        }
        for part in reading.parts
    ]


def show_parts(
    text: str, parts: Sequence[Mapping[str, Any]], says: Mapping[tuple[str, str], str] | None = None
) -> None:
    """Print the parts that do something; ``says`` has a word on an effect and one of its targets.

    The underline is coloured on a terminal; piped, it is plain text.
    """
    for part in parts:
        if not part["effects"] and not part["opaque"]:
            continue
        before, acting, behind = _cut(text, part)
        say(f"  {before}{acting}{behind}")
        click.echo("  " + " " * len(before) + click.style("~" * len(acting), fg="yellow"))
        for why in part["why"]:
            say(f"    {why}")
        for effect, targets in part["targets"].items():
            told = [t + (says or {}).get((effect, t), "") for t in targets]
            say(f"    {effect}: {', '.join(told)}")


def _cut(text: str, part: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the line that a part begins in: what is before it, it, and what is behind it.

    A part of code that stands in quotes is not a part of the text, and is shown by itself.
    """
    start, end = part["at"]
    if end > start and text[start:end] == part["text"]:
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", start)
        last = len(text) if last < 0 else last
        found = _plain(text[first:start]), _plain(text[start : min(end, last)])
        behind = _plain(text[min(end, last) : last])
        if sum(map(len, found)) + len(behind) + 2 <= max(width(), 80):
            return *found, behind
    return "", _plain(part["text"].replace("\n", " ")), ""


def _plain(text: str) -> str:
    return escape(text.replace("\t", " "))
