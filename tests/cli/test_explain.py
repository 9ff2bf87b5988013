import json
from pathlib import Path

import pytest

from tests.cli.conftest import Remit

GIT = ("--catalog", "mcp-git")


class TestCalls:
    def test_the_line(self, remit: Remit, tmp_path: Path) -> None:
        """A refusal is traced to the line of the file that states it, and what it shadows."""
        path = tmp_path / "mine.toml"
        path.write_text('name = "mine"\n\n[ceiling]\ntier = "read"\ndeny = ["git_commit"]\n')

        told = remit("explain", path, "git_commit", *GIT, "--json").json

        (fact,) = told["decided"]
        assert (fact["where"]["file"], fact["where"]["line"]) == (str(path), 5)
        assert (fact["side"], fact["name"], told["layer"]) == ("mine", "deny.git_commit", "filter")
        assert ("mine", "tier") in [(f["side"], f["name"]) for f in told["shadowed"]]
        assert told["flip"]["becomes"] == "ask"
        assert told["declared"]["where"]["file"].endswith("mcp-git.toml")

    @pytest.mark.parametrize(
        ("mode", "tool", "state", "outcomes"),
        [
            ("plan", "submit_plan", "pinned", ["decided", *["not reached"] * 3]),
            ("plan", "git_commit", "hidden", ["passed", "decided", *["not reached"] * 2]),
            ("plan", "git_log", "visible", [*["passed"] * 3, "decided"]),
            ("plan", "git_comit", "unknown", ["passed", "decided", *["not reached"] * 2]),
        ],
    )
    def test_layers(
        self, remit: Remit, mode: str, tool: str, state: str, outcomes: list[str]
    ) -> None:
        """Each layer is told, and whether the tool is in the list."""
        told = remit("explain", mode, tool, *GIT, "--json").json

        assert told["state"] == state
        assert [layer["outcome"] for layer in told["layers"]] == outcomes

    def test_an_example_that_differs(self, remit: Remit, tmp_path: Path) -> None:
        """A mode that does not fit its catalogue is explained all the same."""
        path = tmp_path / "mine.toml"
        example = '[[example]]\ncall = { tool = "git_commit" }\nverdict = "allow"\n'
        path.write_text(f'name = "mine"\n{example}')

        said = remit("explain", path, "git_commit", *GIT, "--json")

        assert (said.code, said.json["verdict"]) == (0, "ask")
        assert "[example-differs]" in said.err

    def test_arguments(self, remit: Remit) -> None:
        """The arguments of a call count: one that names a protected path has no flip."""
        args = json.dumps({"path": str(Path.home() / ".claude" / "settings.json")})
        files = ("--catalog", "mcp-filesystem")

        told = remit("explain", "chat", "write_file", *files, "--args", args, "--json").json

        assert (told["layer"], told["cause"], told["flip"]) == ("guard", "protected", None)

    def test_near(self, remit: Remit) -> None:
        """An unknown tool is told with near misses."""
        assert "`git_commit`" in remit("explain", "chat", "git_comit", *GIT).out

    def test_people(self, remit: Remit) -> None:
        """The text names mode, tool, lines and the change, and other modes that judge otherwise."""
        text = remit("explain", "plan", "git_commit", *GIT).out

        for said in (
            "plan mode refused",
            "built-in/read-only.toml:9",
            "to flip it: take",
            "chat ask",
        ):
            assert said in text


class TestSides:
    def test_overlay(self, remit: Remit, tmp_path: Path) -> None:
        """What an overlay removes is told as its own, with its line."""
        over = tmp_path / "over.toml"
        over.write_text('[ceiling]\nrefuse = ["git.commit"]\n')

        told = remit("explain", "chat", "git_commit", *GIT, "--overlay", over, "--json").json

        assert [(f["side"], f["where"]["line"]) for f in told["decided"]] == [("overlay", 2)]

    def test_child(self, remit: Remit) -> None:
        """What a child's parent removes is told as the parent's, and once if both state it."""
        child = remit("explain", "chat", "git_add", *GIT, "--child-of", "plan", "--json").json
        same = remit("explain", "plan", "git_add", *GIT, "--child-of", "plan", "--json").json

        assert [f["side"] for f in child["decided"]] == ["child of plan: read-only"]
        assert [f["side"] for f in same["decided"]] == ["read-only"]

    def test_space(self, remit: Remit, workspace: dict[str, str], tmp_path: Path) -> None:
        """A space brings its mode, dial, settings and overlay."""
        over = tmp_path / "over.toml"
        over.write_text('[ceiling]\nrefuse = ["git.commit"]\n')
        remit("space", "create", "desk")
        remit("space", "effect", "desk", "worktree.write", "deny")

        told = remit("explain", "git_add", "--space", "desk", *GIT, "--json").json
        assert (told["mode"], told["verdict"]) == ("chat", "deny")
        assert [f["side"] for f in told["decided"]] == ["space"]

        remit("space", "overlay", "desk", over)
        told = remit("explain", "chat", "git_commit", "--space", "desk", *GIT, "--json").json
        assert [f["side"] for f in told["decided"]] == ["overlay"]
        assert told["elsewhere"] == {}

    @pytest.mark.parametrize("command", ["surface", "preamble"])
    def test_elsewhere(self, remit: Remit, tmp_path: Path, command: str) -> None:
        """Surface and preamble take the same sides."""
        over = tmp_path / "over.toml"
        over.write_text('[ceiling]\ndeny = ["git_log"]\n')
        plain, narrowed = (
            remit(command, "plan", *GIT, *more, "--json").json for more in ((), ("--overlay", over))
        )

        assert plain["hash"] != narrowed["hash"]

    def test_show(self, remit: Remit, tmp_path: Path) -> None:
        """Each side of the meet says what it states."""
        over = tmp_path / "over.toml"
        over.write_text('[ceiling]\ntier = "read"\n')
        shown = remit("show", "plan", "--overlay", over, "--json").json

        assert [s["name"] for s in shown["sides"]] == ["chat", "read-only", "plan", "overlay"]
        assert shown["sides"][-1]["states"] == {"tier": "read"}
        assert shown["ceiling"]["tier"] == "read"


@pytest.mark.parametrize(
    "args",
    [
        ("plan",),
        ("plan", "git_log", "more"),
        ("plna", "git_log"),
        ("plan", "git_log", "--args", "[]"),
    ],
)
def test_bad(remit: Remit, args: tuple[str, ...]) -> None:
    """What cannot be explained is told, with nothing on standard output."""
    said = remit("explain", *args, *GIT)

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: ")
