from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from random import SystemRandom

import pytest

from remit.policy.decision import Cause
from remit.policy.vocabulary import Layer
from tests.reference import model, words
from tests.reference.differential import GRANTED, Tally, compare, shares

#: 1,000 worlds in parts, so that they spread over the cores.
PARTS, WORLDS = 4, 250

#: The least share of the calls that each layer decides.
LAYERS = {Layer.PIN: 0.02, Layer.FILTER: 0.25, Layer.GUARD: 0.08, Layer.GATE: 0.25}
#: What may decide in each layer; each of them in at least one call of 200.
CAUSES: dict[Layer, set[str]] = {
    Layer.PIN: {Cause.PINNED},
    Layer.FILTER: {
        Cause.UNKNOWN_TOOL, Cause.AMBIGUOUS, Cause.OTHER_VERB, Cause.DENIED, Cause.TIER,
        Cause.UNDECLARED, Cause.REFUSED, Cause.LIMIT, Cause.UNREAD, Cause.NOT_ADMITTED,
    },
    Layer.GUARD: {Cause.REFUSED, Cause.LIMIT, Cause.PROTECTED, Cause.UNREAD, Cause.PLUGIN},
    Layer.GATE: {
        Cause.HARMLESS, Cause.EFFECT, Cause.SETTING, Cause.UNDECLARED, Cause.NO_EFFECTS,
        Cause.UNREAD, Cause.NOBODY, Cause.LOCKED, GRANTED,
    },
}  # fmt: skip


@pytest.mark.parametrize("part", range(PARTS))
def test_engine_and_model_agree(part: int) -> None:
    """Promise 1: over 1,000 worlds of 100 calls the engine says what the reference model says."""
    seed = SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    tally: Tally = Counter()

    for number in range(WORLDS):
        difference = compare(seed, number, tally=tally)
        assert difference is None, str(difference)

    found = shares(tally)
    rare = {
        f"{layer}/{cause}": share
        for layer, causes in CAUSES.items()
        for cause in causes
        if (share := found.get(f"{layer}/{cause}", 0)) < 0.005
    }
    assert not rare, f"hardly tried: {rare}"
    assert all(found[layer] >= least for layer, least in LAYERS.items()), found
    assert set(found) == {*LAYERS, *(f"{y}/{c}" for y, causes in CAUSES.items() for c in causes)}


class TestModel:
    SOURCE = Path(model.__file__).read_text()

    def test_shares_no_code_with_the_engine(self) -> None:
        """The model imports the engine's plain values and not one function of it."""
        imported = {
            alias.name
            for source in (self.SOURCE, Path(words.__file__).read_text())
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("remit")
            for alias in node.names
        }

        assert imported == {"Brief", "CallEffects", "Ceiling", "Grant", "Setting", "Tool"}

    def test_is_short(self) -> None:
        """The model has under 200 lines of code, so that one can see that it is right."""
        told = {
            line
            for node in ast.walk(ast.parse(self.SOURCE))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        lines = [
            line
            for at, line in enumerate(self.SOURCE.splitlines(), 1)
            if at not in told and line.strip() and not line.strip().startswith("#")
        ]

        assert len(lines) < 200
