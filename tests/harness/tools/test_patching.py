"""`apply_patch`: the format, exact places, and all or nothing."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.harness.tools import TOOLS, Desk
from remit.harness.tools.changes import _perform
from remit.harness.tools.desk import Refused
from remit.harness.tools.patch import Section, read_patch
from remit.plugins.classifiers import classify
from remit.policy.tools import Call, Facts, Tool
from tests.harness.tools.conftest import Use
from tests.harness.tools.test_writing import SHUT, State, traps

__all__ = ["traps"]


def patch(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def update(name: str, *lines: str) -> str:
    return patch(f"*** Update File: {name}", *lines)


class TestFits:
    @pytest.mark.parametrize(
        ("data", "lines", "after"),
        [
            (b"a\nb\nc\n", [" a", "-b", "+B", " c"], b"a\nB\nc\n"),
            (b"a\nb\nc\n", ["@@", "-b"], b"a\nc\n"),
            (b"a\nb\nc\n", ["@@ a", "+x"], b"a\nx\nb\nc\n"),
            (b"x\na\nx\n", ["@@ a", "-x", "+y"], b"x\na\ny\n"),
            (b"f\n x\ng\n x\n", ["@@ g", "- x", "+ y"], b"f\n x\ng\n y\n"),
            (b"A\n f\nB\n f\n x\n", ["@@ B", "@@ f", "- x", "+ y"], b"A\n f\nB\n f\n y\n"),
            (b"x\nx\n", ["-x", "+y", "*** End of File"], b"x\ny\n"),
            (b"a\n", ["+b", "*** End of File"], b"a\nb\n"),
            (b"", ["+a"], b"a\n"),
            (b"a\n\nb\n", [" a", "", "-b", "+c"], b"a\n\nc\n"),
            (b"a\nb\nc\nd\n", ["-a", "@@", "-c", "+C"], b"b\nC\nd\n"),
            (b"a\r\nb\r\n", ["-b", "+c", "+d"], b"a\r\nc\r\nd\r\n"),
            (b"a\r\nb\n", [" a", "-b", "+c"], b"a\r\nc\n"),
            (b"a\nb", ["-b", "+c"], b"a\nc"),
            (b"a", [" a", "+b"], b"a\nb"),
            (b"a\r\nb", [" b", "+c"], b"a\r\nb\r\nc"),
            (b"a\n", ["-a"], b""),
            (b"-- a\n", ["--- a", "+-- b"], b"-- b\n"),
        ],
    )
    def test_exactly(
        self, worktree: Path, use: Use, data: bytes, lines: list[str], after: bytes
    ) -> None:
        """Lines that stay keep their bytes, those that come end as the file's do."""
        (worktree / "f").write_bytes(data)
        (worktree / "f").chmod(0o755)

        answer = use("apply_patch", patch=update("f", *lines))

        assert not answer.is_error, answer.text
        assert (worktree / "f").read_bytes() == after
        assert (worktree / "f").stat().st_mode & 0o777 == 0o755

    @pytest.mark.parametrize(
        ("data", "lines", "why"),
        [
            (b"a\n", ["-b"], "not-found"),
            (b"a\na\n", ["-a"], "not-unique"),
            (b" a\n", ["-a"], "not-found"),
            (b"a\nb\n", ["-b", "@@", "-a"], "not-found"),
            (b"a\na\nb\n", ["@@ a", "-b"], "not-unique"),
            (b"a\n", ["@@ z", "-a"], "not-found"),
            (b"a\n", ["+b"], "not-unique"),
            (b"a\nb\n", ["-a", "*** End of File"], "not-found"),
            (b"a\n", [" a"], "bad-patch"),
            (b"a\n", ["@@"], "bad-patch"),
            (b"a\n", [], "bad-patch"),
            (b"a\n", ["?a"], "bad-patch"),
            (b"a\n", ["*** Move to: ", "-a"], "bad-patch"),
            (b"a\0\n", ["-a"], "binary"),
            (b"a\n\xff\n", ["-a"], "encoding"),
        ],
    )
    def test_or_not_at_all(
        self, worktree: Path, use: Use, data: bytes, lines: list[str], why: str
    ) -> None:
        """Nothing is applied near a place, at another, or at one of several."""
        (worktree / "f").write_bytes(data)

        assert use("apply_patch", patch=update("f", *lines)).data["why"] == why
        assert (worktree / "f").read_bytes() == data

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n",
            "*** Begin Patch\n*** Delete File: a.txt",
            patch("one"),
            patch("*** Delete File: a.txt", "-one"),
            patch("*** Add File: b", "one"),
            patch("*** Add File:  "),
            patch(" *** Delete File: a.txt"),
            patch("*** Remove File: a.txt"),
        ],
    )
    def test_what_is_no_patch(self, use: Use, state: State, text: str) -> None:
        """Every line means something, or nothing is done."""
        before = state()

        assert use("apply_patch", patch=text or "\n").data["why"] == "bad-patch"
        assert state() == before


