"""What all conversations of these tests have: servers that have their time to start."""

from __future__ import annotations

import pytest

from remit.harness.gateway import claims
from tests.harness.gateway.rig import LIMIT


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine starts a server in more seconds than a client is kept waiting for."""
    monkeypatch.setattr(claims, "OPENING", LIMIT)
