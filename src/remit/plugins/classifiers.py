"""The built-in classifiers: what one call does, by what its arguments are.

A catalogue binds a tool's arguments to roles (``arguments = { file_path = "write" }``); the five
classifiers differ only in what they take for granted where it does not. They are functions of call,
tool and facts, and register like anyone's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from attrs import frozen

from remit.plugins.hookspecs import hookimpl
from remit.policy.projection import Classifier
from remit.policy.selectors import UNSEEN
from remit.policy.tools import Call, CallEffects, Facts, Tool
from remit.policy.vocabulary import EFFECTS

if TYPE_CHECKING:
    from remit.plugins.shell.knowledge import Knowledge
    from remit.plugins.shell.reading import Reading

__all__ = ["Wants", "classify", "knowing", "readings", "wants"]

#: What arguments are where a catalogue does not say.
_USUAL: Mapping[str, Mapping[str, str]] = {
    "shell": {"command": "command", "cmd": "command", "cwd": "folder", "workdir": "folder"},
    "path": {},
    "http": {"url": "url", "method": "method", "body": "body", "data": "body"},
    "sql": {"sql": "sql", "query": "sql"},
    "action": {"action": "action"},
}
#: Roles without which a call says nothing.
_ESSENTIAL = frozenset(
    {"write", "delete", "patch", "command", "powershell", "url", "sql", "action"}
)
_PATCHED = re.compile(
    r"^(?:\*\*\* (?P<verb>Add|Update|Delete) File: (?P<file>.+)|\*\*\* Move to: (?P<to>.+)"
    r"|(?P<side>---|\+\+\+) (?P<path>[^\t\n]+)(?:\t.*)?"
    r"|(?P<git>rename from|rename to|copy to) (?P<name>.+))$",
    re.MULTILINE,
)


@frozen
class Wants:
    """What somebody would have to look at for a full answer about a call."""

    paths: frozenset[str] = frozenset()
    repos: frozenset[str] = frozenset()
    globs: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.paths or self.repos or self.globs)


def classify(call: Call, tool: Tool, facts: Facts, known: Knowledge | None = None) -> CallEffects:
    """Return what a call does, by the roles of its arguments and what is known of programs."""
    return _look(call, tool, facts, known)[0]


def knowing(known: Knowledge) -> Classifier:
    """Return a classifier that knows the programs of plugins too."""
    return lambda call, tool, facts: classify(call, tool, facts, known)


def wants(call: Call, tool: Tool, facts: Facts, known: Knowledge | None = None) -> Wants:
    """Return what is missing in the facts for a full answer about a call."""
    if tool.classify not in _USUAL:
        return Wants()
    return _look(call, tool, facts, known)[1]


def readings(
    call: Call, tool: Tool, facts: Facts, known: Knowledge | None = None
) -> tuple[Reading, ...]:
    """Return what was read of each command line that a call holds, part by part."""
    from attrs import evolve

    from remit.plugins.shell import classify_shell
    from remit.plugins.shell.walk import Walk

    walk, bound = Walk(facts, known), dict(tool.arguments) or _USUAL.get(tool.classify or "", {})
    given = [(role, value) for name, role in bound.items() for value in _values(call.args, name)]
    _folders(walk, given)
    here = evolve(facts, cwd=walk.folders[0] or facts.cwd)
    found = []
    for role, value in given:
        if role in ("command", "powershell") and isinstance(value, str):
            shell = "powershell" if role == "powershell" else "bash"
            found.append(classify_shell(value, here, shell, known))
        elif role == "command" and _is_words(value):
            found.append(_words(value, walk))
    return tuple(found)


def _is_words(value: Any) -> bool:
    """Say whether an argument is a list of words, which are run without a shell."""
    return (
        isinstance(value, list | tuple) and bool(value) and all(isinstance(v, str) for v in value)
    )


def _words(value: Sequence[str], walk: Any) -> Reading:
    """Read a list of words."""
    import shlex

    from remit.plugins.shell.reading import Note, Reading

    text = shlex.join(value)
    note = Note(text, (0, len(text)))
    walk.command(list(value), note)
    walk.close(note)
    parts = tuple(walk.parts)
    walk.parts.clear()
    return Reading(text, parts)


def _look(
    call: Call, tool: Tool, facts: Facts, known: Knowledge | None
) -> tuple[CallEffects, Wants]:
    from remit.plugins.shell.reading import Note
    from remit.plugins.shell.walk import Walk

    walk, note = Walk(facts, known), Note(call.tool)
    bound = dict(tool.arguments) or _USUAL.get(tool.classify or "", {})
    found = [(role, value) for name, role in bound.items() for value in _values(call.args, name)]
    roles = [role for role, _ in found]
    _folders(walk, found)
    if any(r in _ESSENTIAL and r not in roles for r in bound.values()) or not bound:
        # What a call does not say can be the worst that its tool declares.
        for effect in sorted(tool.effects):
            note.add(effect, UNSEEN, "the call does not say what it acts on")
        if not tool.effects:
            note.blind("the call does not say what it acts on")
    method = next((v for r, v in found if r == "method" and isinstance(v, str)), "GET")
    body = next((v for r, v in found if r == "body" and isinstance(v, str)), None)
    result, more = CallEffects(), Wants()
    for role, value in found:
        if role == "command":
            one, wanted = _command(value, walk, facts)
            result |= one
            more = _joined(more, wanted)
        else:
            _argument(walk, note, tool, role, value, method, body)
    for effect in sorted(tool.effects - _computed(roles, bound)):
        note.add(effect, _place(bound, found))
    part = note.part
    result |= CallEffects(part.effects, part.targets, part.opaque, part.protected)
    return result, _joined(more, _wanted(walk))


_PATHS = frozenset({"worktree.write", "file.write_outside"})
#: What the arguments of a role decide; all else that a tool declares holds for every call.
_DECIDES: Mapping[str, frozenset[str]] = {
    "read": frozenset({"secret.read"}),
    "write": _PATHS,
    "delete": _PATHS | {"file.delete"},
    "move": _PATHS | {"secret.read"},
    "patch": _PATHS | {"file.delete"},
    "url": frozenset(
        ["network.egress", "vendor.write", "pr.create", "pr.publish", "package.publish"]
    ),
    "background": frozenset({"process.spawn"}),
    **dict.fromkeys(("command", "powershell", "sql", "action"), frozenset(EFFECTS)),
}


def _computed(roles: list[str], bound: Mapping[str, str]) -> frozenset[str]:
    """Return the effects that the bound arguments decide about."""
    return frozenset(e for r in {*roles, *bound.values()} for e in _DECIDES.get(r, ()))


def _place(bound: Mapping[str, str], found: list[tuple[str, Any]]) -> str:
    """Return the target of an effect that no argument decides about: what the call acts on."""
    named = [v for r, v in found if r in ("write", "delete", "folder") and isinstance(v, str)]
    return named[0] if named else UNSEEN


def _wanted(walk: Any) -> Wants:
    return Wants(frozenset(walk.wanted), frozenset(walk.repos), frozenset(walk.globs))


def _joined(one: Wants, other: Wants) -> Wants:
    return Wants(one.paths | other.paths, one.repos | other.repos, one.globs | other.globs)


def _values(args: Any, name: str) -> Iterator[Any]:
    """Yield what an argument holds; a dotted name is within another, lists are gone through."""
    head, _, rest = name.partition(".")
    if isinstance(args, list | tuple):
        for item in args:
            yield from _values(item, name)
    elif isinstance(args, Mapping) and args.get(head) is not None:
        value = args[head]
        if rest:
            yield from _values(value, rest)
        else:
            yield value


def _folders(walk: Any, found: list[tuple[str, Any]]) -> None:
    """Let a call's own folder be where its relative paths start."""
    for role, value in found:
        if role == "folder" and isinstance(value, str) and value:
            walk.folders = (walk.ground.absolute(value, walk.folders[0]),)


