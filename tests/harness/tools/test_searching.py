"""`search`: the same lines with ripgrep and without, bounded, and no pattern is waited for."""

from __future__ import annotations

import re
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from remit.harness.tools import TOOLS, Desk, worth
from tests.harness.tools.conftest import Use
from tests.needs import need


class TestFinds:
    @pytest.mark.parametrize(
        ("args", "lines"),
        [
            ({"pattern": "t[wh]"}, ["a.txt:2: two", "a.txt:3: three"]),
            ({"pattern": "TWO"}, ["no line matches"]),
            ({"pattern": "TWO", "ignore_case": True}, ["a.txt:2: two"]),
            ({"pattern": "hello()", "literal": True}, ["src/app.py:1: def hello():"]),
            ({"pattern": "^two$", "ignored": True}, ["a.txt:2: two", "built/out.txt:1: two"]),
            ({"pattern": "ret", "glob": "*.py"}, ["src/app.py:2:     return 1"]),
            ({"pattern": "return", "path": "src"}, ["src/app.py:2:     return 1"]),
            ({"pattern": "one", "path": "a.txt"}, ["a.txt:1: one"]),
            ({"pattern": r"o(?=n)"}, ["a.txt:1: one"]),
            ({"pattern": "ü", "path": "u"}, ["u:1: für", "u:3: ü"]),
            ({"pattern": "F[ü]R", "path": "u", "ignore_case": True}, ["u:1: für"]),
            ({"pattern": "^$", "path": "u"}, ["u:2: "]),
        ],
    )  # fmt: skip
    def test_lines(self, worktree: Path, use: Use, args: dict[str, Any], lines: list[str]) -> None:
        """Each match is told with its file and line."""
        (worktree / "u").write_bytes("für\r\n\r\nü".encode())

        assert use("search", **args).text.split("\n") == lines

    def test_what_is_left_out_is_told(self, worktree: Path, use: Use) -> None:
        """Binary and huge files are not searched, nor those where secrets lie, unless named."""
        (worktree / "binary").write_bytes(b"needle\0")
        (worktree / "huge").write_bytes(b"needle\n" * 1_000_000)
        (worktree / ".env").write_text("needle=1\n")
        (worktree / "hidden.db").write_text("needle\n")

        assert use("search", pattern="needle").text.split("\n") == [
            "no line matches",
            "(1 files were left out: binary)",
            "(1 files were left out: too large)",
            "(2 files were left out: where secrets lie, each to be named as `path`)",
        ]
        assert use("search", pattern="needle", path=".env").text == ".env:1: needle=1"
        assert "needle" not in use("search", pattern="needle", path="hidden.db").text

    def test_many_come_in_pages(self, worktree: Path, use: Use) -> None:
        """The pages together are all matches, each once."""
        (worktree / "many").write_text("x\n" * 700)
        (worktree / "next").write_text("x\n")
        found: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            answer = use("search", pattern="x", **cursor)
            found += [x for x in answer.text.split("\n") if ": x" in x]
            if "cursor" not in answer.data:
                break
            cursor = {"cursor": answer.data["cursor"]}

        assert found == [*(f"many:{i}: x" for i in range(1, 701)), "next:1: x"]

    @pytest.mark.parametrize(
        ("args", "why"),
        [
            ({"pattern": "("}, "bad-pattern"),
            ({"pattern": "x", "cursor": "x"}, "bad-cursor"),
            ({"pattern": "x", "path": "../outside"}, "outside"),
            ({"pattern": "x", "path": "missing"}, "missing"),
        ],
    )
    def test_what_is_not_searched(self, use: Use, args: dict[str, Any], why: str) -> None:
        """A pattern that is none, and a place outside, are told."""
        assert use("search", **args).data["why"] == why

    def test_links_are_not_followed(self, worktree: Path, use: Use) -> None:
        """What lies outside is not searched through a link."""
        (worktree / "out").symlink_to("../outside/kept.txt")
        (worktree / "folder").symlink_to("../outside")

        assert use("search", pattern="outside", ignored=True).text == "no line matches"


class TestEnds:
    def test_a_pattern_that_takes_forever_is_cancelled(self, worktree: Path, desk: Desk) -> None:
        """Nothing waits for a pattern that backtracks: the call is ended, its process too."""
        (worktree / "a.txt").write_text("a" * 60 + "\n")
        cancelled = threading.Event()
        threading.Timer(0.3, cancelled.set).start()
        began = time.monotonic()

        answer = TOOLS["search"].run({"pattern": "(a+)+b"}, evolve(desk, cancelled=cancelled))

        assert answer.data["why"] == "interrupted"
        assert time.monotonic() - began < 5

    def test_or_is_late(self, worktree: Path, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without anyone to cancel it, its time is over some day."""
        (worktree / "a.txt").write_text("a" * 60 + "\n")
        monkeypatch.setattr("remit.harness.tools.searching._PATIENCE", 0.3)

        assert use("search", pattern="(a+)+b").data["why"] == "late"


_TOKENS = [
    "a", "b", "é", " ", "-", ".", "^", "$", r"\w", r"\b", r"\d", r"\s", r"\.", "[ab]", "[^a]", "a*",
    "b+?", "a{2}", "(?:ab|b)", "(a)", "(?i)", "{", "}", "k", "\u212a", "i", "ı", r"\B", "a??", "|",
]  # fmt: skip
_FILE = st.lists(st.sampled_from([*"abé -.\r\nkIı1", "\u212a", "\x1c"]), max_size=8).map("".join)


@settings(max_examples=20, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    st.lists(st.sampled_from(_TOKENS), min_size=1, max_size=5).map("".join),
    st.booleans(),
    st.booleans(),
    st.lists(_FILE, min_size=6, max_size=6),
)
def test_ripgrep_changes_nothing(
    pattern: str, literal: bool, ignore_case: bool, files: list[str]
) -> None:
    """With ripgrep and without, every search finds the same lines."""
    need("rg", debian="ripgrep")
    try:
        re.compile(pattern)
    except re.error:
        literal = True
    args = {"pattern": pattern, "literal": literal, "ignore_case": ignore_case}
    with tempfile.TemporaryDirectory() as folder:
        for i, text in enumerate(files):
            Path(folder, f"{i:03}").write_bytes(text.encode())
        desk = Desk(folder, (), ())
        answers = []
        for few in (1, 1_000):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(worth, "_FEW", few)
                answers.append(TOOLS["search"].run(args, desk))

    assert answers[0] == answers[1]
    assert not answers[0].is_error, answers[0].text


def test_ripgrep_is_asked(worktree: Path, use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many files only those are read that ripgrep found worth it."""
    need("rg", debian="ripgrep")
    for i in range(100):
        (worktree / f"{i:03}").write_text("hay\n")
    (worktree / "050").write_text("needle\n")
    read: list[bytes] = []

    def looked(data: bytes) -> bool:
        read.append(data)
        return False

    monkeypatch.setattr("remit.harness.tools.searching.is_binary", looked)

    assert use("search", pattern="need.e").text == "050:1: needle"
    assert len(read) == 1
