"""Tools, catalogues of tools, calls, and what a call was found to do."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from attrs import field, frozen

from remit.policy.digest import canonical, tool_digest
from remit.policy.problems import InputError, Position, Problem
from remit.policy.selectors import glob, split
from remit.policy.vocabulary import Tier, words

__all__ = [
    "ARGUMENT_ROLES",
    "NATIVE",
    "Call",
    "CallEffects",
    "Catalog",
    "Facts",
    "Learnt",
    "Repo",
    "Shape",
    "Tool",
    "shown",
]

#: What an argument can be to a classifier: a path and what is done to it, or code, or data.
ARGUMENT_ROLES = frozenset({"read", "list", "write", "delete", "move", "tree", "folder"}) | {
    "command", "powershell", "background", "patch", "url", "method", "body", "sql", "action",
    "text",
}  # fmt: skip
#: The source of the verbs that remit serves itself on every host.
NATIVE = "remit"


def _sets(sets: Iterable[Iterable[str]]) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(s) for s in sets)


def _pairs(
    pairs: Mapping[str, str] | Iterable[tuple[str, str]],
) -> tuple[tuple[str, str], ...]:
    return tuple(pairs.items() if isinstance(pairs, Mapping) else pairs)


def _effects_by(
    pairs: Mapping[str, Iterable[str]] | Iterable[tuple[str, Iterable[str]]],
) -> tuple[tuple[str, frozenset[str]], ...]:
    items = pairs.items() if isinstance(pairs, Mapping) else pairs
    return tuple((name, frozenset(effects)) for name, effects in items)


def _tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    return tuple(tools)


@frozen
class Learnt:
    """What a server said of a tool when an operator reviewed it.

    ``hash`` is `tool_digest` over it. The words themselves are kept so that a change can be shown:
    the description, and the schema of the arguments as JSON text; None where they were not kept.
    """

    hash: str
    description: str | None = None
    schema: str | None = None

    @classmethod
    def of(cls, name: str, description: str | None, schema: object) -> Learnt:
        """Return it for a tool as a server lists it."""
        return cls(tool_digest(name, description, schema), description, canonical(schema))


@frozen
class Tool:
    """Something the model can invoke, known by source and name (design section 4).

    ``effects`` is the upper bound: the worst that a call can do. ``least`` holds, for a tool with a
    classifier, the smallest effect sets that a call can have. Undeclared means that nobody said
    what it does; ``effects``, if there are any, are then some that it has. ``learnt`` pins what the
    declaration was made for; no decision depends on it, but whoever lists the tool compares.
    """

    source: str
    name: str
    tier: Tier = Tier.EXECUTE
    effects: frozenset[str] = field(default=frozenset(), converter=words)
    groups: frozenset[str] = field(default=frozenset(), converter=words)
    classify: str | None = None
    least: frozenset[frozenset[str]] = field(default=frozenset(), converter=_sets)
    declared: bool = True
    verb: bool = False
    exit: bool = False
    #: The catalogue's own source, where an operator bound it to a server of another name. What a
    #: profile says of either source holds.
    origin: str | None = None
    learnt: Learnt | None = None
    #: What a classifier is to make of arguments: path of an argument and role, in order.
    arguments: tuple[tuple[str, str], ...] = field(default=(), converter=_pairs)
    #: For a tool of several actions: the effects of each, by the argument's value.
    actions: tuple[tuple[str, frozenset[str]], ...] = field(default=(), converter=_effects_by)
    where: Position = field(default=Position(), eq=False)

    @property
    def key(self) -> str:
        """``source:name``; a source has no colon, so the first one divides them."""
        return f"{self.source}:{self.name}"

    @property
    def native(self) -> bool:
        """Is it one of remit's own verbs."""
        return self.source == NATIVE


@frozen(cache_hash=True)
class Shape:
    """All that a ceiling can tell tools apart by, besides their names and groups."""

    tier: Tier
    effects: frozenset[str]
    declared: bool
    classify: str | None
    least: frozenset[frozenset[str]]

    @classmethod
    def of(cls, tool: Tool) -> Shape:
        """Return the shape of a tool."""
        return cls(tool.tier, tool.effects, tool.declared, tool.classify, tool.least)


def shown(key: str) -> str:
    """Return a tool key as people read it: native verbs without their source."""
    return key.removeprefix(f"{NATIVE}:")


