"""The shipped corpus: every line has exactly the effects that it says, and it is wide enough."""

from __future__ import annotations

import tomllib
from collections import Counter
from importlib.resources import files

import pytest

from remit.plugins.conformance import Line, lines
from remit.plugins.shell import read_shell, rows, walk
from remit.policy.tools import Facts
from remit.policy.vocabulary import EFFECTS

LINES = list(lines())
GROUPS = sorted({(line.file, line.group) for line in LINES})
FACTS = {
    "bash": Facts(worktree="/ws", cwd="/ws", plain=True),
    "powershell": Facts(worktree="C:\\ws", cwd="C:\\ws", plain=True),
}


def _wrong(line: Line) -> str:
    found = read_shell(line.command, FACTS[line.shell], line.shell)
    said = line.wrong(found.effects, found.opaque)
    return f"{line.command!r} {said}: {[p.why for p in found.parts]}" if said else ""


@pytest.mark.parametrize("group", GROUPS, ids=lambda g: f"{g[0]}-{g[1]}")
def test_group(group: tuple[str, str]) -> None:
    """Every line of a group is judged as it says: no effect is lost, none is made up."""
    if group[1] in ("databases in files", "vendor.write"):
        pytest.importorskip("sqlglot")

    wrong = [_wrong(line) for line in LINES if (line.file, line.group) == group]

    assert not any(wrong), "\n".join(filter(None, wrong))


def test_breadth() -> None:
    """Every class that a command can have has ten lines that have it and ten that do not."""
    having = Counter(e for line in LINES for e in line.effects)

    assert len(LINES) >= 800
    assert {e: n for e in EFFECTS if (n := having[e]) < 10} == {"record.write": 0}


TABLE = files("remit.plugins").joinpath("programs/wrappers.toml").read_text("utf-8")


@pytest.mark.parametrize("row", tomllib.loads(TABLE))
def test_every_row_is_needed(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any row of the table of wrappers, a line of the corpus is wrong."""
    head = f'["{row}"]' if " " in row or f"\n[{row}]" not in TABLE else f"[{row}]"
    before, _, after = TABLE.partition(f"\n{head}\n")
    left = rows.parse_rows(
        before + "\n" + after[after.index("\n[") :] if "\n[" in after else before
    )
    monkeypatch.setattr(walk, "rows", lambda: left)
    names = {row, *(n.strip() for n in tomllib.loads(TABLE)[row].get("names", "").split(","))}

    named = [line for line in LINES if any(n in line.command for n in names - {""})]

    assert any(_wrong(line) for line in named)
