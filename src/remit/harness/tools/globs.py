"""Globs over paths that are relative to a folder."""

from __future__ import annotations

import re
from collections.abc import Callable

from remit.harness.tools.desk import Refused
from remit.policy.escape import quoted

__all__ = ["glob"]

_PART = re.compile(r"(\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|\{[^{}]*\}|.)", re.DOTALL)
_PLAIN = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def glob(pattern: str) -> Callable[[str], bool]:
    """Return whether a path matches; without ``/`` the pattern is matched with the last name."""
    try:
        found = re.compile(_regex(pattern.removeprefix("./")), re.DOTALL)
    except re.error:
        raise Refused(f"{quoted(pattern)} is no glob", "bad-pattern") from None
    if "/" in pattern:
        return lambda path: found.fullmatch(path) is not None
    return lambda path: found.fullmatch(path.rpartition("/")[2]) is not None


def _regex(pattern: str) -> str:
    out = []
    for part in _PART.findall(pattern):
        if part in _PLAIN:
            out.append(_PLAIN[part])
        elif part[0] == "[" and len(part) > 2:
            inner = part[1:-1].replace("\\", r"\\").replace("[", r"\[")
            negated = inner.startswith("!")
            inner = (inner[1:] if negated else inner).replace("^", r"\^")
            out.append(f"(?!/)[{'^' if negated else ''}{inner}]")
        elif part[0] == "{" and len(part) > 1:
            out.append(f"(?:{'|'.join(_regex(one) for one in part[1:-1].split(','))})")
        else:
            out.append(re.escape(part))
    return "".join(out)
