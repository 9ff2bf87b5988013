"""Every problem of a file in one go, whatever else is wrong with its shape."""

import pytest

from remit.policy.problems import InputError, Problem
from remit.profiles.catalogs import parse_catalog
from remit.profiles.ceilings import parse_overlay
from remit.profiles.library import Library
from remit.profiles.source import Source

CATALOG = """
source = "group"
[tools.a]
tier = 3
effects = ["git.psuh", 7, "git.comit"]
least = [["git.push"]]
[tools.b]
effects = "git.push"
verb = true
groups = ["not a group"]
[tools."bad name"]
effects = []
[tools]
c = 3
"""
PROFILE = """
name = "a"
[ceiling]
refuse = ["git.psuh", 7, "git.comit"]
unknown = true
tier = "raed"
[ceiling.limit]
"worktree.write" = ["!docs", 3]
[brief]
verbs = "submit_plan"
required = true
guidance = "{{nuon}} by {{verbs}}"
[[example]]
call = { tool = "x" }
[[example]]
call = { tool = "not a tool" }
verdict = "deny"
"""


def told(problems: tuple[Problem, ...]) -> set[tuple[str, str, int]]:
    return {(p.code, p.path, p.where.line) for p in problems}


def test_a_catalogue() -> None:
    """A wrong type hides no other problem, in its list neither, and makes none up."""
    text = CATALOG.replace("[tools]\nc = 3\n", "[tools.c]\neffects = [{}]\n")
    loaded = parse_catalog(Source(text, "c.toml"))

    assert told(loaded.problems) == {
        ("bad-source", "source", 2),
        ("wrong-type", "tools.a.tier", 4),
        ("unknown-effect", "tools.a.effects[0]", 5),
        ("wrong-type", "tools.a.effects[1]", 5),
        ("unknown-effect", "tools.a.effects[2]", 5),
        ("least-unclassified", "tools.a.least", 6),
        ("wrong-type", "tools.b.effects", 8),
        ("bad-group", "tools.b.groups[0]", 10),
        ("bad-tool-name", 'tools."bad name"', 11),
        ("wrong-type", "tools.c.effects[0]", 14),
    }
    assert loaded.catalog.tools == ()


def test_a_profile() -> None:
    """So with a profile: places are those of the file, and what was lost is no second problem."""
    entry = Library.load().examine(Source(PROFILE, "a.toml"))

    assert told(entry.problems) == {
        ("unknown-effect", "ceiling.refuse[0]", 4),
        ("wrong-type", "ceiling.refuse[1]", 4),
        ("unknown-effect", "ceiling.refuse[2]", 4),
        ("wrong-type", "ceiling.unknown", 5),
        ("unknown-value", "ceiling.tier", 6),
        ("wrong-type", 'ceiling.limit."worktree.write"[1]', 8),
        ("wrong-type", "brief.verbs", 10),
        ("unknown-placeholder", "brief.guidance", 12),
        ("missing-key", "example[0].verdict", 13),
        ("bad-example", "example[1].call.tool", 16),
    }
    assert entry.profile is None


def test_an_overlay() -> None:
    """So with an overlay; one without a ceiling says so alone."""
    with pytest.raises(InputError) as error:
        parse_overlay(Source('[ceiling]\ntier = 3\nrefuse = ["git.psuh"]\n', "o.toml"))
    assert [p.code for p in error.value.problems] == ["wrong-type", "unknown-effect"]

    with pytest.raises(InputError) as error:
        parse_overlay(Source("x = 3\n", "o.toml"))
    assert sorted(p.code for p in error.value.problems) == ["missing-key", "unknown-key"]