class TestFiles:
    def test_all_verbs(self, worktree: Path, use: Use) -> None:
        """Files are made, changed, moved and removed; what is moved keeps its mode."""
        (worktree / "src" / "app.py").chmod(0o755)
        text = patch(
            "*** Add File: new/a", "+x", "+",
            "*** Delete File: a.txt",
            "*** Update File: src/app.py", "*** Move to: src/main.py",
            "-    return 1", "+    return 2",
        )  # fmt: skip

        answer = use("apply_patch", patch=text)

        assert not answer.is_error, answer.text
        assert (worktree / "new/a").read_text() == "x\n\n"
        assert not (worktree / "a.txt").exists()
        assert not (worktree / "src/app.py").exists()
        assert (worktree / "src/main.py").read_text() == "def hello():\n    return 2\n"
        assert (worktree / "src/main.py").stat().st_mode & 0o777 == 0o755

    @pytest.mark.parametrize(
        ("lines", "why"),
        [
            (["*** Add File: src/app.py", "+x"], "changed"),
            (["*** Delete File: missing"], "missing"),
            (["*** Delete File: src"], "is-folder"),
            (["*** Update File: missing", "-x"], "missing"),
            (["*** Update File: src/app.py", "-missing"], "not-found"),
            (["*** Update File: src/app.py", "*** Move to: .gitignore"], "changed"),
            (["*** Add File: a.txt/x", "+x"], "not-folder"),
            (["*** Delete File: new/a"], "missing"),
            (["*** Delete File: ./a.txt"], "bad-patch"),
        ],
    )
    def test_whole_or_nothing(self, use: Use, state: State, lines: list[str], why: str) -> None:
        """Where one part cannot be done, no other is: folders and all are as they were."""
        before = state()

        answer = use(
            "apply_patch",
            patch=patch("*** Add File: new/a", "+x", "*** Delete File: a.txt", *lines),
        )

        assert answer.data["why"] == why, answer.text
        assert state() == before

    @pytest.mark.parametrize("fails_at", range(4))
    def test_a_failure_half_way_is_undone(
        self, use: Use, state: State, monkeypatch: pytest.MonkeyPatch, fails_at: int
    ) -> None:
        """Whichever step fails, all that was done before it is taken back."""
        done: list[str] = []

        def perform(step: object, *, whole: bool) -> None:
            if len(done) == fails_at:
                raise OSError(5, "Input/output error")
            _perform(step, whole=whole)  # type: ignore[arg-type]
            done.append("")

        before = state()
        monkeypatch.setattr("remit.harness.tools.changes._perform", perform)
        answer = use(
            "apply_patch",
            patch=patch(
                "*** Add File: new/a", "+x", "*** Delete File: a.txt",
                "*** Update File: src/app.py", "*** Move to: b", "-    return 1",
            ),
        )  # fmt: skip

        assert answer.is_error
        assert len(done) == fails_at
        assert state() == before

    @pytest.mark.parametrize("fits", [True, False])
    def test_where_there_are_no_hard_links(
        self, worktree: Path, use: Use, state: State, monkeypatch: pytest.MonkeyPatch, fits: bool
    ) -> None:
        """On a disk without hard links a patch is made, and taken back, all the same."""

        def link(*args: object, **more: object) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", link)
        before = state()
        lines = [
            "*** Add File: new/a", "+x", "*** Delete File: a.txt",
            "*** Update File: src/app.py", "-    return 1",
        ]  # fmt: skip
        lines += [] if fits else ["*** Add File: .gitignore"]
        answer = use("apply_patch", patch=patch(*lines))
        found = sorted(
            str(p.relative_to(worktree)) for p in worktree.rglob("*") if ".git/" not in str(p)
        )

        assert answer.is_error is not fits, answer.text
        if fits:
            assert "new/a" in found
            assert "a.txt" not in found
            assert not [n for n in found if ".remit" in n]
            assert (worktree / "src/app.py").read_text() == "def hello():\n"
        else:
            assert state() == before

    @pytest.mark.usefixtures("traps")
    @pytest.mark.parametrize(
        ("path", "why"), [s for s in SHUT if s[0] not in ("", "moved/hooks/pre-commit")]
    )
    @pytest.mark.parametrize("verb", ["Add", "Delete", "Update", "Move"])
    def test_bounds(self, use: Use, state: State, path: str, why: str, verb: str) -> None:
        """By no verb does a patch reach what no tool may write."""
        lines = {
            "Add": [f"*** Add File: {path}", "+x"],
            "Delete": [f"*** Delete File: {path}"],
            "Update": [f"*** Update File: {path}", "-outside", "+x"],
            "Move": ["*** Update File: a.txt", f"*** Move to: {path}"],
        }[verb]
        before = state()

        answer = use("apply_patch", patch=patch(*lines))

        assert answer.is_error
        # What is to be made must not be there, whatever is.
        there = {"changed"} if verb in ("Add", "Move") and why in ("link", "is-folder") else set()
        assert answer.data["why"] in {why, *there}, answer.text
        assert state() == before


