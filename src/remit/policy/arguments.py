"""Arguments of a call, read part by part: whatever is wrong with them is told in one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from remit.policy.escape import quoted
from remit.policy.problems import Problem, near

__all__ = ["Reader", "kind_of"]


class Reader:
    """Reads parts of a value and collects what is wrong; its own codes begin with ``what``."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.problems: list[Problem] = []

    def add(self, code: str, message: str, path: str, hint: str = "") -> None:
        """Note a problem of the value at a path."""
        self.problems.append(Problem(code, message, hint, path=path))

    def keys(self, given: Mapping[str, Any], known: Sequence[str], path: str) -> None:
        """Note each key that is none of those known."""
        for key in given:
            if key not in known:
                hint = near(str(key), known) or f"the keys are {', '.join(known)}"
                self.add(f"{self.what}-key", f"unknown key {quoted(str(key))}", path, hint)

    def text(self, given: Mapping[str, Any], key: str, path: str, *, required: bool = False) -> str:
        """Return a text without blanks around it, empty where there is none or no text."""
        at = f"{path}.{key}" if path else key
        value = given.get(key)
        if value is None and not required:
            return ""
        if value is not None and not isinstance(value, str):
            self.add(f"{self.what}-type", f"`{key}` is to be text, got {kind_of(value)}", at)
            return ""
        text = (value or "").strip()
        if required and not text:
            self.add(f"{self.what}-missing", f"`{key}` is missing or empty", at)
        return text

    def texts(
        self, given: object, name: str, path: str, *, each: str = "a key", what: str = "keys"
    ) -> tuple[str, ...]:
        """Return the texts of a list, each once, in the order given."""
        if given is None:
            return ()
        if not isinstance(given, Sequence) or isinstance(given, str | bytes):
            message = f"`{name}` is to be a list of {what}, got {kind_of(given)}"
            self.add(f"{self.what}-type", message, path)
            return ()
        found = []
        for i, one in enumerate(given):
            if isinstance(one, str):
                found.append(one.strip())
            else:
                self.add(
                    f"{self.what}-type", f"{each} is to be text, got {kind_of(one)}", f"{path}[{i}]"
                )
        return tuple(dict.fromkeys(found))


def kind_of(value: object) -> str:
    """Return what a value of JSON is, in words."""
    words = {
        bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list",
        dict: "an object", type(None): "nothing",
    }  # fmt: skip
    return words.get(type(value), "something else")