def small_ints(numbers: Sequence[int], bound: int) -> bytes | array[int]:
    """Pack numbers below ``bound``: a byte each where they fit."""
    return bytes(numbers) if bound <= 256 else array("I", numbers)


@frozen(slots=False)  # with slots, a cached property slows every attribute
class Catalog:
    """Tools in order, each known by ``source:name``; raises `InputError` if two share a key.

    Classifiers that are not among ``classifiers`` cannot judge a call, so a tool that names one of
    those is undeclared, and is taken to do all that it may do.
    """

    tools: tuple[Tool, ...] = field(default=(), converter=_tools)
    classifiers: frozenset[str] = field(default=frozenset(), converter=words)
    _selected: dict[str, frozenset[int]] = field(factory=dict, init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        seen: dict[str, Tool] = {}
        problems = []
        for tool in self.tools:
            if tool.key in seen:
                problems.append(
                    Problem(
                        "duplicate-tool",
                        f"tool `{tool.key}` is declared twice",
                        f"the other is at {seen[tool.key].where}" if tool.where.file else "",
                        tool.where,
                        f"tools.{tool.name}",
                    )
                )
            seen[tool.key] = tool
        if problems:
            raise InputError(problems)

    @classmethod
    def union(cls, *catalogs: Catalog, classifiers: Iterable[str] = ()) -> Catalog:
        """Return one catalogue with the tools of all, in the order given."""
        return cls(
            (t for c in catalogs for t in c.tools),
            frozenset(classifiers).union(*(c.classifiers for c in catalogs)),
        )

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Places by ``source:name``, by bare name where only one tool bears it, and as `called`.

        The bare name of one of remit's own verbs is that verb's, whoever else bears it.
        """
        keys = {tool.key: i for i, tool in enumerate(self.tools)}
        bare = {n: min(at) for n, at in self._named.items() if len(at) == 1 and n not in keys}
        ours = {self.tools[i].name: i for i in self.native}
        apart = {name: i for i, name in self._apart.items()}
        return apart | bare | ours | keys

    @cached_property
    def _apart(self) -> Mapping[int, str]:
        """What tools are called that share a bare name, by place: no API takes the colon of a key.

        One that would be called as another tool is known by its key alone.
        """
        shared = [i for at in self._named.values() if len(at) > 1 for i in at]
        names = {
            i: f"{self.tools[i].source}__{self.tools[i].name}"
            for i in shared
            if not self.tools[i].native
        }
        borne = Counter((*names.values(), *self._named))
        return {i: name for i, name in names.items() if borne[name] == 1}

    @cached_property
    def ambiguous(self) -> Mapping[str, tuple[str, ...]]:
        """Bare names that mean no tool because several bear them, with the keys of those."""
        return {
            name: tuple(sorted(self.tools[i].key for i in at))
            for name, at in self._named.items()
            if name not in self.index
        }

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The distinct shapes, in order of first appearance."""
        return tuple(dict.fromkeys(map(self._shape, self.tools)))

    @cached_property
    def shape_of(self) -> bytes | array[int]:
        """For each tool the place of its shape."""
        at = {s: i for i, s in enumerate(self.shapes)}
        return small_ints([at[self._shape(t)] for t in self.tools], len(at))

    def _shape(self, tool: Tool) -> Shape:
        if tool.declared and (tool.classify is None or tool.classify in self.classifiers):
            return Shape.of(tool)
        # Nobody can say what a call does. What is told of it all the same can only make it
        # stricter: else a classifier that is missing would be more power than one that is there.
        return Shape(tool.tier, tool.effects, False, None, frozenset())

    @cached_property
    def native(self) -> tuple[int, ...]:
        """The places of remit's own verbs."""
        return tuple(i for i, t in enumerate(self.tools) if t.native)

    @cached_property
    def groups(self) -> frozenset[str]:
        """Every group that a tool is in."""
        return frozenset(g for t in self.tools for g in t.groups)

    def get(self, name: str) -> Tool | None:
        """Return the tool of a name or key; None where there is none or more than one."""
        at = self.index.get(name)
        return None if at is None else self.tools[at]

    def called(self, key: str) -> str:
        """Return the name by which a model knows a tool: its own, where no other tool bears it."""
        at = self.index.get(key)
        if at is None or self.tools[at].key != key:  # the key of a catalogue's own source
            at = min(self.select(key), default=None)
        if at is None:
            return shown(key)
        tool = self.tools[at]
        if self.index.get(tool.name) == at:
            return tool.name
        return self._apart.get(at, shown(tool.key))

    def shape(self, tool: Tool) -> Shape:
        """Return the shape that a tool of this catalogue is judged by."""
        return self.shapes[self.shape_of[self.index[tool.key]]]

    def declared(self, tool: Tool) -> bool:
        """Say whether somebody declared what a tool does, in a way that can be judged here."""
        return self.shape(tool).declared

    def select(self, selector: str) -> frozenset[int]:
        """Return the places of the tools that a selector names."""
        found = self._selected.get(selector)
        if found is None:
            found = self._selected[selector] = self._find(*split(selector))
        return found

    def _find(self, kind: str, rest: str) -> frozenset[int]:
        tools = self.tools
        if kind == "group":
            return frozenset(i for i, t in enumerate(tools) if rest in t.groups)
        if kind == "tier":
            return frozenset(i for i, t in enumerate(tools) if t.tier.value == rest)
        if any(c in rest for c in "*?["):
            match = glob(rest).match
            named = frozenset(i for i, t in enumerate(tools) if match(t.name))
        else:
            named = self._named.get(rest, frozenset())
        return frozenset(i for i in named if kind in ("", tools[i].source, tools[i].origin))

    @cached_property
    def _named(self) -> Mapping[str, frozenset[int]]:
        named: dict[str, set[int]] = {}
        for i, tool in enumerate(self.tools):
            named.setdefault(tool.name, set()).add(i)
        return {name: frozenset(at) for name, at in named.items()}

    @cached_property
    def hash(self) -> str:
        """SHA-256 over every fact that a decision or a text depends on, in hexadecimal."""
        rows = [
            [
                t.source, t.name, t.tier, sorted(t.effects), sorted(t.groups), t.classify,
                sorted(map(sorted, t.least)), self.declared(t), t.verb, t.exit, t.origin,
                t.arguments, [(name, sorted(effects)) for name, effects in t.actions],
            ]
            for t in self.tools
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


@frozen
class Call:
    """One use of a tool: its name or ``source:name``, and its arguments as the model gave them."""

    tool: str
    args: Mapping[str, Any] = field(factory=dict)


@frozen
class CallEffects:
    """What one call was found to do.

    ``targets`` says per effect what it acts on (a path, a host, ``remote ref``, a registry, a
    program); ``opaque`` that not everything could be seen; ``protected`` the protected paths that
    it touches.
    """

    effects: frozenset[str] = field(default=frozenset(), converter=words)
    targets: Mapping[str, tuple[str, ...]] = field(factory=dict)
    opaque: bool = False
    protected: tuple[str, ...] = ()

    def __or__(self, other: CallEffects) -> CallEffects:
        """Return what either saw."""
        return CallEffects(
            self.effects | other.effects,
            {
                e: tuple(dict.fromkeys((*self.targets.get(e, ()), *other.targets.get(e, ()))))
                for e in sorted({*self.targets, *other.targets})
            },
            self.opaque or other.opaque,
            tuple(dict.fromkeys((*self.protected, *other.protected))),
        )


@frozen
class Repo:
    """What a git repository itself says: its own configuration and the hooks that would run.

    ``config`` maps a key in lower case (its middle part as written) to its values in order. The
    user's own configuration is not in it: that is the operator's.
    """

    root: str
    config: Mapping[str, tuple[str, ...]] = field(factory=dict)
    hooks: frozenset[str] = field(default=frozenset(), converter=words)


@frozen
class Facts:
    """What a classifier needs to know of the machine, gathered by the host just before a call.

    Paths are absolute text. ``links`` maps a path, as a call spells it, to what it resolves to; a
    path that is not in it was not looked at. ``globs`` maps a pattern to the names that it matches,
    ``repos`` a folder to its repository (None: it has none). What is missing makes a call opaque,
    never harmless; ``plain`` says that everything which is not in these maps was looked at and is
    nothing special: no link, no match, no repository configuration.
    """

    worktree: str | None = None
    cwd: str | None = None
    scratch: str | None = None
    home: str | None = None
    #: Refused to every call that would change them.
    protected: tuple[str, ...] = ()
    #: Refused to every call that touches them, readers too.
    hidden: tuple[str, ...] = ()
    links: Mapping[str, str] = field(factory=dict)
    globs: Mapping[str, tuple[str, ...]] = field(factory=dict)
    repos: Mapping[str, Repo | None] = field(factory=dict)
    plain: bool = False
