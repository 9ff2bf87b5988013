"""The shortcuts of the classifier change nothing but the time that it takes."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from remit.plugins import places
from remit.plugins.conformance import lines
from remit.plugins.shell import Reading, read_shell, walk
from remit.plugins.shell.parse import Parser
from remit.policy.tools import Facts

FACTS = Facts(worktree="/ws", cwd="/ws", plain=True)
CORPUS = sorted({line.command for line in lines() if line.shell == "bash"})


def _slowly(text: str) -> Reading:
    """Read with the full grammar, word by word."""
    with patch.object(walk, "plain", lambda _: None), patch.object(Parser, "quick", False):
        return read_shell(text, FACTS)


def test_corpus() -> None:
    """Every third line of the corpus is read the same, word by word or in runs."""
    wrong = [t for t in CORPUS[::3] if read_shell(t, FACTS) != _slowly(t)]

    assert not wrong


WORDS = st.sampled_from(
    [
        "git", "rm", "cd", "pushd", "export", "echo", "a", "a.b", "-rf", "--x=y", "A=1", "A+=1",
        "a-b=c", "'x y'", '"x y"', "'a=b'", '"A=1"', "x'y'\"z\"", "''", '""', "'", '"', "{}",
        "{a,b}", "2", "2>f", "2>&1", ">f", "> f", "&>f", "<f", "$x", '"$x"', "*", "~", "~/a",
        "a~", "#", "a#b", "!", "time", "then", "'then'", "fi", "done", "}", "{", "if", "in",
        "for", "case", "esac", "function", "coproc", "f()", "f ()", "(", ")", "\\a", "a\\ b",
        "a\u00a0b", "'\u200b'", "é", "xargs", "sh", "-c", "a:b@c%d^e+f,g", "[[", "]]", "a[1]=2",
    ]
)  # fmt: skip
BETWEEN = st.sampled_from([" ", "  ", "\t", "\n", ";", " && ", "||", "|", "&", " ", " ", "\\\n"])


@given(st.lists(st.tuples(WORDS, BETWEEN), max_size=12).map(lambda x: "".join(a + b for a, b in x)))
@example("A=1 B='2' rm a")
@example("'A=1' rm")
@example("a=b\n'then' x")
@example("f () { rm a; }; f")
def test_lines(text: str) -> None:
    """Any line of words and operators is read the same, word by word or in runs."""
    assert read_shell(text, FACTS) == _slowly(text)


PARTS = st.sampled_from(
    [
        "a", ".env", ".env.x", "x.env", "a.pem", ".ssh", "known_hosts", "config", ".kube", "etc",
        "shadow", "ssh", "x_key", "proc", "1", "environ", "run", "secrets", ".config", "gh",
        "hosts.yml", ".git", "hooks", "service-account-1.json", "id_rsa.pub", "home", "me",
        ".aws", "a.sample", "~", "root", "x\ny",
    ]
)  # fmt: skip


@given(st.lists(PARTS, min_size=1, max_size=6), st.booleans())
def test_places(parts: list[str], rooted: bool) -> None:
    """A pattern that is not tried on a path would not have matched it."""
    path = "/" * rooted + "/".join(parts)

    for spelling in places._table():
        assert spelling.fits(path) == (spelling.whole.fullmatch(path) is not None)
