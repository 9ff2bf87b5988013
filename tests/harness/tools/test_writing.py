"""`write` and `edit`: what changes, what stays, and what is refused."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.harness.tools import TOOLS, Desk
from tests.harness.tools.conftest import Use

State = Callable[[], dict[str, bytes]]

#: Paths that no writing tool takes, with why.
SHUT = [
    ("../outside/kept.txt", "outside"),
    ("/etc/passwd", "outside"),
    ("out", "link"),
    ("out-folder/kept.txt", "link"),
    ("in", "link"),
    ("in-folder/app.py", "link"),
    ("src", "is-folder"),
    (".", "is-folder"),
    (".git/config", "protected"),
    (".git/hooks/pre-commit", "protected"),
    ("src/sub/.git/hooks/pre-commit", "protected"),
    (".git", "protected"),
    (".git/commondir", "protected"),
    (".GIT/config", "protected"),
    ("src/.git", "protected"),
    ("src/new/.git/config.worktree", "protected"),
    (".claude/settings.json", "protected"),
    (".remit/plans/x", "protected"),
    ("hidden.db", "protected"),
    ("moved/hooks/pre-commit", "protected"),
    ("a.txt/x", "not-folder"),
    ("src/../a.txt", "bad-path"),
    ("~/x", "bad-path"),
    ("-", "bad-path"),
    ("", "bad-path"),
]


@pytest.fixture
def traps(worktree: Path) -> None:
    (worktree / "out").symlink_to("../outside/kept.txt")
    (worktree / "out-folder").symlink_to("../outside")
    (worktree / "in").symlink_to("a.txt")
    (worktree / "in-folder").symlink_to("src")
    (worktree / "hidden.db").write_text("secret\n")
    (worktree / "src" / "sub" / ".git" / "hooks").mkdir(parents=True)


@pytest.mark.usefixtures("traps")
class TestBounds:
    @pytest.mark.parametrize(("path", "why"), SHUT)
    @pytest.mark.parametrize(
        ("tool", "more"),
        [("write", {"content": "x"}), ("edit", {"old": "o", "new": "0", "every": True})],
    )
    def test_what_is_not_written(
        self, worktree: Path, use: Use, state: State, tool: str, more: Any, path: str, why: str
    ) -> None:
        """Nothing outside, nothing protected and nothing through a link; and nothing is left."""
        if path.startswith("moved/"):
            # Under another name it is the same folder.
            (worktree / "moved").mkdir()
            (worktree / ".git" / "hooks" / "pre-commit").write_text("echo\n")
            (worktree / ".git" / "hooks").rename(worktree / "moved" / "hooks")
            (worktree / ".git" / "hooks").symlink_to("../moved/hooks")
        before = state()

        answer = use(tool, path=path, **more)

        assert answer.is_error
        assert answer.data["why"] == why, answer.text
        assert state() == before

    def test_scratch_is_not_written(self, desk: Desk, use: Use) -> None:
        """The scratch folder is the shell's; what a call may write is the worktree alone."""
        assert use("write", path=f"{desk.scratch}/x", content="x").data["why"] == "outside"


