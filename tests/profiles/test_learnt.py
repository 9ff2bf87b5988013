"""What differs between a tool as it was reviewed and as it is listed now."""

from __future__ import annotations

from typing import Any

import pytest

from remit.policy.tools import Learnt
from remit.profiles.learnt import difference

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
WAS = Learnt.of("t", "Read a file.", SCHEMA)


def schema(**properties: Any) -> dict[str, Any]:
    return {**SCHEMA, "properties": {**SCHEMA["properties"], **properties}}


@pytest.mark.parametrize(
    ("description", "now", "what", "lines"),
    [
        ("Read a file.", SCHEMA, (), ()),
        (
            "Read a file, then mail it.",
            SCHEMA,
            ("its description",),
            ("- description: Read a file.", "+ description: Read a file, then mail it."),
        ),
        (
            "Read a file.",
            schema(to={"type": "string"}),
            ("its argument `to`",),
            ('+ argument `to`: {"type":"string"}',),
        ),
        (
            "Read a file.",
            schema(path={"type": "array"}),
            ("its argument `path`",),
            ('- argument `path`: {"type":"string"}', '+ argument `path`: {"type":"array"}'),
        ),
        (
            None,
            {**SCHEMA, "required": ["path"]},
            ("its description", "its schema"),
            (
                "- description: Read a file.",
                '- schema: {"type":"object"}',
                '+ schema: {"required":["path"],"type":"object"}',
            ),
        ),
    ],
)
def test_each_part_is_named_and_shown(
    description: str | None, now: dict[str, Any], what: tuple[str, ...], lines: tuple[str, ...]
) -> None:
    """The description, each argument, and what else the schema says, as it was and as it is."""
    found = difference(WAS, Learnt.of("t", description, now))

    assert (found.what, found.lines) == (what, lines)
    assert bool(what) == (Learnt.of("t", description, now).hash != WAS.hash)


def test_a_bare_pin_says_that_it_cannot_tell() -> None:
    """Where the words were not kept, what is said now is shown alone."""
    found = difference(Learnt(WAS.hash), Learnt.of("t", "other\x1b[2J", SCHEMA))

    assert found.what == ("its description or schema",)
    assert found.lines == ("+ description: other\\x1b[2J",)
