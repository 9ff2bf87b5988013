"""The knowledge of programs: read from one TOML file per family, checked strictly.

A file holds one table per command, named by its words: ``["git stash list"]``. What an entry can
say is what `Entry` and `Rule` hold; lists are written as one text with blanks between the items.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from remit.plugins.shell.argv import Argv, Grammar
from remit.policy.problems import InputError, Position, Problem, near
from remit.policy.vocabulary import EFFECTS

__all__ = ["ROLES", "Entry", "Rule", "make_entry", "parse_tables"]

#: What can become of an operand or of the value of an option.
ROLES = frozenset(
    [
        "text",
        "read",
        "list",
        "write",
        "delete",
        "move",
        "url",
        "host",
        "package",
        "script",
        "shell",
        "command",
        "program",
        "sed",
        "awk",
        "sql",
        "remote",
        "data",
        "config",
        "dd",
    ]
)
#: Roles that change nothing.
_READS = frozenset({"text", "read", "list", "data", "text*", "read*", "list*", "data*"})


@frozen
class Rule:
    """What holds if options or operands are given; rules add to each other.

    ``has``, ``also`` (besides) and ``lacks`` name options, ``first`` first operands, ``min`` and
    ``max`` bound the number of operands. ``none`` says that such a call has no effect at all;
    ``operands`` gives the operands other roles.
    """

    has: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    min: int = 0
    max: int = 1 << 30
    effects: tuple[str, ...] = ()
    operands: tuple[str, ...] | None = None
    none: bool = False
    why: str = ""

    def holds(self, argv: Argv) -> bool:
        """Say whether it applies to these words."""
        if self.has and argv.names.isdisjoint(self.has):
            return False
        n = len(argv.operands)
        if not self.min <= n <= self.max:
            return False
        if self.first and not (n and argv.operands[0] in self.first):
            return False
        if self.also and not argv.has(self.also):
            return False
        return not (self.lacks and argv.has(self.lacks))


@frozen
class Entry:
    """What is known of one command.

    ``sub`` says that its first operand is a subcommand: unknown ones are code that was not read,
    unless ``others`` says that they have the effects of this entry. ``lists`` says that it prints
    names of files that exist. ``reader`` names code that knows more than a table can say.
    """

    name: str
    effects: tuple[str, ...] = ()
    host: str = ""
    grammar: Grammar = field(factory=Grammar)
    operands: tuple[str, ...] = ()
    roles: Mapping[str, str] = field(factory=dict)
    when: tuple[Rule, ...] = ()
    sub: bool = False
    others: bool = False
    lists: bool = False
    reader: str = ""
    info: frozenset[str] = frozenset({"--help", "--version"})
    uses: frozenset[str] = frozenset()
    why: str = ""
    #: The words that it was found by; the same table may have several names.
    alias: str = ""
    #: Some option changes what it does, so a word that may be an option cannot be passed over.
    options_matter: bool = False


_KEYS = frozenset(
    [
        "effects",
        "host",
        "values",
        "optional",
        "operands",
        "roles",
        "when",
        "sub",
        "others",
        "cluster",
        "stop",
        "plus",
        "like",
        "names",
        "info",
        "lists",
        "reader",
        "uses",
        "why",
        "flags",
    ]
)
_RULE_KEYS = frozenset(
    ["has", "also", "lacks", "first", "min", "max", "effects", "operands", "none", "why"]
)


def _words(value: Any) -> tuple[str, ...]:
    return tuple(value.split()) if isinstance(value, str) else tuple(value)


def parse_tables(
    text: str, file: str, effects: Iterable[str] = EFFECTS
) -> dict[str, dict[str, Any]]:
    """Parse one file of entries and check every key, effect and role; raises `InputError`."""
    effects = frozenset(effects) | {"opaque"}
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(Problem("toml", f"`{file}` is no TOML: {error}")) from None
    problems: list[Problem] = []

    def wrong(path: str, what: str, given: str, known: Iterable[str]) -> None:
        hint = near(given, known)
        problems.append(Problem("program-table", what, hint, Position(file), path))

    for name, table in raw.items():
        if not isinstance(table, dict):
            wrong(name, f"`{name}` is not a table", name, ())
            continue
        for key in table.keys() - _KEYS:
            wrong(name, f"unknown key `{key}`", key, _KEYS)
        rules = table.get("when", [])
        for at, rule in enumerate(rules):
            for key in rule.keys() - _RULE_KEYS:
                wrong(f"{name}.when[{at}]", f"unknown key `{key}`", key, _RULE_KEYS)
        for at, part in enumerate([table, *rules]):
            path = name if at == 0 else f"{name}.when[{at - 1}]"
            for effect in _words(part.get("effects", "")):
                if effect not in effects:
                    wrong(path, f"unknown effect class `{effect}`", effect, effects)
            for role in (
                *_words(part.get("operands", "")),
                *part.get("roles", {}).values(),
            ):
                if role.rstrip("*") not in ROLES:
                    wrong(path, f"unknown role `{role}`", role, ROLES)
    if problems:
        raise InputError(problems)
    return raw


def _rule(raw: Mapping[str, Any]) -> Rule:
    listed = ("has", "also", "lacks", "first", "effects", "operands")
    values: dict[str, Any] = {k: _words(v) if k in listed else v for k, v in raw.items()}
    return Rule(**values)


def make_entry(
    name: str, alias: str, raw: Mapping[str, Any], base: Entry | None, parent: Entry | None
) -> Entry:
    """Return the entry of a table; ``base`` is the one it is like, ``parent`` its program's."""
    takes: dict[str, int] = dict(parent.grammar.takes) if parent else {}
    roles: dict[str, str] = dict(parent.roles) if parent else {}
    known: set[str] = set(parent.grammar.known) if parent else set()
    if base is not None:
        takes |= base.grammar.takes
        roles |= base.roles
        known |= base.grammar.known
    takes.update(dict.fromkeys(_words(raw.get("values", "")), 1))
    takes.update(dict.fromkeys(_words(raw.get("optional", "")), 2))
    known.update(_words(raw.get("flags", "")))
    for options, role in raw.get("roles", {}).items():
        for option in options.split():
            takes.setdefault(option, 1)
            roles[option] = role
    rules = tuple(map(_rule, raw.get("when", [])))
    if base is not None:
        rules = (*base.when, *rules)
    known.update(o for r in rules for o in (*r.has, *r.also, *r.lacks))
    inherit = base or Entry(name)
    cluster_from = base or parent
    operands = _words(raw["operands"]) if "operands" in raw else inherit.operands
    acts = {r for r in roles.values() if r not in _READS}
    matter = any(r.has and (r.effects or set(r.operands or ()) - _READS) for r in rules)
    return Entry(
        name=name,
        effects=_words(raw["effects"]) if "effects" in raw else inherit.effects,
        host=raw.get("host", inherit.host or (parent.host if parent else "")),
        grammar=Grammar(
            takes,
            frozenset(known),
            raw.get("cluster", cluster_from.grammar.cluster if cluster_from else True),
            raw.get("stop", raw.get("sub", False) or (base.grammar.stop if base else False)),
            raw.get("plus", False),
        ),
        operands=operands,
        roles=roles,
        when=rules,
        sub=raw.get("sub", inherit.sub),
        others=raw.get("others", inherit.others),
        lists=raw.get("lists", inherit.lists),
        reader=raw.get("reader", inherit.reader),
        info=frozenset(_words(raw["info"])) if "info" in raw else inherit.info,
        uses=frozenset(_words(raw["uses"])) if "uses" in raw else inherit.uses,
        why=raw.get("why", inherit.why),
        alias=alias,
        options_matter=bool(acts or matter or raw.get("reader")),
    )
