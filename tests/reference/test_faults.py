from __future__ import annotations

from pathlib import Path

import pytest

from tests.reference.faults import FAULTS, Fault, Outcome, seed_and_run

#: Enough for every fault to be met; fixed, so that a run says the same each time.
SIZE = {"seed": 1, "worlds": 150, "calls": 50}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_is_caught(fault: Fault, tmp_path: Path) -> None:
    """Every seeded fault makes the engine differ from the reference model."""
    outcome, said = seed_and_run(fault, tmp_path, **SIZE)

    assert outcome is Outcome.CAUGHT, said


def test_nothing_is_caught_without_a_fault(tmp_path: Path) -> None:
    """The engine as it is passes what catches each fault."""
    outcome, said = seed_and_run(None, tmp_path, **SIZE)

    assert outcome is Outcome.SURVIVED, said


def test_a_fault_that_cannot_be_made_is_no_catch(tmp_path: Path) -> None:
    """A fault whose line is gone, or that cannot even be imported, is told as broken."""
    gone = Fault("gone", "guard", "no such line", "pass")
    senseless = Fault("senseless", "guard", "if found.protected:", "if found.protected")

    assert seed_and_run(gone, tmp_path / "gone", **SIZE)[0] is Outcome.BROKEN
    assert seed_and_run(senseless, tmp_path / "senseless", **SIZE)[0] is Outcome.BROKEN


def test_there_are_enough() -> None:
    """Twenty faults and more, no two alike, in every module that decides."""
    assert len({(f.module, f.old, f.new) for f in FAULTS}) == len(FAULTS) >= 20
    assert {f.module for f in FAULTS} == {
        "ceiling", "compile", "gate", "grants", "guard", "projection", "selectors", "tools",
    }  # fmt: skip
