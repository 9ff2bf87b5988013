"""Placeholders: the few facts of a profile that its own words may name.

Substitution is plain text in one pass: nothing is evaluated, and what is put in is not read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from remit.policy.profile import Profile, shown

__all__ = ["PLACEHOLDERS", "fill", "unknown_placeholders"]

#: What guidance and a nudge may name, as ``{{label}}``.
PLACEHOLDERS = ("label", "noun", "verbs", "exit")

# Without braces inside, so that no text takes longer than its length.
_BRACES = re.compile(r"\{\{([^{}]*)\}\}")


def unknown_placeholders(text: str) -> tuple[str, ...]:
    """Return the names in double braces that mean nothing, in order."""
    names = (name.strip() for name in _BRACES.findall(text))
    return tuple(name for name in names if name not in PLACEHOLDERS)


def fill(text: str, profile: Profile, called: Callable[[str], str] = shown) -> str:
    """Return text with its placeholders replaced by the facts of a profile.

    ``called`` says how the model is told of a tool, by its key.
    """
    brief = profile.brief
    values = {
        "label": profile.label or profile.name,
        "noun": brief.noun if brief else "",
        "verbs": " or ".join(f"`{called(v)}`" for v in brief.verbs) if brief else "",
        "exit": f"`{called(brief.exit)}`" if brief and brief.exit else "",
    }
    return _BRACES.sub(lambda m: values.get(m[1].strip(), m[0]), text)
