"""The table of wrappers: one row each, checked strictly."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from remit.plugins.shell.argv import Grammar
from remit.policy.problems import InputError, Position, Problem, near
from remit.policy.vocabulary import EFFECTS

__all__ = ["Row", "parse_rows", "rows"]

_STYLES = frozenset({"words", "text", "lines", "shell", "each", "code", "unread", "powershell"})


@frozen
class Row:
    """One wrapper.

    ``style`` says what follows its options and its first ``skip`` operands: ``words`` of a command,
    ``text`` that is joined to shell code, a ``shell`` that takes code with ``-c``, words to which
    ``each`` line of standard input is added, or code that stays ``unread``. ``direct`` options make
    joined text plain words again. ``effects`` are its own, ``bare`` those without a command.
    ``inside`` says that it runs on another machine, which its first operand names, or in a
    container.
    """

    name: str
    style: str = "words"
    grammar: Grammar = field(factory=Grammar)
    skip: int = 0
    assignments: bool = False
    folder: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    inside: bool = False
    quiet: tuple[str, ...] = ()
    subs: Mapping[str, Row] = field(factory=dict)
    target: str = ""
    direct: tuple[str, ...] = ()


_KEYS = frozenset(
    [
        "style",
        "values",
        "optional",
        "skip",
        "assignments",
        "folder",
        "code",
        "writes",
        "reads",
        "effects",
        "bare",
        "inside",
        "quiet",
        "names",
        "target",
        "plus",
        "like",
        "flags",
        "permute",
        "cluster",
        "direct",
    ]
)


def _row(name: str, raw: Mapping[str, Any], subs: Mapping[str, Row]) -> Row:
    def listed(key: str) -> tuple[str, ...]:
        return tuple(str(raw.get(key, "")).split())

    takes = dict.fromkeys((*listed("values"), *listed("folder"), *listed("code")), 1)
    takes |= dict.fromkeys((*listed("writes"), *listed("reads")), 1)
    takes |= dict.fromkeys(listed("optional"), 2)
    return Row(
        name=name,
        style=raw.get("style", "words"),
        grammar=Grammar(
            takes,
            frozenset(listed("flags")),
            cluster=raw.get("cluster", True),
            stop=not raw.get("permute", False),
            plus=raw.get("plus", False),
        ),
        skip=raw.get("skip", 0),
        assignments=raw.get("assignments", False),
        folder=listed("folder"),
        code=listed("code"),
        writes=listed("writes"),
        reads=listed("reads"),
        effects=listed("effects"),
        bare=listed("bare"),
        inside=raw.get("inside", False),
        quiet=listed("quiet"),
        subs=subs,
        target=raw.get("target", ""),
        direct=listed("direct"),
    )


def parse_rows(text: str, file: str = "wrappers.toml") -> Mapping[str, Row]:
    """Parse the table of wrappers; raises `InputError` with every problem."""
    raw = tomllib.loads(text)
    problems = []
    for name, table in raw.items():
        for key in table.keys() - _KEYS:
            hint = near(key, _KEYS)
            problems.append(
                Problem("wrapper-table", f"unknown key `{key}`", hint, Position(file), name)
            )
        if table.get("style", "words") not in _STYLES:
            problems.append(
                Problem(
                    "wrapper-table",
                    f"unknown style `{table['style']}`",
                    "",
                    Position(file),
                    name,
                )
            )
        for effect in f"{table.get('effects', '')} {table.get('bare', '')}".split():
            if effect not in EFFECTS and effect != "opaque":
                hint = near(effect, EFFECTS)
                what = f"unknown effect class `{effect}`"
                problems.append(Problem("wrapper-table", what, hint, Position(file), name))
    if problems:
        raise InputError(problems)
    named: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, table in raw.items():
        for one in (name, *str(table.get("names", "")).split(",")):
            if one.strip():
                named[one.strip()] = (name, table)
    # A row of several words is a subcommand of the rows before its last word.
    for one in list(named):
        while " " in one:
            one = one.rpartition(" ")[0]
            named.setdefault(one, (one, {}))

    def build(one: str) -> Row:
        subs = {
            other.rpartition(" ")[2]: build(other)
            for other in named
            if other.rpartition(" ")[0] == one
        }
        return _row(one, named[one][1], subs)

    return MappingProxyType({one: build(one) for one in named if " " not in one})


@cache
def rows() -> Mapping[str, Row]:
    """Return the table that we ship."""
    text = files("remit.plugins").joinpath("programs/wrappers.toml").read_text("utf-8")
    return parse_rows(text)
