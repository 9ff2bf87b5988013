"""Judging one program by what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.plugins.shell.argv import Argv, read
from remit.plugins.shell.readers import READERS
from remit.plugins.shell.reading import Note
from remit.plugins.shell.roles import ROLE
from remit.plugins.shell.syntax import Document, Simple, Value
from remit.plugins.shell.tables import Entry
from remit.plugins.shell.values import Loose, Text, shown
from remit.policy.selectors import UNSEEN

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["apply", "judge", "listed", "printed"]

_HOSTED = frozenset(
    {"network.egress", "vendor.write", "pr.create", "pr.publish", "package.publish"}
)


def judge(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """Note what a program does with these words."""
    asks = args and args[-1] in entry.info and all(shown(a)[:1] != "-" for a in args[:-1])
    if asks and (len(args) == 1 or (entry.sub and len(args) <= 4)):
        return
    if entry.reader:
        READERS[entry.reader](walk, note, entry, args)
    else:
        apply(walk, note, entry, args)


def apply(walk: Walk, note: Note, entry: Entry, args: Sequence[Text]) -> None:
    """Note what an entry says of these words."""
    argv = read(args, entry.grammar)
    if entry.sub:
        _sub(walk, note, entry, argv)
        return
    given(walk, note, entry, argv)


def _sub(walk: Walk, note: Note, entry: Entry, argv: Argv) -> None:
    if argv.loose:
        note.unread(entry.name, f"`{argv.loose[0].raw}` may be any subcommand of `{entry.name}`")
        return
    if not argv.operands:
        _effects(walk, note, entry, entry.effects, Note(""))
        return
    head = argv.operands[0]
    texts = (head,) if isinstance(head, str) else head.choices
    if not texts:
        note.unread(entry.name, f"`{shown(head)}` may be any subcommand of `{entry.name}`")
    options: list[Text] = []
    for name, value in argv.options:
        options += [name] if value is None else [name, value]
    for text in texts:
        sub = walk.known.get(f"{entry.alias} {text}") or walk.known.get(f"{entry.name} {text}")
        if sub is not None:
            judge(walk, note, sub, [*options, *argv.operands[1:]])
        elif entry.others:
            _effects(walk, note, entry, entry.effects, Note(""))
        else:
            note.unread(entry.name, f"`{entry.name} {text}` is not known")


def given(walk: Walk, note: Note, entry: Entry, argv: Argv) -> None:
    """Note what an entry says of words that were taken apart."""
    effects = list(entry.effects)
    operands = entry.operands
    for rule in entry.when:
        if rule.holds(argv):
            if rule.none:
                return
            effects += rule.effects
            if rule.operands is not None:
                operands = rule.operands
    own = Note("")
    if argv.loose and entry.options_matter:
        own.blind(f"`{argv.loose[0].raw}` may be an option of `{entry.name}`")
    if entry.roles:
        for name, value in argv.options:
            role = entry.roles.get(name)
            if role is not None and value is not None:
                ROLE[role](walk, own, value)
    if operands:
        for role, value in _assigned(operands, argv.operands):
            if role != "text":
                ROLE[role](walk, own, value)
    _effects(walk, note, entry, effects, own)


def _effects(walk: Walk, note: Note, entry: Entry, effects: Sequence[str], own: Note) -> None:
    """Add an entry's effects; those that no operand gave a target have one that says so."""
    had = frozenset(own.targets)
    for effect in effects:
        if effect == "opaque":
            own.blind(entry.why or f"it cannot be seen what `{entry.alias}` does")
        elif effect in had:
            continue
        elif effect == "worktree.write":
            walk.touch(own, ".", "write")
            own.why[-1:] = [entry.why or f"`{entry.alias}` writes here"] if own.why else []
        elif effect in _HOSTED:
            own.add(
                effect,
                entry.host or UNSEEN,
                entry.why or f"`{entry.alias}` has {effect}",
            )
        elif effect in ("file.delete", "file.write_outside", "package.install"):
            own.add(effect, UNSEEN, entry.why or f"`{entry.alias}` has {effect}")
        else:
            own.add(effect, entry.alias, entry.why or f"`{entry.alias}` has {effect}")
    note.merge(own)


def _assigned(roles: Sequence[str], operands: Sequence[Text]) -> list[tuple[str, Text]]:
    """Pair operands with roles; one role may end in ``*`` and take all that is left over."""
    star = next((i for i, r in enumerate(roles) if r[-1:] == "*"), None)
    if star is None:
        return list(zip(roles, operands, strict=False))
    tail = len(roles) - star - 1
    out: list[tuple[str, Text]] = list(zip(roles[:star], operands, strict=False))
    rest = operands[star:]
    middle = rest[: len(rest) - tail] if tail else rest
    if len(rest) < tail:
        middle = []
    out += [(roles[star][:-1], v) for v in middle]
    out += list(zip(roles[star + 1 :], rest[len(middle) :], strict=False))
    # A word that may be several can be the last one too.
    if tail and middle and isinstance(middle[-1], Loose) and len(rest) == 1:
        out.append((roles[-1], middle[-1]))
    return out


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
