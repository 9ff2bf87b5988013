"""Copying: the text of a new mode, made from a starter, a sample or a mode that is there."""

from __future__ import annotations

import json
import re
from importlib.resources import files

from remit.policy.problems import InputError
from remit.policy.profile import Profile
from remit.profiles.frontmatter import parse_mode
from remit.profiles.source import MODE_FILE, Source

__all__ = ["copied", "over", "started"]

_NAME = re.compile(r"name[ \t]*:[^\n]*")


def started(file: str) -> Source:
    """Return the commented mode to start from."""
    text = (files("remit.profiles.starters") / MODE_FILE).read_text("utf-8")
    return Source(text, file)


def over(profile: Profile, file: str) -> Source:
    """Return a mode that has a profile's ceiling for its permission, and its words."""
    guidance = profile.brief.guidance.strip() if profile.brief else ""
    # JSON texts are YAML texts, whatever stands in them.
    label = json.dumps(profile.label, ensure_ascii=False)
    lines = ["---", f"label: {label}"]
    if profile.intent:
        lines.append(f"description: {json.dumps(profile.intent, ensure_ascii=False)}")
    lines += [f"permission: {profile.name}", "---", guidance]
    return Source("\n".join(lines) + "\n", file)


def copied(source: Source, file: str) -> Source:
    """Return a mode's file under another folder's name: its own ``name`` is left out."""
    try:
        document, _ = parse_mode(source)
    except InputError:
        return Source(source.text, file, templates=source.templates)
    text = source.text
    if "name" in document.data:
        line = document.at(("name",), key=True).line
        lines = text.split("\n")
        if _NAME.fullmatch(lines[line - 1].rstrip()):
            text = "\n".join((*lines[: line - 1], *lines[line:]))
    return Source(text, file, templates=source.templates)