class TestWrite:
    def test_a_new_file(self, worktree: Path, use: Use) -> None:
        """Folders above are made; the mode is what the process gives new files."""
        use("write", path="new/folder/file", content="a\nb")
        (worktree / "other").touch()

        made = worktree / "new" / "folder" / "file"
        assert made.read_bytes() == b"a\nb"
        assert made.stat().st_mode == (worktree / "other").stat().st_mode

    @pytest.mark.parametrize(
        ("before", "content", "after"),
        [
            (b"a\nb\n", "c\n", b"c\n"),
            (b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n"),
            (b"a\r\nb\n", "c\nd\n", b"c\nd\n"),
            (b"a\r\nb\r\n", "c\r\nd\n", b"c\r\nd\n"),
            (b"\xef\xbb\xbfa\n", "c\n", b"\xef\xbb\xbfc\n"),
            (b"\0\xff", "ü", "ü".encode()),
        ],
    )
    def test_one_that_is_there(
        self, worktree: Path, use: Use, before: bytes, content: str, after: bytes
    ) -> None:
        """It keeps its mode, its newlines where they are all CRLF, and its byte order mark."""
        file = worktree / "f"
        file.write_bytes(before)
        file.chmod(0o751)

        assert not use("write", path="f", content=content).is_error
        assert file.read_bytes() == after
        assert file.stat().st_mode & 0o7777 == 0o751

    def test_the_other_end_of_a_hard_link_stays(
        self, worktree: Path, tmp_path: Path, use: Use
    ) -> None:
        """A file is replaced, not written into, so nothing outside changes with it."""
        (worktree / "hard").hardlink_to(tmp_path / "outside" / "kept.txt")

        use("write", path="hard", content="x")

        assert (tmp_path / "outside" / "kept.txt").read_text() == "outside\n"

    def test_nothing_is_left_of_a_failure(
        self, worktree: Path, use: Use, state: State, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A full disk leaves the file as it was, and no piece of the new one."""

        def full(fd: int) -> None:
            raise OSError(28, "No space left on device")

        before = state()
        monkeypatch.setattr(os, "fsync", full)
        answer = use("write", path="deep/a.txt", content="x")
        monkeypatch.undo()

        assert answer.is_error
        assert "No space left" in answer.text
        assert state() == before


class TestEdit:
    @pytest.mark.parametrize(
        ("data", "args", "after"),
        [
            (b"one\ntwo\n", {"old": "two", "new": "2"}, b"one\n2\n"),
            (b"one\r\ntwo\r\n", {"old": "one\ntwo", "new": "1\n2"}, b"1\r\n2\r\n"),
            (b"one\r\ntwo\n", {"old": "two\n", "new": "2\n"}, b"one\r\n2\n"),
            (b"x\nx\n", {"old": "x", "new": "y", "line": 2}, b"x\ny\n"),
            (b"x\nx\n", {"old": "x", "new": "y", "every": True}, b"y\ny\n"),
            (b"aaa", {"old": "aa", "new": "b", "every": True}, b"ba"),
            (b"one", {"old": "one", "new": ""}, b""),
            ("ü\n".encode(), {"old": "ü", "new": "ö"}, "ö\n".encode()),
            (b"\xef\xbb\xbfa\n", {"old": "a", "new": "b"}, b"\xef\xbb\xbfb\n"),
        ],
    )
    def test_exactly(
        self, worktree: Path, use: Use, data: bytes, args: dict[str, Any], after: bytes
    ) -> None:
        """The piece is replaced as it stands, in the newlines of its file."""
        (worktree / "f").write_bytes(data)
        (worktree / "f").chmod(0o640)

        answer = use("edit", path="f", **args)

        assert not answer.is_error, answer.text
        assert (worktree / "f").read_bytes() == after
        assert (worktree / "f").stat().st_mode & 0o777 == 0o640

    @pytest.mark.parametrize(
        ("data", "args", "why"),
        [
            (b"a", {"old": "b", "new": "c"}, "not-found"),
            (b"a a", {"old": "a", "new": "c"}, "not-unique"),
            (b"aaa", {"old": "aa", "new": "c"}, "not-unique"),
            (b"a a\n", {"old": "a", "new": "c", "line": 1}, "not-unique"),
            (b"\na\n", {"old": "a", "new": "c", "line": 1}, "moved"),
            (b"a", {"old": "a", "new": "a"}, "no-change"),
            (b"a", {"old": "a", "new": "b", "line": 1, "every": True}, "bad-arguments"),
            (b"a\0", {"old": "a", "new": "b"}, "binary"),
            (b"a\xff", {"old": "a", "new": "b"}, "encoding"),
        ],
    )
    def test_not_at_all(
        self, worktree: Path, use: Use, data: bytes, args: dict[str, Any], why: str
    ) -> None:
        """S004-R10: what is missing, moved, or there more than once is refused."""
        (worktree / "f").write_bytes(data)

        assert use("edit", path="f", **args).data["why"] == why
        assert (worktree / "f").read_bytes() == data

    def test_what_moved_is_told(self, worktree: Path, use: Use) -> None:
        """S004-R10: located again when it is applied; the answer says where it stands now."""
        (worktree / "f").write_text("new\nold\n")

        assert "it stands at line 2" in use("edit", path="f", old="old", new="x", line=1).text

    @given(
        st.binary(max_size=40).filter(lambda b: b"\0" not in b),
        st.text("ab\r\nü", min_size=1, max_size=4),
        st.text("ab\r\nü", max_size=4),
        st.binary(max_size=40).filter(lambda b: b"\0" not in b),
    )
    def test_no_other_byte_changes(self, head: bytes, old: str, new: str, tail: bytes) -> None:
        """Whatever a file holds, an edit that is made changes the piece alone."""
        with tempfile.TemporaryDirectory() as folder:
            file, desk = Path(folder, "f"), Desk(folder, (), ())
            file.write_bytes(data := head + old.encode() + tail)
            answer = TOOLS["edit"].run({"path": "f", "old": old, "new": new}, desk)
            after = file.read_bytes()
            if answer.is_error:
                assert after == data
                return
            pieces = {old.encode(), old.replace("\r\n", "\n").replace("\n", "\r\n").encode()}
            comes = {new.encode(), new.replace("\r\n", "\n").replace("\n", "\r\n").encode()}
            assert after in {
                data[:i] + n + data[i + len(o) :]
                for o in pieces
                for n in comes
                for i in range(len(data))
                if data.startswith(o, i)
            }
            assert os.listdir(folder) == ["f"]


class TestRaces:
    def test_a_swapped_link_lets_nothing_out(
        self, worktree: Path, tmp_path: Path, use: Use
    ) -> None:
        """A folder that turns into a link and back, as fast as can be, never leads a write out."""
        kept, folder, aside = tmp_path / "outside", worktree / "src", worktree / "aside"
        link, over = worktree / "link", threading.Event()
        link.symlink_to(kept)
        (kept / "kept.txt").write_text("in or out, beyond\n")
        (folder / "kept.txt").write_text("inside\n")

        def swap() -> None:
            while not over.is_set():
                folder.rename(aside)
                link.rename(folder)
                folder.rename(link)
                aside.rename(folder)

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            answers = [
                use("edit", path="src/kept.txt", old=old, new=new)
                for old, new in [("in", "out"), ("out", "in")] * 300
            ]
            reads = [use("read", path="src/kept.txt") for i in range(300)]
        finally:
            over.set()
            swapper.join()

        assert {p.name: p.read_text() for p in kept.iterdir()} == {
            "kept.txt": "in or out, beyond\n"
        }
        assert not any("beyond" in r.text for r in reads)
        # It is a race only if both outcomes were seen.
        assert {a.is_error for a in answers} == {True, False}
        assert any(a.data.get("why") in ("link", "outside", "missing") for a in answers)

    def test_of_two_edits_at_once_none_is_lost(self, worktree: Path, use: Use) -> None:
        """Calls of one step may run at once: each change is made or refused, none overwritten."""
        file = worktree / "f"
        file.write_text("".join(f"<{i}>\n" for i in range(40)))
        done: list[bool] = [True] * 40

        def edit(number: int) -> None:
            answer = use("edit", path="f", old=f"<{number}>", new=f"[{number}]")
            done[number] = not answer.is_error
            assert done[number] or answer.data["why"] == "changed"

        threads = [threading.Thread(target=edit, args=(i,)) for i in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        expected = "".join(f"[{i}]\n" if done[i] else f"<{i}>\n" for i in range(40))
        assert file.read_text() == expected
        assert any(done)
