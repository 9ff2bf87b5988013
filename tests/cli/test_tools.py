import json
from pathlib import Path

import pytest

from remit.harness.engine import Engine
from remit.profiles.names import BUILT_IN
from tests.cli.conftest import Remit

GIT = ("--catalog", "mcp-git")


class TestCatalog:
    def test_everything(self, remit: Remit) -> None:
        """Without a name all that is shipped is listed, and the native verbs at the end."""
        listed = remit("catalog", "--json").json

        sources = list(dict.fromkeys(t["source"] for t in listed))
        assert sources == [*Engine.load().shipped, "remit"]

    def test_server_list(self, remit: Remit, tmp_path: Path) -> None:
        """The tools of a tools/list are undeclared: nobody said what they do."""
        path = tmp_path / "live.json"
        hint = {"readOnlyHint": True}
        path.write_text(json.dumps({"tools": [{"name": "look", "annotations": hint}]}))

        said = remit("catalog", path, "--json").json

        assert [(t["source"], t["name"], t["declared"]) for t in said] == [("live", "look", False)]
        assert "1 undeclared" in remit("catalog", path).err

    def test_configured(self, remit: Remit, home: Path) -> None:
        """The operator's catalogues stand in where none is named."""
        (home / "remit.toml").write_text('catalogs = ["mcp-time"]\n')

        tools = remit("surface", "chat", "--json").json["tools"]

        assert {t["source"] for t in tools} == {"mcp-time", "remit"}


class TestSurface:
    @pytest.mark.parametrize("mode", BUILT_IN)
    def test_order(self, remit: Remit, mode: str) -> None:
        """Every tool has a row in catalogue order, then come the native tools of the mode."""
        rows = remit("surface", mode, *GIT, "--catalog", "mcp-time", "--json").json["tools"]
        engine = Engine.load()
        tools = [t.name for t in engine.catalogs(["mcp-git", "mcp-time"]).tools]
        pins = [r["name"] for r in rows[len(tools) :]]

        assert [r["name"] for r in rows[: len(tools)]] == tools
        assert {r["source"] for r in rows[len(tools) :]} == {"remit"}
        assert {"mode", "ask_user"} <= set(pins)
        assert all(r["state"] == "pinned" for r in rows[len(tools) :])

    def test_hidden(self, remit: Remit) -> None:
        """A hidden tool says which layer hides it and why."""
        rows = remit("surface", "plan", *GIT, "--json").json["tools"]
        commit = next(r for r in rows if r["name"] == "git_commit")

        assert (commit["state"], commit["layer"]) == ("hidden", "filter")
        assert "`git.commit`" in commit["reason"]

    def test_deterministic(self, remit: Remit) -> None:
        """Equal inputs give equal bytes."""
        assert (
            remit("surface", "plan", *GIT, "--json").out
            == remit("surface", "plan", *GIT, "--json").out
        )

    @pytest.mark.parametrize("command", ["surface", "preamble", "decide"])
    def test_no_catalogue(self, remit: Remit, command: str) -> None:
        """Without tools there is no answer, but the word that says how to name them."""
        said = remit(command, "plan")

        assert (said.code, said.out) == (2, "")
        assert "--catalog" in said.err

    def test_unfit(self, remit: Remit, tmp_path: Path) -> None:
        """A profile that does not fit the catalogue is an error where it is given one."""
        path = tmp_path / "docs.toml"
        path.write_text('name = "docs"\n[ceiling]\ndeny = ["git_comit"]\n')

        said = remit("surface", path, *GIT)

        assert (said.code, said.out) == (2, "")
        assert "did you mean `git_commit`" in said.err
        assert f"{path}:3" in said.err


class TestPreamble:
    def test_bytes(self, remit: Remit) -> None:
        """The text is printed to the byte."""
        said = remit("preamble", "plan", *GIT)

        assert said.out == remit("preamble", "plan", *GIT, "--json").json["preamble"]
        assert said.out.startswith("# Mode: Plan\n")

    def test_chat(self, remit: Remit) -> None:
        """The absence of policy has no text at all."""
        assert remit("preamble", "chat", *GIT).out == ""


class TestMatrix:
    def test_markdown(self, remit: Remit) -> None:
        """The document has a row a tool and a column a mode."""
        lines = remit("matrix", *GIT, "--format", "markdown").out.splitlines()

        assert lines[0] == f"| tool | {' | '.join(BUILT_IN)} |"
        assert "| `mcp-git:git_commit` | ask | - | - | - | - | - |" in lines
        assert "| `remit:submit_plan` | - | - | pin | - | - | - |" in lines

    def test_wide(self, remit: Remit, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Twelve modes by more than sixty tools stay within the columns there are."""
        monkeypatch.setenv("COLUMNS", "100")
        (home / "modes").mkdir()
        for i in range(7):
            text = f'name = "mode-of-my-own-{i}"\nextends = "plan"\n'
            (home / "modes" / f"{i}.toml").write_text(text)
        names = [part for n in Engine.load().shipped for part in ("--catalog", n)]

        said = remit("matrix", *names)
        lines = said.out.splitlines()
        table = lines[1:-1]

        assert lines[0].startswith("1 chat  2 read-only")
        assert len(table) > 60
        assert max(map(len, table)) <= 100
        assert said.code == 0

    def test_dial(self, remit: Remit) -> None:
        """Under another dial the verdicts differ and the surface does not."""
        ask, auto = (
            remit("matrix", *GIT, "--autonomy", dial, "--json").json for dial in ("ask", "auto")
        )

        def states(rows: list[dict[str, dict[str, dict[str, str]]]]) -> list[list[str]]:
            return [[c["state"] for c in r["modes"].values()] for r in rows]

        assert states(ask) == states(auto)
        assert ask != auto
