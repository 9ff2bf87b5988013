"""What the output of a command is known to hold: its text, or that it names files that exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.plugins.shell.syntax import Document, Simple, Value
from remit.plugins.shell.values import Loose, Text

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["listed", "printed"]

_COUNTS = frozenset(
    [
        "date",
        "nproc",
        "wc",
        "id",
        "whoami",
        "hostname",
        "uname",
        "tty",
        "arch",
        "getconf",
        "expr",
        "seq",
    ]
)
_ECHO = frozenset({"-n", "-e", "-E", "-ne", "-en"})


def printed(walk: Walk, words: Sequence[str], node: Simple) -> Text:
    """Say what a plain command prints; a `Loose` of no kind where that is not known."""
    unknown = Loose("$(...)", many=True)
    name, args = words[0], words[1:]
    if name in walk.functions or len(words) != len(node.words):
        return unknown
    if name == "pwd":
        return walk.folders[0] or unknown if len(walk.folders) == 1 else unknown
    if name == "echo":
        while args and args[0] in _ECHO:
            if "e" in args[0] and any("\\" in a for a in args):
                return unknown
            args = args[1:]
        return " ".join(args)
    if name == "printf" and args:
        if args[0] in ("%s", "%s\\n", "%s\\0", "%s "):
            return "\n".join(args[1:])
        return args[0] if "%" not in args[0] and "\\" not in args[0] else unknown
    if name == "cat" and not args and len(node.redirs) == 1:
        target: Value | Document = node.redirs[0].target
        if isinstance(target, Document) and isinstance(target.body, str):
            return target.body.rstrip("\n")
        return unknown
    if name == "mktemp" and not any(a.startswith(("-p", "--tmpdir", "/", ".")) for a in args):
        return Loose("$(mktemp)", "/tmp/", "path")
    if name in _COUNTS and not any(a.startswith("+-") for a in args):
        return Loose(f"$({name})", kind="number")
    if name == "git" and args[:1] == ["rev-parse"]:
        if args[1:] == ["--show-toplevel"]:
            root = walk.ground.roots[0] if walk.ground.roots else None
            here = walk.folders[0]
            if root and here and len(walk.folders) == 1 and f"{here}/".startswith(f"{root}/"):
                return root
            return unknown
        return Loose("$(git rev-parse)", kind="number")
    return unknown


def listed(walk: Walk, words: Sequence[Value]) -> Text:
    """Say what a command that lists files writes: names that exist, below here or its folder."""
    unknown = Loose("|", many=True)
    name = words[0]
    if not isinstance(name, str) or name in walk.functions:
        return unknown
    entry = walk.known.get(name)
    if entry is not None and entry.sub and len(words) > 1 and isinstance(words[1], str):
        entry = walk.known.get(f"{entry.name} {words[1]}")
    if entry is None or not entry.lists:
        return unknown
    args = [w if isinstance(w, str) else w.raw for w in words[1:]]
    if name == "find":
        roots = []
        for arg in args:
            if arg[:1] in "-(!":
                break
            roots.append(arg)
        if len(roots) == 1 and roots[0].startswith("/"):
            return Loose("|", roots[0].rstrip("/") + "/", "path", many=True)
        args = roots
    if any(a.startswith(("/", "~", "..", "$")) or "/.." in a for a in args):
        return unknown
    return Loose("|", "./", "path", many=True)
