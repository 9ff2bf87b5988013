"""Terms: the effect classes and tools that a declaration may name, and how it names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

from attrs import field, frozen

from remit.policy.problems import near
from remit.policy.selectors import glob, split
from remit.policy.tools import Catalog, Tool
from remit.policy.vocabulary import EFFECTS, EffectClass, Tier, world_changing
from remit.profiles.document import Findings
from remit.profiles.names import SOURCE_NAME, TOOL_NAME
from remit.profiles.positions import KeyPath
from remit.profiles.structure import quoted

__all__ = ["WORLD_CHANGING", "Terms", "pattern_fault", "selector_fault"]

#: In place of an effect: every class that read-only modes refuse (docs/decisions/0002).
WORLD_CHANGING = "world-changing"

_WILD = frozenset("*?[")


@frozen
class Terms:
    """What the declarations of one library may name."""

    known: Mapping[str, EffectClass] = EFFECTS
    tools: Catalog = field(factory=Catalog)
    _expanded: dict[str, frozenset[str]] = field(factory=dict, init=False, eq=False, repr=False)
    #: Keys of verbs that were found to be fine, by how they were named and whether they leave.
    _sound: dict[tuple[str, bool], str] = field(factory=dict, init=False, eq=False, repr=False)

    @cached_property
    def world(self) -> frozenset[str]:
        """The effects that read-only modes refuse."""
        return world_changing(self.known)

    @cached_property
    def _verbs(self) -> Mapping[bool, tuple[Tool, ...]]:
        tools = self.tools.tools
        return {False: tuple(t for t in tools if t.verb), True: tuple(t for t in tools if t.exit)}

    def effects(self, entry: str) -> frozenset[str]:
        """Return the ids that an entry names: an id, a glob, `WORLD_CHANGING`; maybe none."""
        found = self._expanded.get(entry)
        if found is None:
            found = self._expanded[entry] = self._named(entry)
        return found

    def _named(self, entry: str) -> frozenset[str]:
        if entry in self.known:
            return frozenset((entry,))
        if entry == WORLD_CHANGING:
            return self.world
        if _WILD.isdisjoint(entry):
            return frozenset()
        return frozenset(filter(glob(entry).match, self.known))

    def unknown_effect(self, entry: str, path: KeyPath, found: Findings, *, key: bool) -> None:
        """Report an entry that names no effect class."""
        hint = near(entry, [*self.known, WORLD_CHANGING]) or "`remit effects` lists the classes"
        message = f"unknown effect class `{quoted(entry)}`"
        found.report("unknown-effect", message, path, hint, key=key)

    def verb(
        self, name: str, path: KeyPath, found: Findings, *, leaves: bool = False
    ) -> str | None:
        """Return the key of the output or exit verb of a name; what may not serve is a problem."""
        if (key := self._sound.get((name, leaves))) is not None:
            return key
        tool = self._verb(name, path, found, leaves=leaves)
        if tool is None:
            return None
        if tool.classify is not None:
            message = f"`{tool.key}` has a classifier, so it cannot be always allowed"
            found.report("verb-classified", message, path, "name a tool that declares its effects")
        elif not tool.declared:
            message = f"nobody declared what `{tool.key}` does, so it cannot be always allowed"
            found.report("verb-undeclared", message, path, "declare its effects in its catalogue")
        else:
            self._sound[name, leaves] = tool.key
            return tool.key
        return None

    def _verb(self, name: str, path: KeyPath, found: Findings, *, leaves: bool) -> Tool | None:
        what, flag = ("an exit verb", "exit") if leaves else ("an output verb", "verb")
        able = self._verbs[leaves]
        named = [t for t in able if t.key == name] or [t for t in able if t.name == name]
        if len(named) == 1:
            return named[0]
        if named:
            keys = " and ".join(f"`{t.key}`" for t in named)
            hint = "name it by source and name"
            found.report("ambiguous-verb", f"`{quoted(name)}` could be {keys}", path, hint)
        elif any(name in (t.key, t.name) for t in self.tools.tools):
            other = "exit" if any(name in (t.key, t.name) for t in self._verbs[not leaves]) else ""
            hint = (
                f"it is {'an output' if leaves else 'an exit'} verb: name it under "
                f"`{'verbs' if leaves else 'exit'}`"
                if other
                else f"a tool may be {what} if its catalogue says `{flag} = true`"
            )
            found.report("not-a-verb", f"`{quoted(name)}` may not serve as {what}", path, hint)
        else:
            known = [n for t in able for n in (t.name, t.key)]
            hint = near(name, known) or f"the tools that may be {what}: {_listed(able)}"
            found.report("unknown-verb", f"unknown tool `{quoted(name)}`", path, hint)
        return None


def _listed(tools: Iterable[Tool]) -> str:
    return ", ".join(f"`{t.key.removeprefix('remit:')}`" for t in tools) or "none"


#: Code, message and hint of what is wrong with an entry.
Fault = tuple[str, str, str]


@lru_cache(maxsize=4096)
def selector_fault(selector: str) -> Fault | None:
    """Return what is wrong with a selector that could name no tool, whatever the catalogue."""
    kind, rest = split(selector)
    shown = quoted(selector)
    if kind == "tier":
        if rest in set(Tier):
            return None
        listed = ", ".join(f"`tier:{t}`" for t in Tier)
        hint = near(rest, Tier) or f"the tiers are {listed}"
        return "unknown-value", f"unknown tier `{quoted(rest)}`", hint
    if kind == "group":
        if SOURCE_NAME.fullmatch(rest):
            return None
        return "bad-selector", f"`{shown}` names no group", "a group is one plain name"
    if ":" in selector and not SOURCE_NAME.fullmatch(kind):
        hint = "write `source:name`, or `source:*`"
        return "bad-selector", f"`{shown}` names no source", hint
    if TOOL_NAME.fullmatch(rest.translate(_PLAIN)):
        return None
    hint = "write a name, a glob, `source:name`, `group:x` or `tier:x`"
    return "bad-selector", f"`{shown}` names no tool", hint


#: What globs add to the letters of a name.
_PLAIN = str.maketrans("*?[]!^", "______")


@lru_cache(maxsize=4096)
def pattern_fault(pattern: str) -> Fault | None:
    """Return what is wrong with a pattern of targets that could match none."""
    bare = pattern.removeprefix("!")
    shown = quoted(pattern)
    message = hint = ""
    if not bare.strip():
        message, hint = f"`{shown}` is an empty pattern", "write a path, a host or a glob"
    elif bare != bare.strip() or not bare.isprintable():
        message = f"`{shown}` has blanks around it or invisible letters in it"
        hint = "leave them out"
    elif bare.startswith("!"):
        message, hint = f"`{shown}` excludes twice", "one `!` excludes"
    elif bare.endswith("/"):
        message, hint = f"`{shown}` matches no file", f"write `{quoted(bare)}**` for all in it"
    elif {"..", "."} & set(bare.split("/")):
        message = f"`{shown}` steps through `.` or `..`"
        hint = "targets are resolved before they are matched"
    return ("bad-pattern", message, hint) if message else None
