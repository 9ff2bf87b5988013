"""Files are bounded before they are parsed, and what is wrong with one is told in one problem."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from remit.policy.problems import CODES, InputError
from remit.profiles.catalogs import load_catalog, parse_catalog
from remit.profiles.document import parse_toml
from remit.profiles.library import Library
from remit.profiles.source import TOML_BYTES, Source, read_source


def refused(do: Callable[..., object], *args: object) -> str:
    with pytest.raises(InputError) as caught:
        do(*args)
    (problem,) = caught.value.problems
    assert problem.code in CODES
    assert problem.where.file
    return problem.code


class TestReading:
    @pytest.mark.parametrize(
        ("raw", "code"),
        [
            (b"x" * 10_000_000, "file-too-large"),
            (b"#" * (TOML_BYTES + 1), "file-too-large"),
            (b"\x89PNG\r\n\x1a\n\x00\x00", "file-not-text"),
            (b'name = "a\x00b"\n', "file-not-text"),
            ("name = 'ä'".encode("latin-1"), "file-not-text"),
            ("name = 'a'".encode("utf-16"), "file-not-text"),
        ],
    )
    def test_a_file_that_is_no_small_text_is_refused(
        self, tmp_path: Path, raw: bytes, code: str
    ) -> None:
        """10 MB, binary, NUL and other encodings are refused before anything is parsed."""
        file = tmp_path / "docs.toml"
        file.write_bytes(raw)
        assert refused(read_source, file) == code
        assert refused(Library.load().read, file) == code
        assert refused(load_catalog, file) == code

    def test_a_file_of_the_largest_size_is_read(self, tmp_path: Path) -> None:
        """The bound is the last size that is taken."""
        file = tmp_path / "docs.toml"
        file.write_bytes(b"#" * TOML_BYTES)
        assert len(read_source(file).text) == TOML_BYTES

    def test_a_missing_file_and_a_folder_are_told_apart(self, tmp_path: Path) -> None:
        """A missing file, a folder and a name with NUL in it have codes of their own."""
        assert refused(read_source, tmp_path / "docs.toml") == "file-missing"
        assert refused(read_source, tmp_path) == "file-is-folder"
        assert refused(read_source, "a\0b") == "file-unreadable"

    def test_a_file_that_may_not_be_read_is_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """No permission is said, with what the owner can do; root is simulated into it."""
        file = tmp_path / "docs.toml"
        file.write_text("")
        file.chmod(0)
        if os.access(file, os.R_OK):

            def no_permission(*args: object, **kwargs: object) -> None:
                raise PermissionError(13, "Permission denied")

            monkeypatch.setattr("builtins.open", no_permission)
        assert refused(read_source, file) == "file-unreadable"

    def test_a_byte_order_mark_is_no_part_of_the_text(self, tmp_path: Path) -> None:
        """What some editors put first is dropped."""
        file = tmp_path / "docs.toml"
        file.write_bytes(b'\xef\xbb\xbfname = "docs"\n')
        assert Library.load().read(file).name == "docs"


class TestParsing:
    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("[" * 20_000, "toml-syntax"),
            ("a = " + "[" * 20_000, "too-deep"),
            ("a = " + "{a=" * 20_000, "too-deep"),
            ("a = " + '["]",' * 20_000, "too-deep"),
            ("a" + ".a" * 60_000 + " = 1", "too-deep"),
            ("[a" + ".a" * 60_000 + "]", "too-deep"),
            ("a = " + "7" * 5_000, "number-too-large"),
            ("a = -" + "7_7" * 5_000, "number-too-large"),
            ("name = ", "toml-syntax"),
            ('name = "a', "toml-syntax"),
            ("[a]\n[a]", "duplicate-key"),
            ("a = 1\na = 2", "duplicate-key"),
            ("a.b = 1\na.b = 2", "duplicate-key"),
            ("t = { a = 1, a = 2 }", "duplicate-key"),
            ("\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "toml-syntax"),
            ("a = '\x01'", "toml-syntax"),
        ],
        ids=range(16),
    )
    def test_a_hostile_text_is_one_problem(self, text: str, code: str) -> None:
        """Depth, digits, syntax and repetition end in a problem, soon, and never in a traceback."""
        assert refused(parse_toml, Source(text, "docs.toml")) == code
        (problem,) = Library.load([Source(text, "docs.toml")]).problems
        assert problem.code == code
        assert code in {p.code for p in parse_catalog(Source(text, "c.toml")).problems}

    def test_brackets_in_text_are_no_depth(self) -> None:
        """A text may hold any number of brackets and dots."""
        text = 'a = "' + "[" * 100 + "." * 100 + '"'
        assert parse_toml(Source(text, "x.toml")).data == tomllib.loads(text)

    def test_a_syntax_error_is_placed_where_tomllib_stops(self) -> None:
        """Line and column of a syntax error are those of the parser, Windows newlines or not."""
        for newline in ("\n", "\r\n"):
            text = newline.join(['name = "docs"', "", "label = docs"])
            with pytest.raises(InputError) as caught:
                parse_toml(Source(text, "docs.toml"))
            assert str(caught.value.problems[0].where) == "docs.toml:3:9"
