"""What an approval is bound to: equal calls, equal digests; anything else, another."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.digest import call_digest, canonical, digest

CALL: dict[str, Any] = {
    "source": "mcp-git",
    "tool": "git_commit",
    "tool_hash": "h",
    "args": {"message": "x", "paths": ["a", "b"]},
    "cwd": "/w",
    "effects": ["worktree.write", "git.commit"],
    "revision": 1,
}


def test_the_order_of_keys_and_effects_is_nothing() -> None:
    """The same call spelt otherwise needs no second approval."""
    args = {"paths": ["a", "b"], "message": "x"}
    same = {**CALL, "args": args, "effects": frozenset(CALL["effects"])}
    assert call_digest(**same) == call_digest(**CALL)


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("source", "other"),
        ("tool", "git_push"),
        ("tool_hash", "changed"),
        ("args", {"message": "x", "paths": ["b", "a"]}),
        ("args", {"message": "x", "paths": ["a", "b"], "force": False}),
        ("args", {"message": "x\u200b", "paths": ["a", "b"]}),
        ("cwd", "/w/"),
        ("cwd", None),
        ("effects", ["worktree.write"]),
        ("revision", 2),
    ],
)
def test_each_part_counts(part: str, other: object) -> None:
    """An approval of one call is no approval of another."""
    assert call_digest(**{**CALL, part: other}) != call_digest(**CALL)


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), ("1", 1), (None, "")])
def test_values_that_python_takes_for_equal_differ(one: object, other: object) -> None:
    """A tool may tell them apart, so an approval does."""
    assert digest({"x": one}) != digest({"x": other})


@given(st.text() | st.characters(categories=["Cs"]))
def test_any_text_has_a_digest(text: str) -> None:
    """Halves of surrogate pairs too, which have no UTF-8."""
    assert canonical(text).isascii()
    assert len(digest(text)) == 64
