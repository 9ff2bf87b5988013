"""What is wrong with a profile under a catalogue."""

from collections.abc import Callable, Iterable

import pytest

from remit.policy.problems import CODES, Position, Problem, Severity
from remit.policy.tools import Call, Catalog, Tool
from remit.policy.vocabulary import Tier, Verdict
from remit.profiles.catalogs import native_catalog
from remit.profiles.fit import blocks_host, check_with_catalog
from remit.profiles.library import Library
from remit.profiles.source import Source

READ = Tier.READ
TOOLS = Catalog(
    [
        Tool("git", "git_log", READ, groups=["history"]),
        Tool("git", "git_commit", Tier.WRITE, ["worktree.write", "git.commit"], ["changes"]),
        Tool("files", "read_file", READ, ["secret.read"], ["files"]),
        Tool("files", "write_file", Tier.WRITE, ["worktree.write"], ["files"]),
        Tool("new", "mystery", declared=False),
    ]
)


def check(
    text: str,
    catalog: Catalog = TOOLS,
    extends: str = "chat",
    judge: Callable[[Call], Verdict] | None = None,
) -> tuple[Problem, ...]:
    source = Source(f'name = "a"\nextends = "{extends}"\n{text}', "a.toml")
    problems = check_with_catalog(Library.load().parse(source), catalog, judge=judge)
    assert {p.code for p in problems} <= set(CODES)
    return problems


def listed(problems: Iterable[Problem]) -> list[tuple[str, str, str]]:
    return [(p.code, str(p.severity), p.path) for p in problems]


class TestEntries:
    @pytest.mark.parametrize(
        ("entry", "hint"),
        [
            ("git_comit", "did you mean `git_commit`"),
            ("gti:git_commit", "did you mean `git`"),
            ("git:git_comit", "did you mean `git_commit`"),
            ("group:file", "did you mean `files`"),
            ("git", "`git:*` names the tools of that source"),
            ("changes", "`group:changes` names the tools of that group"),
            ("GIT_*", "`git_log` is written otherwise: small and capital letters differ"),
        ],
    )
    @pytest.mark.parametrize("key", ["allow", "deny"])
    def test_a_dead_entry_with_a_near_miss_is_an_error(
        self, key: str, entry: str, hint: str
    ) -> None:
        """A dead deny is worse than none, because people rely on it; it is told what was meant."""
        keep = '"git_log", ' if key == "allow" else ""
        (problem,) = check(f'[ceiling]\n{key} = [{keep}"{entry}"]')
        assert (problem.code, problem.severity) == ("selector-unmatched", Severity.ERROR)
        assert problem.hint.startswith(hint)
        assert problem.where == Position("a.toml", 4, 10 + len(keep) - (key == "deny"))
        assert blocks_host(problem) is (key == "deny")

    @pytest.mark.parametrize("entry", ["frobnicate", "group:web", "other:*", "delete_*"])
    def test_a_dead_entry_with_nothing_near_is_a_warning(self, entry: str) -> None:
        """It may speak of a catalogue that is not here."""
        (problem,) = check(f'[ceiling]\ndeny = ["{entry}"]')
        assert (problem.code, problem.severity) == ("selector-unmatched", Severity.WARNING)
        assert not blocks_host(problem)

    def test_an_entry_that_names_a_native_verb_is_no_dead_one(self) -> None:
        """Native tools are always known."""
        assert check('[ceiling]\ndeny = ["submit_plan", "tier:execute"]') == ()

    def test_a_parents_dead_entry_is_told_once_more(self) -> None:
        """A child relies on its parent's deny as well; what is built in is left alone."""
        sources = [
            Source('name = "p"\nextends = "plan"\n[ceiling]\ndeny = ["git_comit"]', "p.toml"),
            Source('name = "c"\nextends = "p"', "c.toml"),
        ]
        (problem,) = check_with_catalog(Library.load(sources).get("c"), TOOLS)
        assert problem.where == Position("p.toml", 4, 9)

    @pytest.mark.parametrize(
        ("extends", "entry", "ceiling", "cause"),
        [
            ("plan", "git_commit", "", "refused"),
            ("chat", "write_file", 'tier = "read"', "tier"),
            ("chat", "write_file", 'limit = {"worktree.write" = ["docs/**"]}', "limit"),
            ("read-only", "mystery", "", "undeclared"),
            ("chat", "write_file", 'deny = ["files:*"]', "denied"),
        ],
    )
    def test_an_allow_entry_that_leaves_nothing_is_an_error(
        self, extends: str, entry: str, ceiling: str, cause: str
    ) -> None:
        """Whatever else hides its tools, the entry promises what is not there."""
        text = f'[ceiling]\nallow = ["git_log", "{entry}"]\n{ceiling}'
        (problem,) = check(text, extends=extends)
        assert (problem.code, problem.severity) == ("allowed-in-vain", Severity.ERROR)
        assert problem.path == "ceiling.allow[1]"
        assert problem.message.endswith(cause)

    def test_another_allow_list_can_make_it_vain(self) -> None:
        """A parent's list holds too."""
        sources = [
            Source('name = "p"\n[ceiling]\nallow = ["tier:read"]', "p.toml"),
            Source(
                'name = "c"\nextends = "p"\n[ceiling]\nallow = ["git:*", "write_file"]', "c.toml"
            ),
        ]
        (problem,) = check_with_catalog(Library.load(sources).get("c"), TOOLS)
        assert problem.message == "the allow entry `write_file` leaves no tool: not-admitted"

    def test_an_entry_that_leaves_some_is_fine(self) -> None:
        """One tool left is enough."""
        assert check('[ceiling]\nallow = ["group:files"]', extends="plan") == ()

    def test_a_deny_list_that_leaves_nothing_is_an_error(self) -> None:
        """Nothing but the mode's own verbs would be left; `allow = []` says that outright."""
        (problem,) = check('[ceiling]\ndeny = ["git:*", "files:*", "new:*"]')
        assert listed([problem]) == [("deny-empties", "error", "ceiling.deny")]
        assert problem.where == Position("a.toml", 4, 9)
        assert check('[ceiling]\nallow = []\ndeny = ["git:*"]') == ()


