"""Redirections in the walk: what they write or read, and what standard input then holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remit.plugins.shell.expand import expand, literal
from remit.plugins.shell.reading import Note
from remit.plugins.shell.syntax import Document, Redir, Value
from remit.plugins.shell.values import Loose, Text, shown
from remit.policy.selectors import UNSEEN

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["redirect"]


def redirect(walk: Walk, redirs: Sequence[Redir], note: Note | None = None) -> None:
    """Note what redirections do, and set what standard input holds."""
    if not redirs:
        return
    own = note or Note("redirection")
    for op, fd, target in redirs:
        if isinstance(target, Document):
            value = literal(target.body, walk)
            if fd in ("", "0"):
                walk.feed = value
            continue
        if op == "<<<":
            walk.feed = literal(target, walk)
            continue
        values = expand(target, walk)
        if op in (">&", "<&"):
            text = shown(values[0]) if values else ""
            if text.rstrip("-").isdigit() or text == "-":
                continue
        for value in values:
            _through(walk, own, op, value)
        if op == "<" and fd in ("", "0"):
            walk.feed = Loose(f"< {shown(values[0]) if values else ''}", many=True)
    if note is None and (own.targets or own.opaque or own.protected):
        own.text = " ".join(f"{r.op}{_written(r.target)}" for r in redirs)
        walk.close(own)


def _through(walk: Walk, note: Note, op: str, value: Text) -> None:
    """Note what one redirection to a file does."""
    text = shown(value)
    if text.startswith(("/dev/tcp/", "/dev/udp/")):
        parts = text.split("/")
        note.add(
            "network.egress",
            parts[3] if len(parts) > 3 else UNSEEN,
            f"connects to `{text}`",
        )
        return
    if op in ("<", "<&"):
        walk.touch(note, value, "read")
    else:
        walk.touch(note, value, "write")


def _written(target: Value | Document) -> str:
    if isinstance(target, Document):
        return ""
    return target if isinstance(target, str) else target.raw
