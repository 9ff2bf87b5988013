"""The knowledge of programs, put together: the tables that we ship and those that plugins add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from attrs import frozen

from remit.plugins.shell.builtins import BUILTINS
from remit.plugins.shell.rows import rows
from remit.plugins.shell.tables import Entry, make_entry, parse_tables
from remit.policy.problems import InputError, Position, Problem
from remit.policy.vocabulary import EFFECTS

__all__ = ["Knowledge", "extended", "knowledge"]

#: Files of the folder that hold other tables.
_OTHERS = frozenset({"places.toml", "wrappers.toml", "names.toml", "hosts.toml", "powershell.toml"})

#: A table, the name that it has there, and its file, by each name of a command.
_Raw = dict[str, tuple[dict[str, Any], str, str]]


@frozen
class Knowledge:
    """All entries by their words."""

    entries: Mapping[str, Entry]

    def get(self, name: str) -> Entry | None:
        """Return what is known of a command, None if nothing is."""
        return self.entries.get(name)


@cache
def knowledge() -> Knowledge:
    """Read the tables that we ship; raises `InputError` with every problem of all of them."""
    folder = files("remit.plugins").joinpath("programs")
    shipped = sorted((f.name, f) for f in folder.iterdir() if f.name.endswith(".toml"))
    texts = [(name, file.read_text("utf-8")) for name, file in shipped if name not in _OTHERS]
    return _build(texts, {}, EFFECTS)


def extended(
    base: Knowledge, texts: Iterable[tuple[str, str]], effects: Iterable[str]
) -> Knowledge:
    """Return what is known with more tables, (file, text) each; they may only add programs.

    Raises `InputError` with every problem, such as a program that is known already.
    """
    return _build(texts, base.entries, effects)


def _build(
    texts: Iterable[tuple[str, str]], before: Mapping[str, Entry], effects: Iterable[str]
) -> Knowledge:
    raw: _Raw = {}
    problems: list[Problem] = []
    for file, text in texts:
        try:
            for name, table in parse_tables(text, file, effects).items():
                listed = [n.strip() for n in table.get("names", "").split(",")]
                for one in (name, *filter(None, listed)):
                    problems += _taken(one, file, raw, before)
                    raw[one] = (table, name, file)
        except InputError as error:
            problems += error.problems
    entries = dict(before)

    def build(name: str, seen: tuple[str, ...] = ()) -> Entry | None:
        if name in entries:
            return entries[name]
        if name not in raw or name in seen:
            return None
        table, own, file = raw[name]
        base = None
        if "like" in table:
            base = build(table["like"], (*seen, name))
            if base is None:
                what = f"`{name}` is like `{table['like']}`, which is not described"
                problems.append(Problem("program-table", what, "", Position(file), name))
        parent = build(name.rpartition(" ")[0], (*seen, name)) if " " in name else None
        entries[name] = make_entry(own, name, table, base, parent)
        return entries[name]

    for name in raw:
        build(name)
    if problems:
        raise InputError(problems)
    return Knowledge(entries)


def _taken(name: str, file: str, raw: _Raw, before: Mapping[str, Entry]) -> Iterable[Problem]:
    """Yield why a command may not be described here: it is already, or its program is."""
    if name in raw:
        what, hint = f"`{name}` is described twice", f"the other is in `{raw[name][2]}`"
        yield Problem("program-table", what, hint, Position(file), name)
    program = name.split()[0] if name.split() else name
    if before and (program in before or program in rows() or program in BUILTINS):
        what, hint = f"`{program}` is a program that is known", "a table may only add programs"
        yield Problem("program-table", what, hint, Position(file), name)
