"""Redacting: what of a call's arguments a log may keep, by one rule that errs on saying less.

A log outlives the secrets that pass through it. So what is named like a secret, or looks like one,
is cut out before anything is written, and what is long is shortened to its start and its digest.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import lru_cache
from typing import Any

__all__ = ["CUT", "NAMES", "redact"]

#: What stands in the place of something that was cut out.
CUT = "[redacted]"
#: Names of arguments whose values are never kept; case, ``-`` and ``_`` do not matter.
NAMES = (
    "*password*", "*passwd*", "*passphrase*", "*secret*", "*token*", "*apikey*", "*privatekey*",
    "*credential*", "*authorization*", "*cookie*", "pwd", "pin", "otp",
)  # fmt: skip
#: Characters: of one text, and of what is kept of a longer one.
_LONG, _START = 500, 200
#: Of a number; Python itself writes out none of more than some 14,000.
_BITS = 1024
#: Items of a list or a mapping, and how deep they nest.
_ITEMS, _DEPTH = 50, 8

_KEY = r"[\w-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|credential)[\w-]*"
_SHAPES = (
    re.compile(
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S
    ),
    # Tokens that say whose they are: GitHub, GitLab, Slack, AWS, Google, model providers, JWT.
    re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|sk-|npm_|pypi-)[\w-]{16,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}"),
    re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),
)
#: Where only a part is secret: ``://user:HERE@``, ``Bearer HERE``, ``--token HERE``, ``KEY=HERE``.
_PARTS = (
    re.compile(r"(://[^\s/:@]*:)[^\s/@]+(?=@)"),
    re.compile(r"(?i)\b((?:bearer|basic)\s+)[\w.+/=~-]{8,}"),
    re.compile(rf"(?i)((?:--?)?{_KEY}[\"']?\s*[=:]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s&;|\"']+)"),
    re.compile(rf"(?i)(--{_KEY}\s+)(?:\"[^\"]*\"|'[^']*'|[^\s&;|\"'-][^\s&;|]*)"),
)


def redact(args: Mapping[str, Any], names: Iterable[str] = ()) -> dict[str, Any]:
    """Return a call's arguments as a log may keep them; never longer than they were, but for marks.

    ``names`` are patterns of further argument names to cut, besides `NAMES`.
    """
    secret = _secret((*NAMES, *names))
    return {str(k)[:_START]: v for k, v in _mapping(args, secret, 0).items()}


@lru_cache(maxsize=16)
def _secret(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(translate(_plain(name)) for name in names))


def _mapping(value: Mapping[Any, Any], secret: re.Pattern[str], depth: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key in list(value)[:_ITEMS]:
        cut = secret.match(_plain(str(key)))
        kept[str(key)] = CUT if cut else _value(value[key], secret, depth + 1)
    if len(value) > _ITEMS:
        kept["…"] = f"{len(value) - _ITEMS} more"
    return kept


def _value(value: Any, secret: re.Pattern[str], depth: int) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and value.bit_length() > _BITS:
        return f"… a number of {value.bit_length()} bits"
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth >= _DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return _mapping(value, secret, depth)
    items = list(value)
    kept = [_value(v, secret, depth + 1) for v in items[:_ITEMS]]
    return kept if len(items) <= _ITEMS else [*kept, f"… {len(items) - _ITEMS} more"]


def _text(text: str) -> str:
    # Shortened first: a pattern never reads more than is kept, and a secret at the cut is cut.
    long = len(text) > _LONG
    kept = text[:_LONG] if long else text
    for shape in _SHAPES:
        kept = shape.sub(CUT, kept)
    for part in _PARTS:
        kept = part.sub(rf"\1{CUT}", kept)
    if not long:
        return kept
    sum = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{kept[:_START]}… ({len(text)} characters, sha256 {sum})"


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
