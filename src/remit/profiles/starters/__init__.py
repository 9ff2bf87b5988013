"""Starters: commented files to begin with, one a kind; each loads as it is, without problems."""

from __future__ import annotations

from importlib.resources import files

from remit.profiles.names import MODE_NAME, RESERVED

__all__ = ["starter"]


def starter(kind: str, name: str = "") -> str:
    """Return the text of a starter, named so if that is a name which a mode may have."""
    text = (files(__name__) / f"{kind}.toml").read_text("utf-8")
    if kind == "profile" and MODE_NAME.fullmatch(name) and name not in RESERVED:
        return text.replace('name = "my-mode"', f'name = "{name}"')
    return text
