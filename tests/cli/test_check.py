import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Remit

#: Text of a file, its ending, the problem's code, the line, and what the hint names.
BAD: dict[str, tuple[str | bytes, str, str, int | None, str]] = {
    "misspelled effect": (
        'name = "x"\n[ceiling]\nrefuse = ["git.psuh"]\n',
        ".toml",
        "unknown-effect",
        3,
        "`git.push`",
    ),
    "name with a dot, bare": (
        'name = "x"\n[ceiling.limit]\nworktree.write = ["docs/**"]\n',
        ".toml",
        "wrong-type",
        3,
        "in quotes",
    ),
    "misspelled key": (
        'name = "x"\n[ceiling]\ntire = "read"\n',
        ".toml",
        "unknown-key",
        3,
        "`tier`",
    ),
    "misspelled parent": ('name = "x"\nextends = "pln"\n', ".toml", "unknown-parent", 2, "`plan`"),
    "misspelled tier": (
        'name = "x"\n[ceiling]\ntier = "raed"\n',
        ".toml",
        "unknown-value",
        3,
        "`read`",
    ),
    "misspelled verb": (
        'name = "x"\n[brief]\nverbs = ["sumbit_plan"]\n',
        ".toml",
        "unknown-verb",
        3,
        "`submit_plan`",
    ),
    "broken": ('name = "x\n', ".toml", "toml-syntax", 1, ""),
    "key twice": ('name = "x"\nname = "y"\n', ".toml", "duplicate-key", 2, "line 1"),
    "text for a boolean": (
        'name = "x"\nselectable = "false"\n',
        ".toml",
        "wrong-type",
        2,
        "quotes",
    ),
    "number for a name": ("name = 3\n", ".toml", "wrong-type", 1, ""),
    "cycle": ('name = "x"\nextends = "x"\n', ".toml", "parent-cycle", 2, "outside"),
    "10 MB": ("#" * 10_000_000, ".toml", "file-too-large", None, "meant"),
    "binary": (bytes(range(256)), ".toml", "file-not-text", None, ""),
    "deep": ("a = " + "[" * 20_000, ".toml", "too-deep", 1, ""),
    "5,000 digits": ('name = "x"\nn = ' + "9" * 5_000, ".toml", "number-too-large", 2, ""),
    "catalogue": (
        '[tools.a]\neffects = ["git.comit"]\n',
        ".toml",
        "unknown-effect",
        2,
        "`git.commit`",
    ),
    "tools/list": ('{"tools": 3}', ".json", "bad-tool-list", 1, ""),
    "deep JSON": ("[" * 20_000, ".json", "too-deep", None, ""),
    "mode": ("---\nname: x\nstagse: {}\n---\n", ".md", "unknown-key", 3, "`stages`"),
}


class TestFiles:
    @pytest.mark.parametrize(("text", "ending", "code", "line", "hint"), BAD.values(), ids=BAD)
    def test_bad(
        self,
        remit: Remit,
        tmp_path: Path,
        text: str | bytes,
        ending: str,
        code: str,
        line: int | None,
        hint: str,
    ) -> None:
        """A bad file is a finding with its place, and never a traceback."""
        path = tmp_path / f"x{ending}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

        said = remit("check", path, "--json")
        (problem,) = said.json

        assert (said.code, said.err) == (1, "")
        assert (problem["code"], problem["line"], problem["file"]) == (code, line, str(path))
        assert hint in problem["hint"]
        people = remit("check", path)
        assert people.code == 1
        assert problem["message"] in people.out
        assert "Traceback" not in people.out + people.err

    def test_all_at_once(self, remit: Remit, tmp_path: Path) -> None:
        """Every problem of every file is told in one go."""
        for name in ("a", "b"):
            (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\ntire = 1\nlable = "x"\n')

        found = remit("check", tmp_path / "a.toml", tmp_path / "b.toml", "--json").json

        assert [(Path(p["file"]).stem, p["line"]) for p in found] == [
            ("a", 3), ("a", 2), ("b", 3), ("b", 2),
        ]  # fmt: skip

    def test_good(self, remit: Remit, tmp_path: Path) -> None:
        """A good file has no problem."""
        (tmp_path / "x.toml").write_text('name = "x"\nextends = "plan"\n')

        assert remit("check", tmp_path / "x.toml", "--json").json == []
        assert remit("check", tmp_path / "x.toml").code == 0

    def test_warning(self, remit: Remit, tmp_path: Path) -> None:
        """Warnings alone are fine."""
        (tmp_path / "x.toml").write_text('name = "x"\n[ceiling]\nrefuse = ["git.push"]\n')

        said = remit("check", tmp_path / "x.toml", "--json")

        assert (said.code, [p["severity"] for p in said.json]) == (0, ["warning"])

    def test_with_catalogue(self, remit: Remit, tmp_path: Path) -> None:
        """What only a catalogue shows is found with one."""
        (tmp_path / "x.toml").write_text('name = "x"\n[ceiling]\ndeny = ["git_comit"]\n')

        assert remit("check", tmp_path / "x.toml").code == 0
        said = remit("check", tmp_path / "x.toml", "--catalog", "mcp-git", "--json")
        assert [(p["code"], p["line"]) for p in said.json] == [("selector-unmatched", 3)]

    @pytest.mark.parametrize("make", [None, Path.mkdir])
    def test_unreadable(
        self, remit: Remit, tmp_path: Path, make: Callable[[Path], None] | None
    ) -> None:
        """A file that is missing or a folder is a wrong command, not a finding."""
        path = tmp_path / "x.toml"
        if make:
            make(path)

        said = remit("check", path, "--json")

        assert (said.code, said.out) == (2, "")
        assert "x.toml" in said.err


class TestEverything:
    def test_fine(self, remit: Remit) -> None:
        """Without a path all there is is looked at; what is shipped has no problem."""
        said = remit("check", "--json")

        assert (said.code, said.json) == (0, [])

    def test_shipped_fit(self, remit: Remit) -> None:
        """The built-in modes fit the shipped catalogues."""
        names = json.loads(remit("catalog", "--json").out)
        shipped = {t["source"] for t in names} - {"remit"}
        args = [part for name in sorted(shipped) for part in ("--catalog", name)]

        said = remit("check", *args, "--json")

        assert (said.code, said.json) == (0, [])

    def test_without_its_folder(self, remit: Remit, home: Path) -> None:
        """Whoever names a mode's file without its folder is told where it is."""
        (home / "modes").mkdir()
        file = home / "modes" / "any.toml"
        file.write_text('name = "docs"\n')

        for named in ("any.toml", "docs"):
            said = remit("check", named)
            assert said.code == 2
            assert str(file) in said.err

    def test_user_modes(self, remit: Remit, home: Path) -> None:
        """A broken mode of the user is found."""
        (home / "modes").mkdir()
        (home / "modes" / "x.toml").write_text('name = "chat"\n')

        said = remit("check", "--json")

        assert (said.code, [p["code"] for p in said.json]) == (1, ["reserved-name"])

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ('catalgos = ["mcp-git"]\n', "unknown-key"),
            ('catalogs = ["mcp-gti"]\n', "unknown-catalog"),
            ('plugins = ["nobody"]\n', "plugin-missing"),
            ("plugins = [\n", "toml-syntax"),
        ],
    )
    def test_configuration(self, remit: Remit, home: Path, text: str, code: str) -> None:
        """A problem of remit.toml, a catalogue or a plugin is found, and still JSON."""
        (home / "remit.toml").write_text(text)

        said = remit("check", "--json")

        assert (said.code, [p["code"] for p in said.json]) == (1, [code])