def _command(value: Any, walk: Any, facts: Facts) -> tuple[CallEffects, Wants]:
    """Judge a command line, or a list of words that is run without a shell."""
    from attrs import evolve

    from remit.plugins.shell import classify_shell

    if isinstance(value, str):
        here = evolve(facts, cwd=walk.folders[0] or facts.cwd)
        found = classify_shell(value, here, known=walk.known)
        return found.found, Wants(found.wants, found.repos, found.globs)
    if _is_words(value):
        return _words(value, walk).found, Wants()
    return CallEffects({"process.spawn"}, {"process.spawn": (UNSEEN,)}, True), Wants()


def _argument(
    walk: Any, note: Any, tool: Tool, role: str, value: Any, method: str, body: str | None
) -> None:
    if role in ("text", "method", "body", "folder"):
        return
    if role == "background":
        if value not in (False, "", 0):
            note.unread(tool.name, "leaves a process behind")
        return
    for one in value if isinstance(value, list | tuple) else (value,):
        if not isinstance(one, str):
            note.blind(f"an argument of `{tool.name}` is no text where one was expected")
        elif role in ("read", "list", "write", "delete", "move"):
            walk.touch(note, _path(one), role)
        elif role == "tree":
            walk.touch(note, _path(one), "list")
        elif role == "patch":
            _patch(walk, note, one)
        elif role == "url":
            _url(note, method, one, body)
        elif role == "sql":
            _sql(note, one)
        elif role == "action":
            _action(note, tool, one)
        elif role == "powershell":
            _powershell(walk, note, one)


