from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.harness.resolver import Resolver

NAMES = ["a", "b", "f", "in", "out", "up", "round", "abroad", "gone", "..", ".", ""]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("tree")
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "f").write_text("")
    for name, target in {
        "in": "a/b", "a/out": str(top), "a/b/up": "..", "round": "round", "a/round": "b/up/round",
        "abroad": "/usr/bin/../lib", "gone": "nowhere/at/all",
    }.items():  # fmt: skip
        (top / name).symlink_to(target)
    return top


@given(steps=st.lists(st.lists(st.sampled_from(NAMES), max_size=7), max_size=4))
def test_resolves_as_the_system_does_in_any_order(tree: Path, steps: list[list[str]]) -> None:
    """With links, loops, what is missing and steps up, a memory changes no answer."""
    resolve = Resolver()
    for names in steps:
        path = "/".join([str(tree), *names])
        assert resolve(path) == os.path.realpath(path)


def test_looks_again_for_the_next_call(tmp_path: Path) -> None:
    """What is swapped for a link between two calls is seen by the second."""
    (tmp_path / "x").mkdir()
    assert Resolver()(f"{tmp_path}/x/y") == f"{tmp_path}/x/y"
    (tmp_path / "x").rmdir()
    (tmp_path / "x").symlink_to("/etc")
    assert Resolver()(f"{tmp_path}/x/y") == "/etc/y"


@pytest.mark.parametrize("path", ["/" * 5000 + "etc", "etc/..", "", "//etc", "/./" * 3000])
def test_takes_paths_of_any_length_and_beginning(path: str) -> None:
    """Long and relative ones are the system's own to resolve."""
    assert Resolver()(path) == os.path.realpath(path)
