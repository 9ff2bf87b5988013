"""`remit modes new`, `edit` and `delete`: the files of the user's own modes."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.profiles.names import BUILT_IN_STAGED, RESERVED
from remit.profiles.shipped import samples
from tests.cli.conftest import Remit


def listed(remit: Remit, name: str) -> dict[str, object]:
    (found,) = (m for m in remit("modes", "--json").json if m["name"] == name)
    return dict(found)


@pytest.mark.parametrize("base", [None, *samples(), *sorted(RESERVED)])
def test_new(remit: Remit, home: Path, base: str | None) -> None:
    """S000-5: a starter, a sample and every built-in can be copied, and loads without a problem."""
    said = remit("modes", "new", "mine", *(("--from", base) if base else ()))

    assert (said.code, said.out) == (0, "")
    mine = listed(remit, "mine")
    assert (mine["problems"], mine["source"]) == ([], str(home / "modes" / "mine" / "mode.md"))
    staged = base in (*samples(), *BUILT_IN_STAGED)
    assert mine["kind"] == ("staged" if staged else "simple")
    assert remit("check").code == 0


def test_an_occupied_folder(remit: Remit, home: Path) -> None:
    """S000-9: a new mode never writes into a folder that is there, whatever it holds."""
    (home / "modes" / "mine").mkdir(parents=True)
    (home / "modes" / "mine" / "other.txt").write_text("kept")

    assert remit("modes", "new", "mine").code == 2
    assert [p.name for p in (home / "modes" / "mine").iterdir()] == ["other.txt"]


@pytest.mark.parametrize("name", ["../x", "Mine", "", *sorted(RESERVED)[:2]])
def test_a_name_that_no_mode_may_have(remit: Remit, home: Path, name: str) -> None:
    """A name that is malformed or reserved makes nothing."""
    assert remit("modes", "new", name).code == 2
    assert not (home / "modes").exists()


def test_a_name_that_is_taken(remit: Remit, home: Path) -> None:
    """A name that another file bears makes nothing."""
    (home / "modes").mkdir()
    (home / "modes" / "any.toml").write_text('name = "mine"\n')

    said = remit("modes", "new", "mine")

    assert (said.code, (home / "modes" / "mine").exists()) == (2, False)
    assert "any.toml" in said.err


def test_edit(remit: Remit, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S000-7, S000-8: what is edited replaces the mode's own file, wherever its name says it is."""
    folder = home / "modes" / "there"
    folder.mkdir(parents=True)
    (folder / "mode.md").write_text("---\nname: mine\nlabel: Old\n---\n")
    monkeypatch.setenv("EDITOR", "sed -i s/Old/New/")

    assert remit("modes", "edit", "mine").code == 0
    assert listed(remit, "mine")["label"] == "New"
    assert [p.name for p in folder.iterdir()] == ["mode.md"]


def test_an_edit_with_an_error_replaces_nothing(
    remit: Remit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S000-80: what has an error is told and kept as a draft; the mode stays as it was."""
    remit("modes", "new", "mine")
    before = (home / "modes" / "mine" / "mode.md").read_text()
    monkeypatch.setenv("EDITOR", "sed -i s/label:/lable:/")

    said = remit("modes", "edit", "mine")

    assert (said.code, "did you mean `label`" in said.err) == (1, True)
    draft = Path(said.err.split("the draft is ")[1].strip())
    assert "lable:" in draft.read_text()
    assert (home / "modes" / "mine" / "mode.md").read_text() == before


def test_an_editor_that_fails(remit: Remit, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that is missing or fails is a fault of the machine, and changes nothing."""
    remit("modes", "new", "mine")
    for editor in ("/nowhere/editor", "false"):
        monkeypatch.setenv("EDITOR", editor)
        assert remit("modes", "edit", "mine").code == 3


def test_delete(remit: Remit, home: Path) -> None:
    """Deleting takes the mode's file and templates; what else lies there stays."""
    remit("modes", "new", "mine", "--from", samples()[0])
    remit("modes", "new", "other", "--from", samples()[0])
    (home / "modes" / "other" / "notes.txt").write_text("kept")

    assert remit("modes", "delete", "mine").code == 0
    assert remit("modes", "delete", "other").code == 0

    assert [p.name for p in (home / "modes").iterdir()] == ["other"]
    assert [p.name for p in (home / "modes" / "other").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("command", ["edit", "delete"])
@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_built_in_is_copied_and_not_changed(remit: Remit, command: str, name: str) -> None:
    """S000-5: no built-in is edited or deleted; the hint says how to have one of one's own."""
    said = remit("modes", command, name)

    assert (said.code, "--from" in said.err) == (2, True)


def test_a_broken_mode_is_listed_and_can_be_deleted(remit: Remit, home: Path) -> None:
    """S000-80: a rejected file stays listed with its problems, and is not chosen for a space."""
    (home / "modes" / "mine").mkdir(parents=True)
    (home / "modes" / "mine" / "mode.md").write_bytes(b"\xff")

    mine = listed(remit, "mine")

    assert (mine["selectable"], mine["source"]) == (False, str(home / "modes/mine/mode.md"))
    assert remit("space", "create", "a", "--mode", "mine").code == 2
    assert remit("modes", "delete", "mine").code == 0


def test_a_repository_brings_no_mode(
    remit: Remit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S000-6: a folder of modes in the working directory is never read."""
    (tmp_path / "modes" / "evil").mkdir(parents=True)
    (tmp_path / "modes" / "evil" / "mode.md").write_text("---\n---\n")
    monkeypatch.chdir(tmp_path)

    assert "evil" not in [m["name"] for m in remit("modes", "--json").json]


def test_show(remit: Remit) -> None:
    """A mode with stages shows each stage with its permission and exit gates."""
    value = remit("show", samples()[0], "--json").json["workflow"]

    assert next(s["id"] for s in value["stages"]) in remit("show", samples()[0]).out
    assert all(s["chain"] for s in value["stages"])
