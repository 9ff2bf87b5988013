"""A switch against a turn of another process, and kills; the long form is `./tools/ordeal`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.reference.conversation_faults import FAULTS, made
from tests.reference.ordeal import kills, races
from tests.server import Server

Place = Callable[[], str]


@pytest.fixture(params=["file", "server"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    monkeypatch.setenv("REMIT_HOME", str(tmp_path))
    numbers = count()
    made_by: Server | None = (
        request.getfixturevalue("server") if request.param == "server" else None
    )
    with warnings.catch_warnings():
        # Those that spread tests have threads; none of them is ours.
        warnings.simplefilter("ignore", DeprecationWarning)
        yield made_by.make if made_by is not None else lambda: str(tmp_path / f"{next(numbers)}.db")


def test_no_decision_is_stale(place: Place) -> None:
    """A call is let through by no mode that was left when it was judged, whoever left it."""
    found = races(place(), 20)

    assert (found.races, found.stale) == (20, 0)
    assert found.refused >= 20


def test_a_stale_decision_would_be_seen(place: Place) -> None:
    """A call that is judged by its frame alone is found to be stale."""
    (fault,) = [f for f in FAULTS if "by its frame alone" in f.what]
    with made(fault):
        assert races(place(), 6).stale


def test_a_killed_worker_loses_nothing(place: Place) -> None:
    """Promise 8: the log verifies, tables equal it, no wish is lost and nothing is done twice."""
    found = kills(place, 5, seed=1)

    assert found.kills == 5
    assert found.wrong == []