class TestExamples:
    EXAMPLE = '[[example]]\ncall = {{ tool = "{}" }}\nverdict = "{}"\n'

    def test_an_example_with_another_verdict_is_an_error_at_its_place(self) -> None:
        """The author's expectation and the engine must agree."""
        text = self.EXAMPLE.format("git_log", "allow") + self.EXAMPLE.format("git_commit", "allow")
        (problem,) = check(text)
        assert listed([problem]) == [("example-differs", "error", "example[1]")]
        assert problem.where.line == 6
        assert problem.message == "`git_commit` gets `ask`, the example wants `allow`"
        assert blocks_host(problem)

    def test_a_tool_that_the_catalogue_does_not_know_is_passed_over(self) -> None:
        """Examples are checked where their tool is known."""
        assert check(self.EXAMPLE.format("elsewhere", "deny")) == ()

    def test_a_host_can_judge_with_its_classifiers(self) -> None:
        """The verdict of an example is the one that the host's own projection gives."""
        text = self.EXAMPLE.format("git_commit", "deny")
        assert check(text, judge=lambda call: Verdict.DENY) == ()


class TestWords:
    def test_guidance_may_not_name_a_tool_that_is_not_there(self) -> None:
        """S003-5: the words never order what the surface cannot do."""
        words = '[brief]\nguidance = "Use `write_file` and `submit_plan`, or `read_file`."'
        problems = check(words, extends="read-only")
        assert [p.message for p in problems] == [
            "the guidance names `write_file`, which this mode does not have",
            "the guidance names `submit_plan`, which this mode does not have",
        ]
        assert {p.where for p in problems} == {Position("a.toml", 4, 1)}

    def test_what_is_named_as_missed_may_be_named(self) -> None:
        """`missed` says that it is not there."""
        words = '[brief]\nmissed = ["write_file"]\nnudge = "There is no `write_file`."'
        assert check(words, extends="read-only") == ()

    def test_words_that_are_no_tools_are_just_words(self) -> None:
        """`depends_on` is no tool of anybody."""
        assert check('[brief]\nguidance = "Fill in `depends_on`."') == ()


def test_native_tools_need_not_be_in_the_catalogue() -> None:
    """A catalogue with the native verbs and one without give the same."""
    text = '[ceiling]\ndeny = ["git_comit"]\n[brief]\nguidance = "`submit_plan`"'
    assert check(text) == check(text, Catalog.union(TOOLS, native_catalog()))


def test_a_built_in_profile_only_gets_warnings() -> None:
    """What is shipped cannot know every catalogue."""
    catalog = Catalog([Tool("x", "todo", READ), Tool("x", "memo", READ, groups=["memories"])])
    problems = check_with_catalog(Library.load().get("plan"), catalog)
    assert problems
    assert {p.severity for p in problems} == {Severity.WARNING}
