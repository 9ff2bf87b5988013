"""`read`, `list` and `find`: what is seen of a worktree, and how long results end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from remit.harness.tools import Desk
from tests.harness.tools.conftest import Use


class TestRead:
    @pytest.mark.parametrize(
        ("data", "args", "text"),
        [
            (b"a\nb\n", {}, "f: lines 1 to 2 of 2\n1\ta\n2\tb"),
            (b"a\nb\nc\n", {"line": 2}, "f: lines 2 to 3 of 3\n2\tb\n3\tc"),
            (b"", {}, "f: empty"),
            (b"a", {}, "f: lines 1 to 1 of 1; the last line has no newline\n1\ta"),
            (b"a\r\nb\r\n", {}, "f: lines 1 to 2 of 2; lines end in CRLF\n1\ta\n2\tb"),
            (b"\xef\xbb\xbfa\n", {}, "f: lines 1 to 1 of 1\n1\ta"),
            ("ü\n".encode(), {}, "f: lines 1 to 1 of 1\n1\tü"),
            (
                b"\xfcber\n",
                {},
                "f: lines 1 to 1 of 1; it is not UTF-8: other bytes stand as `\\xNN`\n1\t\\xfcber",
            ),
        ],
    )
    def test_lines_are_numbered(
        self, worktree: Path, use: Use, data: bytes, args: dict[str, Any], text: str
    ) -> None:
        """A text is told with its numbers, and what is unusual of it is said."""
        (worktree / "f").write_bytes(data)

        answer = use("read", path="f", **args)

        assert (answer.is_error, answer.text) == (False, text)

    @pytest.mark.parametrize(
        ("path", "why"),
        [
            ("missing", "missing"),
            ("src", "is-folder"),
            ("binary", "binary"),
            ("fifo", "not-file"),
            ("../outside/kept.txt", "outside"),
            ("/etc/passwd", "outside"),
            ("out", "outside"),
            ("out-folder/kept.txt", "outside"),
            ("loop", "link"),
            ("hidden.db", "secret"),
            ("to-hidden", "secret"),
            ("hard-to-hidden", "secret"),
            ("to-secret", "link"),
            ("a.txt/x", "not-folder"),
            ("src/../a.txt", "bad-path"),
            ("~/x", "bad-path"),
            ("-", "bad-path"),
            ("", "bad-path"),
            ("a\0b", "bad-path"),
        ],
    )
    def test_what_is_not_read(self, worktree: Path, use: Use, path: str, why: str) -> None:
        """Nothing outside is read, by no link, nor what no tool may even read."""
        (worktree / "binary").write_bytes(b"a\0b")
        os.mkfifo(worktree / "fifo")
        (worktree / "out").symlink_to("../outside/kept.txt")
        (worktree / "out-folder").symlink_to("../outside")
        (worktree / "loop").symlink_to("loop")
        (worktree / "hidden.db").write_text("secret\n")
        (worktree / "to-hidden").symlink_to("hidden.db")
        (worktree / "hard-to-hidden").hardlink_to(worktree / "hidden.db")
        (worktree / ".env").write_text("KEY=1\n")
        (worktree / "to-secret").symlink_to(".env")

        answer = use("read", path=path)

        assert answer.is_error
        assert answer.data["why"] == why, answer.text

    def test_links_within_are_followed(self, worktree: Path, use: Use) -> None:
        """A link to a file or folder of the worktree is as good as its end, however it is spelt."""
        (worktree / "folder").symlink_to("src")
        (worktree / "src" / "up").symlink_to("../a.txt")
        (worktree / "whole").symlink_to(worktree / "src")

        for path in ("folder/app.py", "folder/up", "whole/up", str(worktree / "a.txt")):
            assert not use("read", path=path).is_error, path

    def test_long_files_come_in_pages(self, worktree: Path, use: Use) -> None:
        """Each page says where the next begins; together they are the file."""
        (worktree / "long").write_text("".join(f"line {i}\n" for i in range(1, 4502)))
        found: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            answer = use("read", path="long", **cursor)
            found += answer.text.split("\n")[1 : 1 + answer.data["last"] - answer.data["first"] + 1]
            if "cursor" not in answer.data:
                break
            cursor = {"cursor": answer.data["cursor"]}

        assert found == [f"{i}\tline {i}" for i in range(1, 4502)]

    def test_a_page_of_another_file_is_told(self, worktree: Path, use: Use) -> None:
        """A cursor holds for the file as it was; its lines may be others now."""
        (worktree / "long").write_text("x\n" * 3000)
        cursor = use("read", path="long").data["cursor"]
        (worktree / "long").write_text("y\n" * 3000)

        assert use("read", path="long", cursor=cursor).data["why"] == "changed"
        assert use("read", path="long", cursor="x").data["why"] == "bad-cursor"

    def test_results_are_bounded(self, worktree: Path, use: Use) -> None:
        """Neither long lines nor many make a result longer than its bound."""
        (worktree / "wide").write_text("x" * 1_000_000 + "\n" + "y" * 1_900 + "\n")
        (worktree / "many").write_text(("z" * 1_900 + "\n") * 3_000)

        assert len(use("read", path="wide").text) < 5_000
        assert len(use("read", path="many").text) < 53_000
        assert "998000 more characters" in use("read", path="wide").text


class TestList:
    def test_kinds_are_told(self, worktree: Path, use: Use) -> None:
        """Folders end in a slash, files have a size, links say where they lead."""
        (worktree / "link").symlink_to("a.txt")

        lines = use("list").text.split("\n")

        assert lines[0] == ".: 6 in all"
        assert {"src/", "a.txt (14 bytes)", "link -> a.txt"} <= set(lines)

    def test_many_come_in_pages(self, worktree: Path, use: Use) -> None:
        """Pages go on by name, so one that is removed meanwhile loses no other."""
        (worktree / "many").mkdir()
        for i in range(2_100):
            (worktree / "many" / f"{i:04}").touch()
        first = use("list", path="many")
        (worktree / "many" / "1999").unlink()
        second = use("list", path="many", cursor=first.data["cursor"])

        assert second.text.split("\n")[1] == "2000 (0 bytes)"
        assert "cursor" not in second.data

    def test_no_folder(self, use: Use) -> None:
        """A file is no folder."""
        assert use("list", path="a.txt").data["why"] == "not-folder"
        assert use("list", path="..").data["why"] == "outside"


class TestFind:
    @pytest.mark.parametrize(
        ("args", "found"),
        [
            ({"pattern": "*.py"}, ["src/app.py"]),
            ({"pattern": "**/*.py"}, ["src/app.py"]),
            ({"pattern": "**/*.txt"}, ["a.txt"]),
            ({"pattern": "src/*"}, ["src/app.py"]),
            ({"pattern": "*.{txt,py}"}, ["a.txt", "src/app.py"]),
            ({"pattern": "[!b].txt"}, ["a.txt"]),
            ({"pattern": "?.txt", "path": "src"}, ["no file matches"]),
            ({"pattern": "*.txt", "ignored": True}, ["a.txt", "built/out.txt"]),
            ({"pattern": "*.TXT"}, ["no file matches"]),
        ],
    )
    def test_by_glob(self, use: Use, args: dict[str, Any], found: list[str]) -> None:
        """What git ignores is left out unless asked for; the repository's own data always."""
        assert use("find", **args).text.split("\n") == found

    def test_without_git_all_is_found(self, tmp_path: Path, desk: Desk) -> None:
        """A folder that is no repository has nothing that is ignored."""
        from attrs import evolve

        from remit.harness.tools import TOOLS

        plain = evolve(desk, worktree=str(tmp_path / "outside"))
        assert TOOLS["find"].run({"pattern": "*"}, plain).text == "kept.txt"

    def test_links_are_not_walked(self, worktree: Path, use: Use) -> None:
        """A link neither leads out of the worktree nor in circles."""
        (worktree / "src" / "out").symlink_to("../../outside")
        (worktree / "src" / "circle").symlink_to("..")

        assert use("find", pattern="**", path="src", ignored=True).text == "src/app.py"
