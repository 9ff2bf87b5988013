"""What names and patterns mean (design section 5), for the model and in its manner."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from remit.policy.tools import Tool

EFFECTS = [
    "worktree.write", "file.delete", "file.write_outside", "git.commit", "git.push", "pr.create",
    "pr.publish", "vendor.write", "package.install", "package.publish", "process.spawn",
    "workspace.mutate", "enclosure.control", "record.write", "network.egress", "secret.read",
]  # fmt: skip


def names(selector: str, tool: Tool) -> bool:
    """Say whether an entry of a list names a tool; it is split at its first colon."""
    if ":" not in selector:
        return fnmatchcase(tool.name, selector)
    kind, rest = selector.split(":", 1)
    if kind == "group":
        return rest in tool.groups
    if kind == "tier":
        return rest == tool.tier
    return kind in (tool.source, tool.origin) and fnmatchcase(tool.name, rest)


def like(pattern: str, target: str) -> bool:
    """Say whether a target pattern matches: `*` and `?` within a segment, `**` across them."""
    if not pattern:
        return not target
    if pattern.startswith("**/"):
        rests = [target, *(target[i + 1 :] for i, c in enumerate(target) if c == "/")]
        return any(like(pattern[3:], rest) for rest in rests)
    if pattern.startswith("**"):
        return any(like(pattern[2:], target[i:]) for i in range(len(target) + 1))
    if pattern[0] == "*":
        return like(pattern[1:], target) or (
            target[:1] not in ("", "/") and like(pattern, target[1:])
        )
    one = target[:1] not in ("", "/") if pattern[0] == "?" else target[:1] == pattern[0]
    return one and like(pattern[1:], target[1:])


def hopeless(lists: list[frozenset[str]]) -> bool:
    """Say whether one sees without any target that none is within all lists."""
    out = [p[1:] for one in lists for p in one if p[0] == "!"]
    alive = [[p for p in one if p[0] != "!" and not dead(p, out)] for one in lists]
    return any(all(apart(p, q) for p in one for q in other) for one in alive for other in alive)


def dead(pattern: str, out: list[str]) -> bool:
    """Say whether a pattern is one of the excluded, or within one that ends with its only stars."""
    wide = [o for o in out if o == head(o) + "**"]
    return pattern in out or any(head(pattern)[: len(head(o))] == head(o) for o in wide)


def apart(one: str, other: str) -> bool:
    """Say whether two patterns begin so that nothing matches both."""
    return any(a != b for a, b in zip(head(one), head(other), strict=False))


def head(pattern: str) -> str:
    """Return a pattern up to its first wildcard."""
    return pattern.replace("?", "*").split("*")[0]


def ordered(effects: Iterable[str]) -> tuple[str, ...]:
    """Return effects as they are listed: those of the design first, others after, by name."""
    given = set(effects) - {""}
    return (*(e for e in EFFECTS if e in given), *sorted(given - set(EFFECTS)))