def _path(text: str) -> str:
    """Return a path as no program would read it: only a shell's words mean a stream by `-`."""
    return {"": ".", "-": "./-"}.get(text, text)


def _patch(walk: Any, note: Any, text: str) -> None:
    """The files that a patch names, in the forms that agents use."""
    names = list(_PATCHED.finditer(text))
    if not names:
        note.add("worktree.write", UNSEEN)
        note.blind("the patch names no file")
    for found in names:
        path = found["file"] or found["to"] or found["path"] or found["name"]
        path = path.strip()
        if path == "/dev/null":
            continue
        if found["side"] and path[:2] in ("a/", "b/"):
            path = path[2:]
        walk.touch(note, _path(path), "delete" if found["verb"] == "Delete" else "write")


def _url(note: Any, method: str, url: str, body: str | None) -> None:
    from remit.plugins.web import request

    if url.lower().startswith(("http:", "https:")) or "://" not in url:
        request(note, method, url, body)
    else:
        note.add("network.egress", UNSEEN)
        note.blind(f"`{url[:80]}` is no address of the web")


def _sql(note: Any, text: str) -> None:
    from remit.plugins.sql import statements

    for found in statements(text):
        for effect in found.effects:
            note.add(effect, found.target, found.why)
        if found.opaque:
            note.blind(found.why)


def _action(note: Any, tool: Tool, action: str) -> None:
    effects = dict(tool.actions).get(action)
    if effects is None:
        for effect in sorted(tool.effects):
            note.add(effect, UNSEEN)
        note.blind(f"`{action[:80]}` is no action that was declared")
        return
    for effect in sorted(effects):
        note.add(effect, action, f"`{action}` has {effect}")


def _powershell(walk: Any, note: Any, text: str) -> None:
    from remit.plugins.shell import classify_shell

    found = classify_shell(text, walk.facts, "powershell", walk.known)
    for effect, targets in found.targets.items():
        for target in targets:
            note.add(effect, target)
    if found.opaque:
        note.blind("not everything of the command could be read")
    note.protected.extend(found.protected)


@hookimpl
def register_classifiers() -> Mapping[str, Classifier]:
    """The built-in classifiers; `sql` only where sqlglot is, since unread it could not judge."""
    names = ["shell", "path", "http", "action"]
    if find_spec("sqlglot") is not None:
        names.append("sql")
    return dict.fromkeys(names, classify)
