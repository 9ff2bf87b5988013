"""Terms: the effect classes and tools that a declaration may name, and how it names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial

from attrs import field, frozen

from remit.policy.problems import near
from remit.policy.selectors import glob, split
from remit.policy.tools import Catalog, Tool
from remit.policy.vocabulary import EFFECTS, EffectClass, Tier, world_changing
from remit.profiles.document import Findings
from remit.profiles.names import SOURCE_NAME, TOOL_NAME
from remit.profiles.positions import KeyPath
from remit.profiles.structure import quoted

__all__ = ["WORLD_CHANGING", "Terms", "check_pattern", "check_selector"]

#: In place of an effect: every class that read-only modes refuse (docs/decisions/0002).
WORLD_CHANGING = "world-changing"

_WILD = frozenset("*?[")


@frozen
class Terms:
    """What the declarations of one library may name."""

    known: Mapping[str, EffectClass] = EFFECTS
    tools: Catalog = field(factory=Catalog)

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


def check_selector(selector: str, path: KeyPath, found: Findings) -> None:
    """Report a selector of tools that could name none, whatever the catalogue."""
    kind, rest = split(selector)
    bad = partial(found.report, "bad-selector", path=path)
    named = rest.translate(_PLAIN)
    if kind == "tier":
        if rest not in set(Tier):
            listed = ", ".join(f"`tier:{t}`" for t in Tier)
            message = f"unknown tier `{quoted(rest)}`"
            found.report(
                "unknown-value", message, path, near(rest, Tier) or f"the tiers are {listed}"
            )
    elif kind == "group":
        if not SOURCE_NAME.fullmatch(rest):
            bad(f"`{quoted(selector)}` names no group", hint="a group is one plain name")
    elif ":" in selector and not SOURCE_NAME.fullmatch(kind):
        bad(f"`{quoted(selector)}` names no source", hint="write `source:name`, or `source:*`")
    elif not TOOL_NAME.fullmatch(named):
        hint = "write a name, a glob, `source:name`, `group:x` or `tier:x`"
        bad(f"`{quoted(selector)}` names no tool", hint=hint)


#: What globs add to the letters of a name.
_PLAIN = str.maketrans("*?[]!^", "______")


def check_pattern(pattern: str, path: KeyPath, found: Findings) -> None:
    """Report a pattern of targets that could match none."""
    bare = pattern.removeprefix("!")
    bad = partial(found.report, "bad-pattern", path=path)
    shown = quoted(pattern)
    if not bare.strip():
        bad(f"`{shown}` is an empty pattern", hint="write a path, a host or a glob")
    elif bare != bare.strip() or not bare.isprintable():
        bad(f"`{shown}` has blanks around it or invisible letters in it", hint="leave them out")
    elif bare.startswith("!"):
        bad(f"`{shown}` excludes twice", hint="one `!` excludes")
    elif bare.endswith("/"):
        bad(f"`{shown}` matches no file", hint=f"write `{quoted(bare)}**` for all in it")
    elif {"..", "."} & set(bare.split("/")):
        hint = "targets are resolved before they are matched"
        bad(f"`{shown}` steps through `.` or `..`", hint=hint)
