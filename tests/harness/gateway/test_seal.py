"""A state that a client sends back stands for one question about one request, once."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from remit.harness.gateway.seal import LIFE, Forged, Seal


def test_once() -> None:
    """What was held comes back for the request that it was sealed for, and once."""
    seal: Seal[str] = Seal()
    state = seal.issue("held", "request")

    assert seal.redeem(state, "request") == "held"
    with pytest.raises(Forged, match="answered already"):
        seal.redeem(state, "request")


def test_another_request_spends_nothing() -> None:
    """A state of another request is refused, and is still good for its own."""
    seal: Seal[str] = Seal()
    state = seal.issue("held", "request")

    with pytest.raises(Forged):
        seal.redeem(state, "another")
    assert seal.redeem(state, "request") == "held"


def test_another_process() -> None:
    """The key is of one process: what another one sealed is refused."""
    state = Seal[str]().issue("held", "request")

    with pytest.raises(Forged):
        Seal[str]().redeem(state, "request")


@given(st.integers(0, 1000), st.characters() | st.just(""), st.booleans())
def test_altered(place: int, other: str, added: bool) -> None:
    """No state with a character changed, added or taken away is taken."""
    seal: Seal[str] = Seal()
    state = seal.issue("held", "request")
    at = place % len(state)
    altered = state[:at] + other + state[at if added else at + 1 :]
    assume(altered != state)

    with pytest.raises(Forged):
        seal.redeem(altered, "request")


@given(st.none() | st.integers() | st.text() | st.lists(st.text()) | st.just("a.\ud800"))
def test_anything(state: object) -> None:
    """Whatever comes as a state is refused, and raises nothing else."""
    with pytest.raises(Forged):
        Seal[str]().redeem(state, "request")


def test_too_old() -> None:
    """A state is good for its time; what it held is given up then."""
    now: list[float] = [0.0]
    gone: list[str] = []
    seal: Seal[str] = Seal(gone.append, lambda: now[0])
    old = seal.issue("old", "request")
    now[0] = LIFE / 2
    young = seal.issue("young", "request")
    now[0] = LIFE

    with pytest.raises(Forged):
        seal.redeem(old, "request")
    assert gone == ["old"]
    assert seal.redeem(young, "request") == "young"


def test_too_many() -> None:
    """Questions that nobody answers do not pile up: the oldest are given up."""
    gone: list[int] = []
    seal: Seal[int] = Seal(gone.append)
    states = [seal.issue(i, "request") for i in range(300)]

    assert gone == list(range(300 - 256))
    assert seal.redeem(states[-1], "request") == 299
