"""The built-in classifiers: one call, by what its arguments are."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import pytest

from remit.harness.engine import Engine
from remit.plugins.classifiers import classify, wants
from remit.policy.projection import Host
from remit.policy.tools import Call, CallEffects, Catalog, Facts, Repo, Tool

FACTS = Facts(worktree="/ws", cwd="/ws", home="/home/u", plain=True)


def _judge(
    classifier: str, arguments: Mapping[str, str], args: Mapping[str, Any], facts: Facts = FACTS
) -> CallEffects:
    tool = Tool("s", "t", classify=classifier, arguments=arguments)
    return classify(Call("t", args), tool, facts)


class TestPaths:
    @pytest.mark.parametrize(
        ("role", "path", "effects", "targets"),
        [
            ("write", "/ws/a", {"worktree.write"}, ("a",)),
            ("write", "a/../b", {"worktree.write"}, ("b",)),
            ("write", "../a", {"file.write_outside"}, ("/a",)),
            ("write", "/ws2/a", {"file.write_outside"}, ("/ws2/a",)),
            ("write", "~/a", {"file.write_outside"}, ("/home/u/a",)),
            ("write", "/dev/null", set(), ()),
            ("delete", "a", {"worktree.write", "file.delete"}, ("a",)),
            ("read", "a", set(), ()),
            ("read", ".env", {"secret.read"}, (".env",)),
            ("read", "/home/u/.aws/credentials", {"secret.read"}, ("/home/u/.aws/credentials",)),
            ("read", ".env.example", set(), ()),
            ("list", ".env", set(), ()),
        ],
    )
    def test_place(self, role: str, path: str, effects: set[str], targets: tuple[str, ...]) -> None:
        """A path has its effect by where it lies, however it is spelled."""
        found = _judge("path", {"p": role}, {"p": path})

        assert found.effects == effects
        assert not found.opaque
        for effect in effects:
            assert found.targets[effect] == targets

    def test_links(self) -> None:
        """A link leads where it leads: both ends are targets, and outside is outside (F3-21)."""
        facts = Facts(
            worktree="/ws", cwd="/ws", links={"/ws/l": "/etc", "/ws/m": "/ws/src"}, plain=True
        )

        assert _judge("path", {"p": "write"}, {"p": "l/x"}, facts).targets == {
            "file.write_outside": ("/etc/x", "l/x")
        }
        assert _judge("path", {"p": "write"}, {"p": "m/x"}, facts).targets == {
            "worktree.write": ("src/x", "m/x")
        }

    def test_parent_of_a_link(self) -> None:
        """`..` behind a link is the parent of where it leads."""
        facts = Facts(worktree="/ws", cwd="/ws", links={"/ws/l": "/etc/a"}, plain=True)

        assert _judge("path", {"p": "write"}, {"p": "l/../x"}, facts).effects == {
            "file.write_outside"
        }

    def test_protected(self) -> None:
        """A protected path is told by whatever way it is reached, and what holds it too."""
        facts = Facts(
            worktree="/ws", cwd="/ws", protected=("/ws/keep",), hidden=("/k/token",),
            links={"/ws/l": "/ws/keep"}, plain=True,
        )  # fmt: skip

        for path in ("keep", "keep/a", "l/a", "x/../keep/a"):
            assert _judge("path", {"p": "write"}, {"p": path}, facts).protected, path
        assert _judge("path", {"p": "delete"}, {"p": "."}, facts).protected
        assert not _judge("path", {"p": "write"}, {"p": "keep2"}, facts).protected
        assert not _judge("path", {"p": "read"}, {"p": "keep/a"}, facts).protected
        assert _judge("path", {"p": "read"}, {"p": "/k/token"}, facts).protected

    def test_windows(self) -> None:
        """Separators and case are unified where the worktree is one of Windows (F3-23)."""
        facts = Facts(worktree="C:\\ws", cwd="C:\\ws", plain=True)

        for path in (
            ".state\\a\\b.json",
            ".STATE/a/b.json",
            "C:\\ws\\.state\\a\\b.json",
            "c:/WS/.state/a/b.json",
        ):
            found = _judge("path", {"p": "write"}, {"p": path}, facts)
            assert found.targets == {"worktree.write": (".state/a/b.json",)}

    def test_scratch(self) -> None:
        """What is written to the space's own scratch folder does not count."""
        facts = Facts(worktree="/ws", cwd="/ws", scratch="/tmp/s1", plain=True)

        assert _judge("path", {"p": "write"}, {"p": "/tmp/s1/a"}, facts).effects == frozenset()
        assert _judge("path", {"p": "write"}, {"p": "/tmp/s2/a"}, facts).effects

    def test_nobody_looked(self) -> None:
        """A path that nobody looked at makes the call opaque, and is wanted."""
        facts = Facts(worktree="/ws", cwd="/ws")
        tool = Tool("s", "t", classify="path", arguments={"p": "write"})
        call = Call("t", {"p": "a"})

        assert classify(call, tool, facts).opaque
        assert wants(call, tool, facts).paths == {"/ws/a"}

    def test_missing_argument(self) -> None:
        """A call that does not say what it writes can be the worst that its tool declares."""
        tool = Tool("s", "t", effects={"worktree.write"}, classify="path", arguments={"p": "write"})

        assert _judge("path", {"p": "write"}, {"q": "a"}).opaque
        assert classify(Call("t"), tool, FACTS).targets == {"worktree.write": ("?",)}
        assert not _judge("path", {"p": "read"}, {}).opaque

    def test_lists(self) -> None:
        """Lists are gone through, and dotted names are within."""
        found = _judge("path", {"edits.file": "write"}, {"edits": [{"file": "a"}, {"file": "/b"}]})

        assert found.effects == {"worktree.write", "file.write_outside"}

    @pytest.mark.parametrize(
        ("patch", "effects"),
        [
            ("*** Begin Patch\n*** Update File: a\n@@\n*** End Patch", {"worktree.write"}),
            ("*** Delete File: a\n", {"worktree.write", "file.delete"}),
            ("*** Add File: ../a\n+x", {"file.write_outside"}),
            ("*** Update File: a\n*** Move to: /b\n", {"worktree.write", "file.write_outside"}),
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", {"worktree.write"}),
            ("--- /dev/null\n+++ /etc/x\n", {"file.write_outside"}),
        ],
    )
    def test_patch(self, patch: str, effects: set[str]) -> None:
        """A patch writes the files that it names."""
        assert _judge("path", {"p": "patch"}, {"p": patch}).effects == effects


