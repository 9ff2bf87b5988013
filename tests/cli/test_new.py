import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from remit.harness.location import ConfigFile
from remit.profiles.shapes import BriefFile, CatalogFile, CeilingFile, ProfileFile, ToolFile
from remit.profiles.starters import starter
from tests.cli.conftest import Remit

jsonschema = pytest.importorskip("jsonschema")


class TestNew:
    @pytest.mark.parametrize("kind", ["profile", "catalog"])
    def test_loads(self, remit: Remit, tmp_path: Path, kind: str) -> None:
        """What it writes has no problem, and is never written over."""
        path = tmp_path / "gardener.toml"
        assert remit("new", kind, "--out", path).code == 0
        assert remit("check", path, "--json").json == []
        path.write_text("mine")

        again = remit("new", kind, "--out", path)

        assert (again.code, path.read_text()) == (2, "mine")
        assert "already" in again.err

    def test_named(self, remit: Remit, tmp_path: Path) -> None:
        """A profile is named after its file, where that is a name for a mode."""
        for stem, name in (("gardener", "gardener"), ("plan", "my-mode"), ("My Mode", "my-mode")):
            path = tmp_path / f"{stem}.toml"
            remit("new", "profile", "--out", path)
            assert remit("show", path, "--json").json["name"] == name

    def test_printed(self, remit: Remit) -> None:
        """Without a file it is printed, and nothing else is."""
        assert remit("new", "catalog").out == starter("catalog")

    def test_no_folder(self, remit: Remit, tmp_path: Path) -> None:
        """A folder that is not there is told."""
        assert remit("new", "profile", "--out", tmp_path / "no" / "x.toml").code == 2

    @pytest.mark.parametrize(
        ("kind", "shapes"),
        [("profile", (ProfileFile, CeilingFile, BriefFile)), ("catalog", (CatalogFile, ToolFile))],
    )
    def test_whole(self, kind: str, shapes: tuple[type, ...]) -> None:
        """Every key that a person writes stands in it."""
        learnt = {"hash", "description", "schema"}
        text = starter(kind)
        for shape in shapes:
            for key in (k for k in attrs.fields(shape) if k.name not in learnt):
                said = rf"^(# )?(\[+(ceiling\.)?)?{key.name}[].= ]"
                assert re.search(said, text, re.MULTILINE), key.name


class TestSchema:
    @pytest.mark.parametrize(
        ("kind", "good", "bad"),
        [
            ("profile", {"name": "a", "ceiling": {"tier": "read"}}, {"name": "a", "celing": {}}),
            ("catalog", {"tools": {"x": {"effects": []}}}, {"tools": {"x": {"effects": "none"}}}),
            ("overlay", {"ceiling": {"tier": "read"}}, {"tier": "read"}),
            ("config", {"servers": {"git": "mcp-git"}}, {"catalogs": "mcp-git"}),
            ("servers", {"servers": {"a": {"command": ["b"]}}}, {"servers": {"a": {}}}),
        ],
    )
    def test_each(self, remit: Remit, kind: str, good: dict[str, Any], bad: dict[str, Any]) -> None:
        """The schema takes a good file and refuses a bad one."""
        schema = remit("schema", kind).json
        validator = jsonschema.Draft7Validator(schema)

        assert validator.is_valid(good)
        assert not validator.is_valid(bad)

    def test_config(self, remit: Remit) -> None:
        """That of remit.toml has every key of it."""
        keys = {key.name for key in attrs.fields(ConfigFile)}
        assert set(remit("schema", "config").json["properties"]) == keys
