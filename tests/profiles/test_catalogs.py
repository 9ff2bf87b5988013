"""Catalogues: what is shipped, what a file may say, and what a server's own list is worth."""

import json
from pathlib import Path

import pytest

from remit.policy.problems import InputError, Position, Severity
from remit.policy.tools import Catalog, Tool
from remit.policy.vocabulary import EFFECTS, Tier
from remit.profiles.catalogs import catalog_source, load_catalog, native_catalog, parse_catalog
from remit.profiles.shipped import shipped_catalogs
from remit.profiles.source import Source

#: Tools that the servers announced as not destructive or read-only, and what a call can do.
JUDGED = [
    ("mcp-git", "git_commit", Tier.WRITE, {"worktree.write", "git.commit"}),
    ("mcp-git", "git_add", Tier.WRITE, {"worktree.write"}),
    ("mcp-git", "git_reset", Tier.WRITE, {"worktree.write"}),
    ("mcp-git", "git_create_branch", Tier.WRITE, {"worktree.write"}),
    ("mcp-git", "git_checkout", Tier.WRITE, {"worktree.write", "file.delete"}),
    ("mcp-git", "git_status", Tier.READ, set()),
    ("mcp-git", "git_log", Tier.READ, set()),
    ("mcp-git", "git_show", Tier.READ, {"secret.read"}),
    ("mcp-fetch", "fetch", Tier.READ, {"network.egress"}),
    ("mcp-time", "get_current_time", Tier.READ, set()),
    ("mcp-filesystem", "read_text_file", Tier.READ, {"secret.read"}),
    ("mcp-filesystem", "list_directory", Tier.READ, set()),
    ("mcp-filesystem", "create_directory", Tier.WRITE, {"worktree.write", "file.write_outside"}),
    (
        "mcp-filesystem",
        "move_file",
        Tier.WRITE,
        {"worktree.write", "file.write_outside", "file.delete"},
    ),
    ("mcp-memory", "delete_entities", Tier.WRITE, {"record.write"}),
    ("mcp-everything", "get-env", Tier.READ, {"secret.read"}),
    ("mcp-github", "merge_pull_request", Tier.WRITE,
     {"git.commit", "git.push", "pr.publish", "vendor.write", "network.egress"}),
]  # fmt: skip


def tool_of(catalog: Catalog, name: str) -> Tool:
    found = catalog.get(name)
    assert found is not None
    return found


class TestShipped:
    def test_the_catalogues_of_the_slice_are_there(self) -> None:
        """Issues 1 to 3 name servers, agent hosts and our shell, issue 7 our own tools."""
        assert set(shipped_catalogs()) == {
            *("mcp-git", "mcp-fetch", "mcp-time", "mcp-filesystem", "mcp-memory"),
            *("mcp-sqlite", "mcp-everything", "mcp-sequential-thinking", "mcp-github"),
            *("claude-code", "codex", "gemini-cli", "opencode", "remit-shell"),
            "harness",
        }

    @pytest.mark.parametrize("name", shipped_catalogs())
    def test_each_is_whole_and_declares_all(self, name: str) -> None:
        """Every tool has effects that somebody judged, and a group that profiles can name."""
        loaded = parse_catalog(catalog_source(name))
        assert loaded.problems == ()
        for tool in loaded.require().tools:
            assert tool.source == name
            assert tool.declared
            assert tool.groups
            assert tool.effects <= set(EFFECTS)
            # A tool that can write and declares nothing would always ask; none is meant so.
            assert tool.tier is Tier.READ or tool.effects

    @pytest.mark.parametrize(("catalog", "tool", "tier", "effects"), JUDGED)
    def test_annotations_are_not_believed(
        self, catalog: str, tool: str, tier: Tier, effects: set[str]
    ) -> None:
        """What counts is the worst that a call can do, whatever the server says."""
        found = tool_of(load_catalog(catalog), tool)
        assert (found.tier, set(found.effects)) == (tier, effects)

    def test_native_verbs_are_remits_own(self) -> None:
        """S003-19: `ask_user` is read tier; only what is built may serve as a verb."""
        natives = {t.name: t for t in native_catalog().tools}
        review = [f"{act}_review_node" for act in ("add", "confirm", "dismiss")]
        review.append("finalize_review")
        assert set(natives) == {
            *("mode", "ask_user", "submit_plan", "present_plan", "exit_plan_mode"),
            *("nothing_to_deliver", "propose_orchestration", "complete_stage", *review),
        }
        assert {t.source for t in natives.values()} == {"remit"}
        assert natives["ask_user"].tier is Tier.READ
        assert [n for n, t in natives.items() if t.verb] == [
            "submit_plan", *review, "propose_orchestration",
        ]  # fmt: skip
        assert [n for n, t in natives.items() if t.exit] == ["exit_plan_mode"]

    def test_an_unknown_name_is_told_with_near_misses(self) -> None:
        """`mcp-gti` is no catalogue; which one was meant is said."""
        with pytest.raises(InputError) as caught:
            load_catalog("mcp-gti")
        (problem,) = caught.value.problems
        assert problem.code == "unknown-catalog"
        assert "`mcp-git`" in problem.hint

    def test_an_operator_names_the_server(self) -> None:
        """A shipped catalogue bound to a server bears the server's name."""
        tools = load_catalog("mcp-git", source="repo").tools
        assert {t.source for t in tools} == {"repo"}
        with pytest.raises(InputError, match="may not be the name"):
            load_catalog("mcp-git", source="tier")