class TestOthers:
    @pytest.mark.parametrize(
        ("args", "effects"),
        [
            ({"url": "https://x.test/a"}, {"network.egress"}),
            ({"url": "https://x.test/a", "method": "DELETE"}, {"network.egress", "vendor.write"}),
            (
                {"url": "https://api.github.com/repos/o/r/pulls", "method": "POST"},
                {"network.egress", "pr.create"},
            ),
            ({"url": "http://localhost:1/a", "method": "POST"}, {"network.egress"}),
        ],
    )
    def test_http(self, args: dict[str, str], effects: set[str]) -> None:
        """A request is judged by its method and its host."""
        assert _judge("http", {}, args).effects == effects

    def test_host_is_the_target(self) -> None:
        """The host is the target, with a port that is not the usual one (F3-30)."""
        for url, host in [
            ("https://api.example.test/x", "api.example.test"),
            ("https://api.example.test.evil.test/", "api.example.test.evil.test"),
            ("http://api.example.test:8080/", "api.example.test:8080"),
            ("https://u:p@api.example.test/", "api.example.test"),
        ]:
            assert _judge("http", {}, {"url": url}).targets == {"network.egress": (host,)}

    @pytest.mark.parametrize(
        ("statement", "effects", "opaque"),
        [
            ("SELECT 1", set(), False),
            ("select a from b where c = 'delete from d'", set(), False),
            ("WITH x AS (SELECT 1) SELECT * FROM x", set(), False),
            ("EXPLAIN SELECT 1", set(), False),
            ("DELETE FROM t", {"vendor.write"}, False),
            ("SELECT 1; DROP TABLE t", {"vendor.write"}, False),
            ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", {"vendor.write"}, False),
            ("UPDATE t SET a = 1", {"vendor.write"}, False),
            ("CREATE TABLE t (a int)", {"vendor.write"}, False),
            ("COPY t TO PROGRAM 'rm a'", {"vendor.write", "process.spawn"}, True),
            ("ATTACH DATABASE 'x' AS y", {"vendor.write"}, True),
            ("select pg_read_file('/etc/passwd')", {"process.spawn"}, True),
            ("not sql at all (", {"vendor.write"}, True),
        ],
    )
    def test_sql(self, statement: str, effects: set[str], opaque: bool) -> None:
        """A text of SQL is judged by each of its statements."""
        pytest.importorskip("sqlglot")

        found = _judge("sql", {}, {"sql": statement})

        assert (set(found.effects), found.opaque) == (effects, opaque)

    def test_actions(self) -> None:
        """A tool of several actions has each one's effects; an unknown one is opaque (F1-21)."""
        tool = Tool(
            "s", "agents", effects={"workspace.mutate"}, classify="action",
            actions={"list": [], "start": ["workspace.mutate"]},
        )  # fmt: skip

        def found(args: dict[str, str]) -> CallEffects:
            return classify(Call("agents", args), tool, FACTS)

        listed = found({"action": "list"})
        assert not listed.effects
        assert not listed.opaque
        assert found({"action": "start"}).effects == {"workspace.mutate"}
        assert found({"action": "frobnicate"}).opaque
        assert found({}).targets == {"workspace.mutate": ("?",)}

    def test_words(self) -> None:
        """A command that comes as a list of words runs without a shell."""
        assert _judge("shell", {}, {"command": ["rm", "a"]}).effects == {
            "worktree.write",
            "file.delete",
        }
        assert _judge("shell", {}, {"command": ["echo", "; rm a"]}).effects == frozenset()
        assert _judge("shell", {}, {"command": ["bash", "-lc", "rm a"]}).effects >= {"file.delete"}
        assert _judge("shell", {}, {"command": 7}).opaque

    def test_folder(self) -> None:
        """A call's own folder is where its relative paths start."""
        args = {"command": "touch a", "workdir": "/other"}

        assert _judge("shell", {}, args).targets == {"file.write_outside": ("/other/a",)}


