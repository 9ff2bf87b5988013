"""Words of a server, as a conversation may read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remit.policy.escape import unmarked

__all__ = ["plain"]

#: Where the protocol has words for a reader; what stands elsewhere is data, read in quotes.
_WORDS = frozenset({"description", "message", "systemPrompt", "text", "title"})
#: Data in the midst of words, which a schema may hold a server to.
_DATA = frozenset({"_meta", "structuredContent"})


def plain(value: Any) -> Any:
    """Return a wire value in whose words no line begins as remit's own do (design section 7).

    What needs no change is returned as it is, so a large result costs no copy.
    """
    if isinstance(value, Mapping):
        mapped = {k: v if k in _DATA else _word(k, v) for k, v in value.items()}
        same = all(mapped[k] is v for k, v in value.items())
        return value if same else mapped
    if isinstance(value, list):
        listed = [plain(v) for v in value]
        return value if all(a is b for a, b in zip(listed, value, strict=True)) else listed
    return value


def _word(key: str, value: Any) -> Any:
    if isinstance(value, str):
        return unmarked(value) if key in _WORDS else value
    return plain(value)
