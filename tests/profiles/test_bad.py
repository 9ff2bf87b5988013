"""One bad file for each problem code, each beside a good neighbour that differs in one thing."""

from pathlib import Path

import pytest

from remit.policy.problems import CODES, InputError, Problem, Severity
from remit.profiles.catalogs import parse_catalog
from remit.profiles.library import Library
from remit.profiles.source import read_source

BAD = Path(__file__).parent / "bad"

#: What a table says of a file: code, line, column, key path, words.
Expected = tuple[str, int, int, str, str]
Row = tuple[str, str, int, int, str, str]

#: File, code, line, column, key path, and a part of the hint or, where that is none, the message.
PROFILES: list[Row] = [
    ("toml-syntax", "toml-syntax", 7, 8, "", "invalid value"),
    ("duplicate-key", "duplicate-key", 10, 1, "", "the first one is in line 7"),
    ("number-too-large", "number-too-large", 24, 47, "", "more digits"),
    ("too-deep", "too-deep", 24, 66, "", "nest more than"),
    ("missing-key", "missing-key", 1, 1, "name", "add it"),
    ("unknown-key", "unknown-key", 10, 1, "ceiling.allowed", "did you mean `allow`"),
    ("wrong-type", "wrong-type", 17, 12, "brief.required", "without quotes"),
    ("unknown-value", "unknown-value", 7, 8, "ceiling.tier", "did you mean `write`"),
    ("bad-name", "bad-name", 1, 8, "name", "small letters"),
    ("reserved-name", "reserved-name", 1, 8, "name", 'extends = "plan"'),
    ("bad-text", "bad-text", 2, 9, "label", "on one line"),
    ("unknown-mode", "unknown-mode", 20, 13, "brief.children[0]", "did you mean `read-only`"),
    ("unknown-parent", "unknown-parent", 3, 11, "extends", "did you mean `chat`"),
    ("widens-parent", "widens-parent", 7, 8, "ceiling.tier", "only narrows its parent"),
    ("contradiction", "contradiction", 9, 1, "ceiling.posture", "keep the one"),
    ("porous-refusal", "porous-refusal", 8, 1, "ceiling.refuse", 'unknown = "refuse"'),
    ("unknown-effect", "unknown-effect", 8, 11, "ceiling.refuse[0]", "did you mean `git.push`"),
    ("bad-selector", "bad-selector", 10, 23, "ceiling.allow[1]", "one plain name"),
    ("bad-pattern", "bad-pattern", 13, 20, 'ceiling.limit."worktree.write"', "may act on"),
    ("no-verb", "no-verb", 16, 1, "brief.required", "name one in `verbs`"),
    ("unknown-verb", "unknown-verb", 16, 10, "brief.verbs[0]", "did you mean `submit_plan`"),
    ("not-a-verb", "not-a-verb", 16, 10, "brief.verbs[0]", "name it under `exit`"),
    ("verb-denied", "verb-denied", 10, 9, "ceiling.deny[0]", "always allowed"),
    ("unknown-placeholder", "unknown-placeholder", 21, 1, "brief.guidance", "`{{noun}}`"),
    ("bad-example", "bad-example", 24, 47, "example[0].call.args.path", "write text"),
    ("bad-tool-name", "bad-tool-name", 19, 11, "brief.missed[0]", "bare name"),
    ("parent-cycle", "parent-cycle", 2, 11, "extends", "outside the circle"),
]