_LINE = st.text("ab +-*@\tü", max_size=3)
_TREE = st.dictionaries(
    st.sampled_from(["a", "b", "d/c", "d/e"]), st.lists(_LINE, max_size=6), max_size=4
)


def between(old: dict[str, list[str]], new: dict[str, list[str]]) -> str:
    """A patch from one tree to another, each file named once and its lines given whole."""
    lines: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            lines.append(f"*** Delete File: {name}")
        elif name not in old:
            lines += [f"*** Add File: {name}", *(f"+{x}" for x in new[name])]
        elif old[name] != new[name]:
            lines += [f"*** Update File: {name}", "@@"]
            lines += [*(f"-{x}" for x in old[name]), *(f"+{x}" for x in new[name])]
            lines += [] if old[name] else ["*** End of File"]
    return patch(*lines)


def tree(folder: str) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()
    }


@given(_TREE, _TREE)
def test_there_and_back(old: dict[str, list[str]], new: dict[str, list[str]]) -> None:
    """A patch makes one tree of another, and its reverse makes the first again, to the byte."""
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in old.items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_text("".join(f"{x}\n" for x in lines))
        Path(folder, "other").write_bytes(b"\xff\0")
        desk = Desk(folder, (), ())
        for before, after in ((old, new), (new, old)):
            answer = TOOLS["apply_patch"].run({"patch": between(before, after)}, desk)
            assert not answer.is_error, answer.text
            wanted = {n: "".join(f"{x}\n" for x in lines).encode() for n, lines in after.items()}
            assert tree(folder) == {"other": b"\xff\0", **wanted}


_ANY = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "*** Update File: a", "*** Add File: ../b", "*** Delete File: c", "*** Move to: d",
                " *** Update File: e", "+*** Delete File: f", "-*** Add File: g",
                "@@ *** Add File: h",
                "*** Add File: i\r", "*** Update File:  j ", "*** Add File: -", "*** End of File",
                "*** Delete File: k\x0b", "*** Delete File: l\x85m", "--- n", "+++ o",
            ]
        ),
        _LINE,
    ),
    max_size=8,
)  # fmt: skip


@given(_ANY)
def test_what_is_judged_is_what_is_named(lines: list[str]) -> None:
    """Every file that a patch would touch is one that the classifier saw, by the same name."""
    text = patch(*lines)
    try:
        sections: list[Section] = read_patch(text)
    except Refused:
        return
    tool = Tool("harness", "apply_patch", classify="path", arguments={"patch": "patch"})
    facts = Facts(worktree="/w", cwd="/w", plain=True)
    found = classify(Call(tool.key, {"patch": text}), tool, facts)
    seen = {t for targets in found.targets.values() for t in targets}

    for section in sections:
        for name in (section.path, section.to):
            if name is not None:
                whole = os.path.normpath(f"/w/{name}")
                assert whole.removeprefix("/w/") in seen, name
        if section.verb == "delete":
            assert "file.delete" in found.effects
