import importlib.util
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Remit
from tests.needs import need_module


class TestOne:
    def test_json(self, remit: Remit, tmp_path: Path) -> None:
        """A command is answered with its effects, targets, and parts with reasons."""
        said = remit("classify", "--json", "--worktree", tmp_path, "--", "ls && rm -rf dist")

        assert said.code == 0
        assert said.json["cmd"] == "ls && rm -rf dist"
        assert said.json["effects"] == ["worktree.write", "file.delete"]
        assert said.json["targets"]["file.delete"] == ["dist"]
        assert said.json["opaque"] is False
        assert [p["text"] for p in said.json["parts"]] == ["ls", "rm -rf dist"]
        assert said.json["parts"][1]["why"] == ["removes `dist`"]

    def test_text(self, remit: Remit, tmp_path: Path) -> None:
        """A person sees the part that acts underlined, and why."""
        said = remit("classify", "--worktree", tmp_path, "--", "ls; rm x")

        assert "  ls; rm x\n      ~~~~\n    removes `x`" in said.out

    def test_text_of_inner_code(self, remit: Remit, tmp_path: Path) -> None:
        """What stands in quotes is shown by itself, a long line by the part that acts."""
        inner = remit("classify", "--worktree", tmp_path, "--", "bash -c 'ls; rm x'")
        long = remit("classify", "--worktree", tmp_path, "--", f"echo {'y' * 300}; rm x")
        lines = remit("classify", "--worktree", tmp_path, "--", "ls\n cd a\n rm x\nls")

        assert "  rm x\n  ~~~~\n    removes `x`" in inner.out
        assert "  rm x\n  ~~~~\n    removes `x`" in long.out
        assert "   rm x\n   ~~~~\n    removes `x`" in lines.out

    def test_words(self, remit: Remit, tmp_path: Path) -> None:
        """Several words are joined to a command line."""
        said = remit("classify", "--json", "--worktree", tmp_path, "--", "git", "push", "-f")

        assert "git.push" in said.json["effects"]

    def test_powershell(self, remit: Remit, tmp_path: Path) -> None:
        """Another shell's names are known too."""
        said = remit("classify", "--json", "--shell", "powershell", "--", "REMOVE-ITEM x")

        assert "file.delete" in said.json["effects"]

    @pytest.mark.parametrize("args", [[], ["--stdin", "--", "ls"]])
    def test_wrong(self, remit: Remit, args: list[str]) -> None:
        """No command, or two ways of giving one, is wrong input."""
        assert remit("classify", *args).code == 2


class TestLines:
    def test_order(self, remit: Remit) -> None:
        """Lines are answered in order, each under its own worktree."""
        lines = [
            {"cmd": "touch /a/x", "worktree": "/a", "cwd": "/a"},
            {"cmd": "touch /a/x", "worktree": "/b"},
        ]
        said = remit("classify", "--stdin", stdin="\n".join(map(json.dumps, lines)))

        assert [x["effects"] for x in said.lines] == [["worktree.write"], ["file.write_outside"]]

    @pytest.mark.parametrize(
        "line", ["{", "[]", '{"cmd": 1}', '{"cmd": "ls", "comand": 1}', '{"cmd": "ls", "cwd": 1}']
    )
    def test_bad(self, remit: Remit, line: str) -> None:
        """A line that cannot be read is told by its number; the rest are answered."""
        said = remit("classify", "--stdin", stdin=f'{line}\n{{"cmd": "ls"}}\n')

        assert said.code == 2
        assert said.lines[0]["line"] == 1
        assert said.lines[1]["effects"] == []


