"""Compound commands in the walk: every branch is taken, a loop forgets first what it sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.plugins.shell.expand import evaluate, expand
from remit.plugins.shell.reading import Note
from remit.plugins.shell.redirect import redirect
from remit.plugins.shell.syntax import Case, Coproc, For, Group, Loop, Seq
from remit.plugins.shell.values import MANY, Loose, Text, options_of

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["branches", "case", "coproc", "each", "group", "merged"]


def group(walk: Walk, node: Group) -> None:
    """Run ``{ }`` or ``( )``."""
    feed = walk.feed
    redirect(walk, node.redirs)
    if node.subshell:
        walk.apart(node.body)
    else:
        walk.sequence(node.body)
    walk.feed = feed


def branches(walk: Walk, node: Loop) -> None:
    """Run ``if``, ``while`` or ``until``."""
    feed = walk.feed
    redirect(walk, node.redirs)
    if node.again:
        _loop(walk, node.bodies)
    else:
        walk.sequence(node.bodies[0])
        for body in node.bodies[1:]:
            _maybe(walk, body)
    walk.feed = feed


def _maybe(walk: Walk, body: Seq) -> None:
    """Run what may or may not run: afterwards both can be the case."""
    folders, before = walk.folders, dict(walk.vars)
    walk.sequence(body)
    walk.folders = merged(folders, walk.folders)
    for name in body.assigned:
        old, new = before.get(name), walk.vars.get(name)
        if old != new:
            walk.vars[name] = _either(name, old, new)


def _loop(walk: Walk, bodies: Sequence[Seq]) -> None:
    """Run what runs again and again: what it sets is forgotten first."""
    for body in bodies:
        for name in body.assigned:
            if name != "cd":
                walk.vars[name] = Loose(f"${name}")
    start = walk.folders
    for body in bodies:
        _maybe(walk, body)
    if walk.folders != start and walk.folders != (None,):
        walk.folders = (None,)
        for body in bodies:
            _maybe(walk, body)
        walk.folders = (None,)


def each(walk: Walk, node: For) -> None:
    """Run ``for``: its variable is one of its words."""
    feed = walk.feed
    redirect(walk, node.redirs)
    values: list[Text] = [Loose("$@")]
    if node.words is not None:
        values = [v for w in node.words for v in expand(w, walk)]
    for name in node.body.assigned:
        if name != "cd" and name != node.name:
            walk.vars[name] = Loose(f"${name}")
    walk.set(node.name, _one_of(node.name, values))
    start = walk.folders
    _maybe(walk, node.body)
    if walk.folders != start and walk.folders != (None,):
        walk.folders = (None,)
        walk.vars[node.name] = _one_of(node.name, values)
        _maybe(walk, node.body)
        walk.folders = (None,)
    walk.feed = feed


def case(walk: Walk, node: Case) -> None:
    """Run ``case``."""
    redirect(walk, node.redirs)
    evaluate(node.subject, walk)
    for patterns, body in node.branches:
        for one in patterns:
            evaluate(one, walk)
        _maybe(walk, body)


def coproc(walk: Walk, node: Coproc) -> None:
    """Run a command beside the shell."""
    walk.run(node.body)
    note = Note("coproc")
    note.unread("coproc", "leaves a process behind")
    walk.close(note)


def merged(one: tuple[str | None, ...], other: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Return the folders of two ways of coming here; too many are none that is known."""
    both = tuple(dict.fromkeys((*one, *other)))
    return both if len(both) <= 4 else (None,)


def _either(name: str, old: Text | None, new: Text | None) -> Text:
    if old is None or new is None:
        return Loose(f"${name}")
    choices = tuple(dict.fromkeys((*options_of(old), *options_of(new))))
    if options_of(old) and options_of(new) and len(choices) <= MANY:
        return Loose(f"${name}", choices=choices)
    return Loose(f"${name}")


def _one_of(name: str, values: Sequence[Text]) -> Text:
    """Return what a loop variable can be."""
    raw = f"${name}"
    texts = tuple(dict.fromkeys(t for v in values for t in options_of(v)))
    if all(options_of(v) for v in values) and 0 < len(texts) <= MANY:
        return texts[0] if len(texts) == 1 else Loose(raw, choices=texts)
    if len(values) == 1 and isinstance(values[0], Loose):
        one = values[0]
        return Loose(raw, one.prefix, one.kind)
    return Loose(raw)
