"""However long or deep a text is, it is answered soon, and what was said holds when it is run."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import pytest

from remit.plugins.conformance import lines
from remit.plugins.shell import LENGTH, read_shell
from remit.policy.tools import Facts
from tools import _fuzz, _live

FACTS = Facts(worktree="/ws", cwd="/ws", plain=True)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "rm a; " * 200_000,
        "$(" * 10_000 + ")" * 10_000,
        "$((" * 10_000,
        "((" * 10_000,
        "`" * 10_001,
        "{" * 10_000,
        "bash -c '" * 5_000,
        "if true; then " * 5_000,
        "a" + "${x:-" * 10_000,
        "f() { f; f; }; f",
        "a() { b; b; }; b() { a; a; }; a",
        "! " * 10_000,
    ],
    ids=lambda t: f"{t[:6]}-{len(t)}",
)
def test_hostile(text: str) -> None:
    """A text that is made to be slow or deep is opaque within a moment, and no crash."""
    read_shell("ls", FACTS)  # the tables are read once in a process
    begun = time.process_time()

    found = read_shell(text, FACTS)

    assert found.opaque
    # Fifty milliseconds on a quiet machine; the bound leaves room for a busy one.
    assert time.process_time() - begun < (0.25 if len(text) > LENGTH or "(" in text else 1.5)


@pytest.mark.parametrize(
    ("text", "opaque"),
    [
        ("curl -X DELETE https://x.test/1 " * 5_000, False),
        ("wget --method=PUT https://x.test/1 " * 5_000, False),
        ("curl " + " ".join(f"-X M{i} https://x.test/{i}" for i in range(5_000)), True),
        ("git " + "-c a.b=c " * 9_000 + "log", False),
        ("cp " + "a " * 19_000, False),
        ("rm -rf " + "-v a " * 9_000, False),
        ("sudo " * 9_000, True),
    ],
    ids=lambda t: str(t)[:14],
)
def test_wide(text: str, opaque: bool) -> None:
    """Options and operands are not multiplied with each other, however many a command has."""
    begun = time.process_time()

    found = read_shell(text, FACTS)

    assert found.opaque == opaque
    assert time.process_time() - begun < 2.5


def test_linear() -> None:
    """Ten times the text takes about ten times as long."""
    one = "git status && grep -n 'x' src | head -5 > out; rm -rf dist\n"

    def took(count: int) -> float:
        begun = time.process_time()
        read_shell(one * count, FACTS)
        return time.process_time() - begun

    took(20)
    small, large = min(took(20) for _ in range(3)), took(200)

    assert large < small * 25


def test_fuzz() -> None:
    """A short run of the fuzzer finds no crash, no hang and no lost effect."""
    rng, end = random.Random(7), time.monotonic() + 3
    whole = [line for line in lines() if line.shell == "bash"]
    corpus = [line.command for line in whole]

    while time.monotonic() < end:
        _fuzz.tried(rng.choice(_fuzz._MAKERS)(rng, corpus))
        _fuzz._chained(rng, whole)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to run the lines")
def test_live(tmp_path: Path) -> None:
    """Lines that are run for real do nothing that was not said; `tools/live_check` runs more."""
    scratch = _live.Scratch(tmp_path)
    for line in _live._chosen(24):
        scratch.fresh()
        before = scratch.state()
        command = line.command.replace("/ws", str(scratch.tree))
        found = scratch.read(command)
        connected = scratch.run(command, traced=False)

        assert not _live._told(line, found, before, scratch.state(), connected), line.command