class TestToml:
    def test_the_source_is_the_files_name_unless_said(self, tmp_path: Path) -> None:
        """Default: the file's name without its extension."""
        file = tmp_path / "my-server.toml"
        file.write_text('[tools.x]\ntier = "read"\neffects = []\n')
        assert tool_of(load_catalog(file), "my-server:x").where == Position(str(file), 1, 8)
        file.write_text('source = "other"\n[tools.x]\n')
        assert tool_of(load_catalog(str(file)), "x").source == "other"

    def test_what_is_not_said_is_the_strictest(self) -> None:
        """No tier is execute, no effects is undeclared, which `[]` is not."""
        tools = parse_catalog(Source("[tools.x]\n[tools.y]\neffects = []", "a.toml")).require()
        assert (tool_of(tools, "x").tier, tool_of(tools, "x").declared) == (Tier.EXECUTE, False)
        assert tool_of(tools, "y").declared

    @pytest.mark.parametrize("source", ["group", "tier", "remit", "a:b", "", "a b", "x" * 65])
    def test_names_that_divide_selectors_are_no_sources(self, source: str) -> None:
        """`group`, `tier`, `remit` and a colon would make selectors mean something else."""
        loaded = parse_catalog(Source(f"source = '{source}'\n[tools.x]", "a.toml"))
        assert [p.code for p in loaded.problems] == ["bad-source"]

    def test_all_problems_are_told_at_once(self) -> None:
        """Every tool is checked, whatever is wrong with the others."""
        text = """
            [tools.a]
            effects = ["git.psuh", "git.comit"]
            [tools."b b"]
            verb = true
            [tools.c]
            effects = []
            least = [["git.push"]]
        """
        loaded = parse_catalog(Source(text, "a.toml"))
        assert [p.code for p in loaded.problems] == [
            "unknown-effect",
            "unknown-effect",
            "bad-tool-name",
            "open-verb",
            "least-unclassified",
            "least-outside",
        ]

    def test_effects_are_spelt_out(self) -> None:
        """A bound that is a glob would grow with every plugin."""
        loaded = parse_catalog(Source('[tools.a]\neffects = ["git.*"]', "a.toml"))
        assert [p.code for p in loaded.problems] == ["unknown-effect"]


class TestToolsList:
    @pytest.mark.parametrize("bare", [True, False])
    @pytest.mark.parametrize("indent", [None, 2])
    def test_a_servers_list_declares_nothing(
        self, tmp_path: Path, bare: bool, indent: int | None
    ) -> None:
        """Tools of a `tools/list` answer are undeclared, whatever their annotations say."""
        listed = [{"name": "read", "annotations": {"readOnlyHint": True}}, {"name": "b/c"}]
        file = tmp_path / "server.json"
        file.write_text(json.dumps(listed if bare else {"tools": listed}, indent=indent))
        tools = load_catalog(file).tools
        assert [(t.key, t.tier, t.declared) for t in tools] == [
            ("server:read", Tier.EXECUTE, False),
            ("server:b/c", Tier.EXECUTE, False),
        ]

    @pytest.mark.parametrize("text", ["{}", '{"tools": {}}', '{"tools": null}', '"x"', "3"])
    def test_json_of_another_kind_is_no_list(self, text: str) -> None:
        """What is not a list of tools is said."""
        loaded = parse_catalog(Source(text, "a.json"))
        assert [p.code for p in loaded.problems] == ["bad-tool-list"]

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ('{"tools": [NaN]}', "json-syntax"),
            ('{"tools": [' + "7" * 5_000 + "]}", "number-too-large"),
            ("[" * 100_000, "too-deep"),
            ('{"tools": [], "tools": []}', "duplicate-key"),
            ("", "json-syntax"),
        ],
        ids=range(5),
    )
    def test_hostile_json_is_one_problem(self, text: str, code: str) -> None:
        """Never a traceback, and never the last of two keys."""
        assert [p.code for p in parse_catalog(Source(text, "a.json")).problems] == [code]

    def test_what_cannot_be_called_by_name_is_left_out(self) -> None:
        """A malformed or a native name leaves its tool out with a warning, and keeps the rest."""
        names = ["fine", "submit_plan", "a b", "x" * 129, "r\u202eead"]
        text = json.dumps([{"name": n} for n in names])
        loaded = parse_catalog(Source(text, "a.json"))
        assert [t.name for t in loaded.require().tools] == ["fine"]
        assert [p.code for p in loaded.problems] == ["native-name", *["bad-tool-name"] * 3]
        assert {p.severity for p in loaded.problems} == {Severity.WARNING}
        assert "\u202e" not in str(loaded.problems[-1])
