"""Whatever a mode's file says, the loader answers, soon, and takes nothing that it must not."""

from __future__ import annotations

import random

import pytest

from remit.profiles.library import Library
from tests.profiles.mode_rules import corpus, faults, made, trouble

LIBRARY = Library.load()


def test_texts_that_are_no_modes_any_more() -> None:
    """S000-75: no crash, no hang, nothing accepted that the schema and a page of rules reject."""
    rng, texts, taken = random.Random(9), corpus(), 0
    for _ in range(400):
        text = made(rng, texts)
        found, loads = trouble(LIBRARY, text)
        assert found == "", text
        taken += loads
    # Both sides of the line were seen.
    assert 20 < taken < 300


@pytest.mark.parametrize(
    "text",
    [
        "stages: { a: { next: b }, b: { next: a } }\n",
        "stages: { a: { exit: [{ ask: user }, { run: x }] } }\n",
        "artifacts: { a: { path: ../x } }\n",
        "label: &a x\n",
        "label: x\nlabel: y\n",
        "permision: chat\n",
        "stages: { a: { prompt: '{{artifacts.x.path}}' } }\n",
    ],
)
def test_the_second_opinion_is_one(text: str) -> None:
    """What seed 000 rejects, it rejects by itself; what is shipped it takes."""
    assert faults(f"---\n{text}---\n")
    assert [faults(t) for t in corpus()] == [[]] * 4