CATALOGS: list[Row] = [
    ("catalog-unknown-effect.toml", "unknown-effect", 10, 30, "tools.write.effects[1]", "delete`"),
    ("catalog-unknown-value.toml", "unknown-value", 4, 8, "tools.read.tier", "`read`"),
    ("catalog-unknown-key.toml", "unknown-key", 11, 1, "tools.write.group", "`groups`"),
    ("catalog-bad-tool-name.toml", "bad-tool-name", 3, 8, 'tools."read it"', "letters"),
    ("catalog-bad-group.toml", "bad-group", 11, 11, "tools.write.groups[0]", "letters"),
    ("bad-source.toml", "bad-source", 1, 10, "source", "not `group`"),
    ("bad-classifier.toml", "bad-classifier", 12, 12, "tools.write.classify", "name one"),
    ("least-unclassified.toml", "least-unclassified", 12, 1, "tools.write.least", "`classify`"),
    ("least-outside.toml", "least-outside", 13, 31, "tools.write.least[1][0]", "the least"),
    ("open-verb.toml", "open-verb", 17, 1, "tools.deliver.verb", "no classifier"),
    ("catalog-contradiction.toml", "contradiction", 19, 1, "tools.deliver.exit", "one of the two"),
    ("no-pin.toml", "no-pin", 12, 15, "tools.write.description", "writes both"),
    ("bad-pin.toml", "bad-pin", 12, 8, "tools.write.hash", "writes it"),
    ("catalog-bad-pin-words.toml", "bad-pin", 12, 8, "tools.write.hash", "learn the tool again"),
    ("no-tools.toml", "no-tools", 1, 1, "", "[tools.NAME]"),
    ("json-syntax.json", "json-syntax", 3, 12, "", "expecting value"),
    ("bad-tool-list.json", "bad-tool-list", 3, 3, "tools[1]", "for each"),
    ("native-name.json", "native-name", 3, 12, "tools[1].name", "by remit alone"),
    ("duplicate-tool.json", "duplicate-tool", 3, 12, "tools.read", "json:2:12"),
    ("json-duplicate-key.json", "duplicate-key", 3, 21, "", "in line 3"),
    ("json-bad-tool-name.json", "bad-tool-name", 3, 12, "tools[1].name", "letters"),
    ("json-too-deep.json", "too-deep", 0, 0, "", "nest too deep"),
]  # fmt: skip


def only(problems: tuple[Problem, ...]) -> Problem:
    assert len(problems) == 1, [str(p) for p in problems]
    return problems[0]


def check(problem: Problem, name: str, expected: Expected) -> None:
    code, line, column, path, said = expected
    where = problem.where
    assert (problem.code, where.line, where.column, problem.path) == (code, line, column, path)
    assert where.file.endswith(name)
    assert said in (problem.hint or problem.message)
    assert problem.message[0].islower() or problem.message[0] == "`"
    assert not problem.message.endswith(".")


@pytest.mark.parametrize("row", PROFILES, ids=lambda row: row[0])
class TestProfiles:
    def test_a_bad_profile_has_one_problem_at_its_place(self, row: Row) -> None:
        """A bad profile is listed with file, line, column, key path and what to do."""
        name, expected = row[0], row[1:]
        entry = Library.load().examine(read_source(BAD / f"{name}.toml"))
        problem = only(entry.problems)
        check(problem, f"{name}.toml", expected)
        assert (entry.profile is None) is (problem.severity is Severity.ERROR)

    def test_its_neighbour_is_whole(self, row: Row) -> None:
        """The good neighbour of a bad profile has no problem."""
        entry = Library.load().examine(read_source(BAD / f"{row[0]}.good.toml"))
        assert entry.problems == ()
        assert entry.profile is not None


@pytest.mark.parametrize("row", CATALOGS, ids=lambda row: row[0])
class TestCatalogues:
    def test_a_bad_catalogue_has_one_problem_at_its_place(self, row: Row) -> None:
        """A bad catalogue is told with file, line, column, key path and what to do."""
        name, expected = row[0], row[1:]
        loaded = parse_catalog(read_source(BAD / name))
        problem = only(loaded.problems)
        check(problem, name, expected)
        if problem.severity is Severity.ERROR:
            with pytest.raises(InputError):
                loaded.require()
        else:
            assert "write" not in loaded.require().index

    def test_its_neighbour_is_whole(self, row: Row) -> None:
        """The good neighbour of a bad catalogue has no problem."""
        name = Path(row[0])
        loaded = parse_catalog(read_source(BAD / f"{name.stem}.good{name.suffix}"), source="x")
        assert loaded.problems == ()
        assert loaded.require().tools


def test_every_bad_file_is_in_the_table() -> None:
    """No file of the folder is forgotten."""
    listed = {f"{r[0]}.toml" for r in PROFILES} | {r[0] for r in CATALOGS}
    there = {p.name for p in BAD.iterdir() if ".good." not in p.name}
    assert listed == there


def test_every_code_of_the_tables_is_registered() -> None:
    """A code that a problem has is one that the reference explains."""
    assert {r[1] for r in PROFILES} | {r[1] for r in CATALOGS} <= set(CODES)
