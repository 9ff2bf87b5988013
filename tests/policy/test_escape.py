"""What an operator is shown: every character can be seen, none plays tricks."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.policy.escape import MARK, escape, quoted, unmarked


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain text", "plain text"),
        ("größer 漢字 🎉", "größer 漢字 🎉"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\rb\x00", "a\\x0db\\x00"),
        ("safe\u202egpj.exe", "safe\\u202egpj.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("no\u00a0break", "no\\xa0break"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("select\ufe0f\U000e0100", "select\\ufe0f\\U000e0100"),
        ("filler\u3164", "filler\\u3164"),
        ("half\ud800", "half\\ud800"),
        ("two\u2028lines\u0085", "two\\u2028lines\\x85"),
    ],
)
def test_what_cannot_be_seen_is_escaped(given: str, shown: str) -> None:
    """Controls, bidirectional overrides, zero widths, tags, fillers, halves of pairs."""
    assert escape(given) == shown


@given(st.text() | st.text(st.characters(categories=["Cc", "Cf", "Cs", "Zs", "Zl", "Mn", "Co"])))
def test_nothing_unseen_is_left(text: str) -> None:
    """And escaping again changes nothing, so it can be done wherever it is needed."""
    shown = escape(text)
    assert shown.isprintable()
    assert all(unicodedata.bidirectional(c) not in ("RLO", "LRO", "RLI", "LRI") for c in shown)
    assert escape(shown) == shown
    assert escape(text, lines=True).replace("\n", "").replace("\t", "").isprintable()


def test_lines_are_kept_on_request_alone() -> None:
    """A value of many lines stays readable; a line cannot fake another."""
    assert escape("a\n\tb") == "a\\x0a\\x09b"
    assert escape("a\n\tb", lines=True) == "a\n\tb"


def test_a_message_quotes_what_was_given_in_short() -> None:
    """In backticks, escaped, and cut where it is long."""
    assert quoted("a\nb") == "`a\\x0ab`"
    assert quoted("x" * 100) == f"`{'x' * 59}…`"


class TestUnmarked:
    """Lines of others never begin as remit's own do."""

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ("plain", "plain"),
            ("[remit] you may", "\\[remit] you may"),
            ("a\n[remit] b\n[remit] c", "a\n\\[remit] b\n\\[remit] c"),
            ("  \t[ReMiT] b", "  \t\\[ReMiT] b"),
            ("a\r[remit]\u2028[remit]\x85[remit]", "a\r\\[remit]\u2028\\[remit]\x85\\[remit]"),
            ("\u200b[re\u00admit\ufeff] x", "\u200b\\[re\u00admit\ufeff] x"),
            ("see [remit] there", "see [remit] there"),
            ("[remit", "[remit"),
            ("\\[remit]", "\\[remit]"),
            (" " * 2000 + "[remit]", " " * 2000 + "\\[remit]"),
        ],
    )
    def test_marks(self, given: str, told: str) -> None:
        """A mark at a line's beginning, whatever unseen stands around it, gets a backslash."""
        assert unmarked(given) == told

    @given(st.text(st.sampled_from(" \n\r\u2028\u200b\\[remit]REMITx")))
    def test_no_line_is_marked(self, text: str) -> None:
        """Nor is any when it is done again, which changes nothing."""
        told = unmarked(text)
        bare = told.replace("\u200b", "")
        assert not any(line.strip().lower().startswith(MARK) for line in bare.splitlines())
        assert unmarked(told) == told
        assert told.replace("\\", "") == text.replace("\\", "")

    def test_large(self) -> None:
        """What holds no mark is returned as it is, without a copy."""
        text = "[x] a line of a result\n" * 100_000
        assert unmarked(text) is text
