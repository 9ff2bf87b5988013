from pathlib import Path

import pytest

from remit.policy.vocabulary import Dial
from remit.profiles.names import BUILT_IN
from tests.cli.conftest import Remit

WIDE = ("--catalog", "mcp-github", "--catalog", "mcp-git", "--catalog", "mcp-filesystem")


@pytest.fixture
def twelve(home: Path) -> list[str]:
    """Twelve modes in all."""
    (home / "modes").mkdir()
    names = [f"a-mode-of-mine-{i}" for i in range(12 - len(BUILT_IN))]
    for name in names:
        (home / "modes" / f"{name}.toml").write_text(f'name = "{name}"\nextends = "read-only"\n')
    return [*BUILT_IN, *names]


@pytest.mark.parametrize("columns", [100, 120, 60])
def test_fits(
    remit: Remit, monkeypatch: pytest.MonkeyPatch, twelve: list[str], columns: int
) -> None:
    """Twelve modes by sixty tools stay within the columns, every mode and letter explained."""
    monkeypatch.setenv("COLUMNS", str(columns))
    text = remit("matrix", *WIDE).out
    lines = text.splitlines()

    assert len(lines) > 50
    assert max(map(len, lines)) <= columns
    for number, name in enumerate(twelve, 1):
        assert f"{number} {name}" in text
    assert lines[-1] == "P pinned, a allow, ? ask, x deny, · hidden"
    assert sum(line.startswith("mcp-git ") for line in lines) >= 1


def test_every_cell_is_there(
    remit: Remit, monkeypatch: pytest.MonkeyPatch, twelve: list[str]
) -> None:
    """The letters say what JSON says."""
    monkeypatch.setenv("COLUMNS", "100")
    rows = remit("matrix", *WIDE, "--json").json
    text = remit("matrix", *WIDE).out.splitlines()
    commit = next(r for r in rows if r["name"] == "git_commit")["modes"]

    (line,) = (line for line in text if line.startswith("git_commit "))
    letters = line.split()[1:]
    assert len(letters) == len(twelve)
    for mode, letter in zip(twelve, letters, strict=True):
        hidden = commit[mode]["state"] == "hidden"
        assert letter == ("·" if hidden else {"ask": "?"}[commit[mode]["verdict"]])


@pytest.mark.parametrize("dial", Dial)
def test_markdown(remit: Remit, dial: Dial) -> None:
    """For a document there is a table and what its words mean."""
    text = remit("matrix", *WIDE, "--format", "markdown", "--dial", dial).out

    assert text.startswith(f"| tool | {' | '.join(BUILT_IN)} |\n|---|")
    assert text.splitlines()[-1].startswith("`pin` is always allowed")
