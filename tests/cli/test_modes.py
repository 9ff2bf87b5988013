import json
from pathlib import Path

import pytest

from remit.policy.vocabulary import EFFECTS
from remit.profiles.library import Library
from remit.profiles.names import ALIASES, BUILT_IN, BUILT_IN_STAGED
from tests.cli.conftest import Remit


class TestModes:
    def test_built_in(self, remit: Remit) -> None:
        """The built-in modes are listed in order, without problems."""
        listed = remit("modes", "--json").json

        assert [m["name"] for m in listed] == [*BUILT_IN, *BUILT_IN_STAGED]
        assert all(m["problems"] == [] and m["source"] == "built-in" for m in listed)

    def test_choice(self, remit: Remit) -> None:
        """S003-21: users choose among the modes; review is set by the system."""
        listed = remit("modes", "--json").json

        labels = [m["label"] for m in listed if m["selectable"]]
        assert labels == ["Agent", "Plan", "Orchestrate", "Explore", "Goal"]

    def test_broken(self, remit: Remit, home: Path) -> None:
        """A broken mode is listed with its problems and cannot be used."""
        (home / "modes").mkdir()
        (home / "modes" / "docs.toml").write_text(
            'name = "docs"\n[ceiling]\nrefuse = ["git.psuh"]\n'
        )

        said = remit("modes", "--json")
        docs = next(m for m in said.json if m["name"] == "docs")

        assert said.code == 0
        assert docs["selectable"] is False
        assert "no: broken" in next(x for x in remit("modes").out.splitlines() if "docs" in x)
        assert "`docs`" not in remit("space", "create", "a", "--mode", "review").err
        assert [p["code"] for p in docs["problems"]] == ["unknown-effect"]
        assert docs["problems"][0]["line"] == 3
        assert remit("show", "docs").code == 2

    def test_unread(self, remit: Remit, home: Path) -> None:
        """So is a file that cannot be read at all."""
        (home / "modes" / "folder.toml").mkdir(parents=True)

        listed = remit("modes", "--json").json

        assert [p["code"] for p in listed[-1]["problems"]] == ["file-is-folder"]
        assert (listed[-1]["name"], listed[-1]["selectable"]) == ("folder", False)

    def test_another_ending(self, remit: Remit, home: Path) -> None:
        """A file among the modes whose name says that it is none is told, not passed over."""
        (home / "modes").mkdir()
        (home / "modes" / "docs.tml").write_text('name = "docs"\n')
        (home / "modes" / ".docs.toml.swp").write_text("")

        for command in ("modes", "check"):
            said = remit(command)
            assert said.code == 0
            assert "docs.tml` is not read: a mode is a file that ends" in said.err + said.out
            assert ".swp" not in said.err + said.out
        found = [f for f in remit("doctor", "--json").json if "docs.tml" in f["found"]]
        assert [(f["part"], f["state"]) for f in found] == [("user modes", "warning")]

    def test_user_mode(self, remit: Remit, home: Path) -> None:
        """A profile in the modes folder is a mode like any other."""
        (home / "modes").mkdir()
        (home / "modes" / "any.toml").write_text('name = "docs"\nextends = "plan"\n')

        assert [m["name"] for m in remit("modes", "--json").json] == [
            *BUILT_IN,
            *BUILT_IN_STAGED,
            "docs",
        ]
        assert remit("show", "docs", "--json").json["chain"][-1] == "docs"

    def test_people(self, remit: Remit) -> None:
        """For people it is a table, plain when it is piped."""
        said = remit("modes")

        assert said.out.splitlines()[0].split() == ["mode", "label", "kind", "selectable", "source"]
        assert "\x1b" not in said.out


class TestShow:
    @pytest.mark.parametrize("mode", BUILT_IN)
    def test_toml(self, remit: Remit, tmp_path: Path, mode: str) -> None:
        """What `--format toml` writes loads back to an equal profile."""
        written = tmp_path / "written.toml"
        written.write_text(remit("show", mode, "--format", "toml").out)

        assert Library.load().read(written) == Library.load().get(mode)
        assert remit("show", written, "--json").json == remit("show", mode, "--json").json

    @pytest.mark.parametrize(("alias", "mode"), ALIASES.items())
    def test_alias(self, remit: Remit, alias: str, mode: str) -> None:
        """An old name shows the mode that it stands for, which lists it."""
        shown = remit("show", alias, "--json").json

        assert shown["name"] == mode
        assert alias in shown["aliases"]

    def test_places(self, remit: Remit) -> None:
        """Each fact says the file and line that it came from."""
        where = remit("show", "plan", "--json").json["where"]

        push = where["ceiling.refuse.git.push"]
        assert [(p["file"], bool(p["line"])) for p in push] == [("built-in/read-only.toml", True)]
        assert where["brief.verbs"][0]["file"] == "built-in/plan.toml"
        assert [p["file"] for p in where["ceiling.tier"]] == ["built-in/plan.toml"]

    def test_people(self, remit: Remit) -> None:
        """The text has each fact with its place."""
        text = remit("show", "plan").out

        assert "brief.verbs" in text
        assert "built-in/plan.toml:" in text

    def test_silent(self, remit: Remit) -> None:
        """The absence of policy has no brief."""
        assert remit("show", "chat", "--json").json["brief"] is None


class TestEffects:
    def test_all(self, remit: Remit) -> None:
        """Every class is listed; world-changing ones ask by default, the others are allowed."""
        listed = remit("effects", "--json").json

        assert [e["id"] for e in listed] == list(EFFECTS)
        assert {e["world_changing"]: e["default"] for e in listed} == {True: "ask", False: "allow"}
        assert json.dumps(listed).isascii()
