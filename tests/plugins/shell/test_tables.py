"""The tables of programs: what they may say, and that people are told of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.plugins.shell import tables
from remit.plugins.shell.knowledge import extended, knowledge
from remit.policy.problems import InputError
from remit.policy.vocabulary import EFFECTS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "programs.md"


@pytest.mark.parametrize("key", sorted(tables._KEYS | tables._RULE_KEYS | tables.ROLES))
def test_is_in_the_reference(key: str) -> None:
    """Every key, every role and every condition of a rule is told."""
    assert f"`{key}`" in PAGE.read_text("utf-8")


def test_the_example_is_a_table() -> None:
    """The example of the reference can be added as it stands."""
    text = PAGE.read_text("utf-8").partition("```toml\n")[2].partition("```")[0]

    found = extended(knowledge(), [("acme.toml", text)], EFFECTS)

    assert found.entries["acmectl deploy"].host == "deploy.acme.test"
    assert "acmectl" not in knowledge().entries


def test_all_problems_are_told_at_once() -> None:
    """What is wrong in any of several tables is told together."""
    texts = [("a.toml", "[git]\n"), ("b.toml", '[x]\nefects = 1\n[y]\noperands = "wriite"\n')]

    with pytest.raises(InputError) as error:
        extended(knowledge(), texts, EFFECTS)

    assert [p.message for p in error.value.problems] == [
        "`git` is a program that is known",
        "unknown key `efects`",
        "unknown role `wriite`",
    ]