class TestModes:
    SHELL = ("--catalog", "claude-code")

    @pytest.mark.parametrize(
        ("command", "verdict"),
        [
            ("git log --oneline | head -3", "allow"),
            ("grep -rn 'rm -rf' . | wc -l", "allow"),
            ("curl -s https://example.test", "allow"),
            ("git checkout -b try", "deny"),
            ("sed -i s/a/b/ f.txt", "deny"),
            ("awk '{print}' a > b", "deny"),
            ("./run.sh", "deny"),
            ("git config --global --add safe.directory /srv/repo", "deny"),
        ],
    )
    def test_explore(self, remit: Remit, command: str, verdict: str) -> None:
        """Explore has a shell whose every command is judged (F1-02, F1-06, F1-07, F1-18)."""
        call = {"tool": "Bash", "args": {"command": command}, "worktree": "/ws", "cwd": "/ws"}

        (answer,) = remit("decide", "explore", *self.SHELL, stdin=json.dumps(call)).lines

        assert answer["verdict"] == verdict, answer["reason"]

    def test_explore_surface(self, remit: Remit) -> None:
        """Explore shows the shell and hides the tools that can only write."""
        said = remit("surface", "explore", *self.SHELL, "--json").json
        state = {t["name"]: t["state"] for t in said["tools"]}

        assert state["Bash"] == state["Read"] == "visible"
        assert state["Write"] == state["Edit"] == "hidden"

    @pytest.mark.parametrize(
        ("command", "verdict"),
        [
            ("echo x > docs/a.md", "ask"),
            ("sed -i s/a/b/ README.md", "ask"),
            ("tee docs/x < a", "ask"),
            ("echo x > src/a.py", "deny"),
            ("sed -i s/a/b/ docs/a.md src/a.py", "deny"),
            ("git checkout -- src/", "deny"),
            ("ls | tee src/x", "deny"),
            ("patch -p1 < x.patch", "deny"),
            ("cd docs && echo x > ../src/a", "deny"),
            ("rm docs/a.md", "deny"),
            ("ls docs", "allow"),
        ],
    )
    def test_docs_writer(self, remit: Remit, command: str, verdict: str) -> None:
        """The sample docs-writer writes documentation alone, by whatever command."""
        call = {"tool": "Bash", "args": {"command": command}, "worktree": "/ws", "cwd": "/ws"}

        (answer,) = remit("decide", "docs-writer", *self.SHELL, stdin=json.dumps(call)).lines

        assert answer["verdict"] == verdict, answer["reason"]

    @pytest.mark.parametrize(
        ("catalog", "tool", "args", "effects"),
        [
            ("claude-code", "Write", {"file_path": "/ws/a"}, ["worktree.write"]),
            ("claude-code", "Edit", {"file_path": "/x"}, ["file.write_outside"]),
            ("claude-code", "Read", {"file_path": "/ws/.env"}, ["secret.read"]),
            (
                "codex",
                "shell",
                {"command": ["bash", "-lc", "git push"]},
                ["git.push", "network.egress"],
            ),
            ("codex", "apply_patch", {"input": "*** Update File: a\n"}, ["worktree.write"]),
            (
                "gemini-cli",
                "run_shell_command",
                {"command": "rm a"},
                ["worktree.write", "file.delete"],
            ),
            ("gemini-cli", "replace", {"file_path": "a"}, ["worktree.write"]),
            (
                "opencode",
                "bash",
                {"command": "npm i x"},
                ["worktree.write", "package.install", "network.egress"],
            ),
            ("opencode", "edit", {"filePath": "../a"}, ["file.write_outside"]),
            ("mcp-filesystem", "write_file", {"path": "/ws/a", "content": "x"}, ["worktree.write"]),
            (
                "mcp-filesystem",
                "move_file",
                {"source": "/ws/a", "destination": "/x"},
                ["worktree.write", "file.delete", "file.write_outside"],
            ),
            (
                "mcp-git",
                "git_commit",
                {"repo_path": "/ws", "message": "x"},
                ["worktree.write", "git.commit"],
            ),
        ],
    )
    def test_catalogs(
        self, remit: Remit, catalog: str, tool: str, args: dict[str, object], effects: list[str]
    ) -> None:
        """The tools of agent hosts and servers are judged by the arguments that matter."""
        call = {"tool": tool, "args": args, "worktree": "/ws", "cwd": "/ws"}

        (answer,) = remit("decide", "chat", "--catalog", catalog, stdin=json.dumps(call)).lines

        assert (answer["effects"], answer["opaque"]) == (effects, False)