class TestRepository:
    """What a repository's own configuration names runs with commands that look harmless."""

    @pytest.mark.parametrize(
        ("config", "command", "runs"),
        [
            ({"core.fsmonitor": ("./x",)}, "git status", True),
            ({"core.fsmonitor": ("false",)}, "git status", False),
            ({"core.fsmonitor": ("./x",)}, "git branch --list", False),
            ({"core.pager": ("./x",)}, "git log", True),
            ({"core.pager": ("less -F",)}, "git log", False),
            ({"pager.log": ("./x",)}, "git log", True),
            ({"diff.external": ("./x",)}, "git diff", True),
            ({"diff.a.textconv": ("./x",)}, "git show", True),
            ({"diff.a.textconv": ("./x",)}, "git status", False),
            ({"filter.a.clean": ("./x",)}, "git add .", True),
            ({"core.sshcommand": ("./x",)}, "git fetch", True),
            ({"credential.helper": ("!./x",)}, "git push", True),
            ({"credential.helper": ("store",)}, "git push", False),
            ({"alias.st": ("!./x",)}, "git st", True),
            ({"alias.st": ("status",)}, "git st", False),
            ({"alias.status": ("!./x",)}, "git status", False),
            ({"user.name": ("x",)}, "git log", False),
        ],
    )
    def test_helper(self, config: dict[str, tuple[str, ...]], command: str, runs: bool) -> None:
        """A helper that a command uses is a program that runs; one that it does not use is not."""
        facts = Facts(
            worktree="/ws", cwd="/ws", repos={"/ws": Repo("/ws/.git", config)}, plain=True
        )

        found = _judge("shell", {}, {"command": command}, facts)

        assert ("process.spawn" in found.effects) == runs

    @pytest.mark.parametrize(
        ("command", "runs"),
        [
            ("git commit -m x", True),
            ("git commit --no-verify -m x", False),
            ("git log", False),
            ("git -C sub commit -m x", True),
            ("cd /elsewhere && git commit -m x", False),
        ],
    )
    def test_hook(self, command: str, runs: bool) -> None:
        """A hook runs with the commands that it belongs to, in its own repository."""
        repo = Repo("/ws/.git", hooks={"pre-commit"})
        facts = Facts(worktree="/ws", cwd="/ws", repos={"/ws": repo}, plain=True)

        found = _judge("shell", {}, {"command": command}, facts)

        assert ("process.spawn" in found.effects) == runs


class TestWithoutSqlglot:
    @pytest.fixture(autouse=True)
    def missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As where the extra `guard` is not installed."""
        monkeypatch.setitem(sys.modules, "sqlglot", None)

    def test_sql_is_unread(self) -> None:
        """No statement is read, so each may change anything and is opaque."""
        found = _judge("sql", {}, {"sql": "select 1"})

        assert found.effects == {"vendor.write"}
        assert found.opaque

    def test_a_client_is_opaque(self) -> None:
        """A database client that is handed SQL is opaque, in a shell too."""
        found = _judge("shell", {}, {"command": "psql -c 'select 1'"})

        assert found.opaque
        assert "vendor.write" in found.effects

    def test_tools_judged_by_it_are_undeclared(self) -> None:
        """A tool that names the classifier is undeclared: hidden where the unknown is refused."""
        engine = Engine.load()
        tool = Tool("db", "query", effects={"vendor.write"}, classify="sql")
        catalog = Catalog([tool], engine.registry.classifiers)

        assert "sql" not in engine.registry.classifiers
        assert not catalog.declared(tool)
        compiled = engine.project(engine.profile("explore"), catalog, Host("all")).compiled
        assert not compiled.admits("db:query")