def test_explain_shell(remit: Remit, tmp_path: Path) -> None:
    """A command is explained part by part, its text underlined, with the target that is outside."""
    command = "echo x > docs/a; cd src && sed -i s/a/b/ ../docs/b a.py; git push"
    asked = ("explain", "docs-writer", "Bash", "--catalog", "claude-code", "--worktree", tmp_path)
    said = remit(*asked, "--args", json.dumps({"command": command}))
    parts = remit(*asked, "--args", json.dumps({"command": command}), "--json").json["parts"]

    lines = said.out.splitlines()
    assert f"  {command}" in lines
    assert " " * (2 + command.index("sed")) + "~" * len("sed -i s/a/b/ ../docs/b a.py") in lines
    assert "    writes `a.py`" in lines
    assert "    worktree.write: docs/b, src/a.py (outside the limit)" in lines
    assert any(x.startswith("    git.push: ") and x.endswith(" (refused)") for x in lines)
    assert "\x1b" not in said.out
    assert [p["outside"] for p in parts if p["outside"]] == [{"worktree.write": ["src/a.py"]}]
    assert command[slice(*parts[2]["at"])] == parts[2]["text"]


def test_explain_words(remit: Remit, tmp_path: Path) -> None:
    """A command that is given as a list of words is explained like any."""
    args = json.dumps({"command": ["bash", "-lc", "ls; git push"]})
    asked = ("explain", "explore", "shell", "--catalog", "codex", "--worktree", tmp_path)

    said = remit(*asked, "--args", args)

    assert "  git push\n  ~~~~~~~~\n" in said.out


def test_explain_another_tool(remit: Remit) -> None:
    """A tool that runs no command line has no parts."""
    assert (
        remit("explain", "plan", "git_commit", "--catalog", "mcp-git", "--json").json["parts"] == []
    )


def test_another_repository(remit: Remit) -> None:
    """A git tool that is pointed at a repository outside is more than its catalogue declares."""
    call = {"tool": "git_add", "args": {"repo_path": "/other", "files": ["a"]}, "worktree": "/ws"}

    (answer,) = remit("decide", "chat", "--catalog", "mcp-git", stdin=json.dumps(call)).lines

    assert (answer["effects"], answer["opaque"]) == (["file.write_outside"], True)


def test_no_worktree(remit: Remit) -> None:
    """Without a worktree nothing is inside, so a git tool that writes is opaque."""
    calls = [
        {"tool": "git_commit", "args": {"repo_path": "/ws", "message": "x"}},
        {"tool": "git_status", "args": {"repo_path": "/ws"}},
    ]
    said = remit("decide", "chat", "--catalog", "mcp-git", stdin="\n".join(map(json.dumps, calls)))

    assert [x["opaque"] for x in said.lines] == [True, False]
    assert said.lines[0]["effects"] == ["file.write_outside", "git.commit"]


def test_conformance(remit: Remit) -> None:
    """The shipped corpus is judged right, and is told by its figures."""
    pytest.importorskip("sqlglot")

    said = remit("conformance", "--json")

    assert said.code == 0, said.out[:2000]
    assert said.json["lines"] >= 800
    assert said.json["wrong"] == []


@pytest.mark.parametrize("there", [True, False])
def test_what_reads_sql(remit: Remit, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    """Where SQL cannot be read, the corpus and the doctor say what to install."""
    need_module("sqlglot")
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name: find(name) if there or name != "sqlglot" else None,
    )
    if not there:
        monkeypatch.setitem(sys.modules, "sqlglot", None)

    said = remit("conformance")
    (found,) = [f for f in remit("doctor", "--json").json if f["part"] == "sql"]

    assert (said.code, found["state"]) == ((0, "ok") if there else (1, "warning"))
    assert ("remit[guard]" in said.err) is not there
