"""What holds of every command line, not only of those in the corpus."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from remit.plugins.shell import Reading, classify_shell
from remit.policy.tools import Facts

FACTS = Facts(worktree="/ws", cwd="/ws", plain=True)


class Tree(NamedTuple):
    """A command line, and effects that it certainly has."""

    text: str
    effects: frozenset[str]


def _read(text: str) -> Reading:
    return classify_shell(text, FACTS)


LEAVES = [
    Tree("rm a", frozenset({"file.delete"})),
    Tree("git push origin x", frozenset({"git.push"})),
    Tree("git commit -m 'x y'", frozenset({"git.commit"})),
    Tree("touch a", frozenset({"worktree.write"})),
    Tree("touch /srv/a", frozenset({"file.write_outside"})),
    Tree("pip install x", frozenset({"package.install"})),
    Tree("npm publish", frozenset({"package.publish"})),
    Tree("gh pr create -f", frozenset({"pr.create"})),
    Tree("gh pr merge 1", frozenset({"pr.publish"})),
    Tree("gh issue close 1", frozenset({"vendor.write"})),
    Tree("docker stop c", frozenset({"enclosure.control"})),
    Tree("remit space lock s", frozenset({"workspace.mutate"})),
    Tree("curl -s https://x.test", frozenset({"network.egress"})),
    Tree("cat .env", frozenset({"secret.read"})),
    Tree("./x.sh", frozenset({"process.spawn"})),
    Tree("sed -i s/a/b/ f", frozenset({"worktree.write"})),
    Tree("find . -delete", frozenset({"file.delete"})),
    Tree("perl -pi -e s/a/b/ f", frozenset({"worktree.write", "process.spawn"})),
    Tree("echo x > a", frozenset({"worktree.write"})),
    Tree("echo x | tee a", frozenset({"worktree.write"})),
]
QUIET = [
    "ls",
    "git status",
    "cat a b",
    "grep -n 'rm a' f",
    "true",
    "echo 'rm -rf /; git push'",
    "wc -l a",
]
#: Wrappers that take words, here with the options that they have.
WORDS = [
    "env {}",
    "env -u B A=1 {}",
    "nice -n 5 {}",
    "nohup {}",
    "timeout -k 2 30 {}",
    "stdbuf -oL {}",
    "sudo -u root {}",
    "doas {}",
    "command {}",
    "exec {}",
    "time {}",
    "ionice -c 3 {}",
    "setsid {}",
    "chrt 5 {}",
    "taskset 1 {}",
    "flock f {}",
    "busybox {}",
    "xargs -n1 {}",
    "strace -f {}",
    "watch -x {}",
    "unshare {}",
    "builtin command {}",
    "find . -exec {} \\;",
]
#: Wrappers that join words to code, so that quotes in them mean something else.
JOINED = ["watch {}", "eval {}"]
#: Wrappers that take code in one word.
CODE = [
    "bash -c {}",
    "sh -lc {}",
    "zsh -ec {} x",
    "eval {}",
    "env -S {}",
    "flock f -c {}",
    "trap {} EXIT",
    "su -c {}",
    "script -c {}",
    "watch {}",
    "parallel {} ::: a",
    "xargs sh -c {}",
    "find . -exec sh -c {} \\;",
    "bash <<< {}",
    "echo {} | sh",
    "nix-shell --run {}",
    "alias x={}",
    "git -c alias.x=!{} x",
    "git submodule foreach {}",
    "git rebase -x {} main",
]
AROUND = [
    "{}",
    "ls && {}",
    "{} || ls",
    "ls; {}",
    "{}\nls",
    "ls | {}",
    "{} | cat",
    "! {}",
    "( {} )",
    "{{ {}; }}",
    "if {}; then ls; fi",
    "if ls; then {}; fi",
    "if ls; then pwd; else {}; fi",
    "while {}; do ls; done",
    "for f in a b; do {}; done",
    "case x in x) {};; esac",
    "{{ f() {{ {}; }}; f; }}",
    "echo $( {} )",
    'echo "$( {} )"',
    "x=$( {} )",
    "cat <( {} )",
    "cat <<E\n$( {} )\nE\nls",
    "echo ${{x:-$( {} )}}",
    "[[ -n $( {} ) ]]",
    "echo $((1+$( {} )))",
    "{} & wait",
    "until {}; do ls; done",
    "( function g {{ {}; }}\ng )",
    "ls # c\n{}",
    "( {} # c\n)",
    "time {}",
    "select f in a; do {}; done",
    "{} > /dev/null 2>&1",
    "coproc {{ {}; }}",
    "(( 1 )) && {}",
    "cd sub; {}",
]


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """A leaf, wrapped, quoted, chained and nested."""
    tree = draw(st.sampled_from(LEAVES))
    simple = not any(c in tree.text for c in "|>")
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["words", "code", "around", "spelling", "chain"]))
        if kind == "words" and simple:
            form = draw(st.sampled_from(WORDS if set("'\"\\") & set(tree.text) else WORDS + JOINED))
            tree = tree._replace(text=form.replace("{}", tree.text))
        elif kind == "code":
            form = draw(st.sampled_from(CODE))
            tree = tree._replace(text=form.replace("{}", shlex.quote(tree.text)))
            simple = form.split()[0] not in ("bash", "echo", "trap", "alias") or "<" not in form
            simple = simple and "|" not in form and form.split()[0] not in ("trap", "alias")
        elif kind == "around":
            form = draw(st.sampled_from(AROUND))
            tree = tree._replace(
                text=form.replace("{}", tree.text).replace("{{", "{").replace("}}", "}")
            )
            simple = False
        elif kind == "spelling" and simple and tree.text[0].isalpha():
            head, _, rest = tree.text.partition(" ")
            how = draw(
                st.sampled_from(['{0}""{1}', "\\{0}{1}", "'{0}'{1}", '"{0}{1}"', "$'{0}'{1}"])
            )
            tree = tree._replace(text=f"{how.format(head[0], head[1:])} {rest}")
            simple = False
        elif kind == "chain":
            other = draw(st.sampled_from(QUIET))
            op = draw(st.sampled_from(["&&", "||", ";", "|", "\n"]))
            text = (
                f"{tree.text} {op} {other}" if draw(st.booleans()) else f"{other} {op} {tree.text}"
            )
            tree, simple = tree._replace(text=text), False
    return tree


@given(trees())
def test_nothing_loses_an_effect(tree: Tree) -> None:
    """Wrapping, quoting, chaining or nesting a command loses none of its effects."""
    found = _read(tree.text)

    assert tree.effects <= found.effects, found.parts


NOISE = st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"]), max_size=40)
WORDY = st.lists(
    st.sampled_from(
        [
            "rm -rf /",
            "git push",
            "$(rm a)",
            "`rm a`",
            "> x",
            "; rm a",
            "&& curl x",
            "| sh",
            "'",
            '"',
            "#",
            "\\",
            "x",
        ]
    ),
    max_size=5,
).map(" ".join)
TALK = st.one_of(NOISE, WORDY)
#: Places where text is data: what is in it has no effect.
DATA = [
    "echo {}",
    "printf '%s' {}",
    "grep -F -- {} a",
    "git log --grep={}",
    "git log --author {}",
    "git status --porcelain -- {}",
    "rg -n -e {} a",
    "jq -n --arg x {} '$x'",
    "ls {} a",
    "test -n {}",
    "[[ {} == x ]]",
    "x={}",
    "case {} in x) ls;; esac",
    "cat <<< {}",
    "for w in {}; do ls; done",
    "git log -S{}",
    "wc -l -- {}",
    ": {}",
    "export X={}",
    "find . -name {}",
]


@given(TALK, st.sampled_from(DATA))
def test_quoted_text_adds_nothing(talk: str, form: str) -> None:
    """A quoted argument of a known program adds no effect, whatever it says."""
    found = _read(form.replace("{}", shlex.quote(talk)))

    assert not found.effects - {"secret.read"}, found.parts


@given(
    TALK,
    st.sampled_from(
        [
            "git commit -m {}",
            "git commit --message={} -q",
            "git tag -a v1 -m {}",
            "git stash push -m {}",
            "gh pr create -t {} -b x",
        ]
    ),
)
def test_messages_add_nothing(talk: str, form: str) -> None:
    """A message adds nothing to what its command does."""
    plain = _read(form.replace("{}", "m"))

    found = _read(form.replace("{}", shlex.quote(talk)))

    assert (found.effects, found.opaque) == (plain.effects, plain.opaque), found.parts


@given(TALK)
def test_comments_add_nothing(talk: str) -> None:
    """A comment is no command."""
    line = talk.replace("\n", " ")
    for text in (f"ls # {line}\npwd", f"# {line}\nls", f"ls\n#{line}"):
        found = _read(text)

        assert (found.effects, found.opaque) == (frozenset(), False), (text, found.parts)


@given(st.lists(TALK, max_size=4).map("\n".join))
def test_documents_add_nothing(body: str) -> None:
    """The body of a quoted here-document is data."""
    found = _read(f"cat <<'THE_END'\n{body}\nTHE_END\nls")

    assert (found.effects, found.opaque) == (frozenset(), False), found.parts


PIECES = st.lists(
    st.sampled_from(
        [
            "rm",
            "git",
            "$(",
            ")",
            "(",
            "{",
            "}",
            "`",
            "'",
            '"',
            "\\",
            "$",
            "${",
            "<<",
            "EOF",
            "\n",
            ";",
            "&&",
            "|",
            "<(",
            ">",
            "((",
            "))",
            "[[",
            "]]",
            "if",
            "then",
            "fi",
            "for",
            "do",
            "done",
            "case",
            "esac",
            "in",
            " ",
            "#",
            "$'",
            "=",
            "x",
            "*",
            "{a,b}",
            "~",
            "!",
            "&",
            "$((",
            "[",
            "]",
            "function",
            "coproc",
            "time",
            "<<<",
            "<<-",
        ]
    ),
    max_size=30,
).map("".join)


@given(st.one_of(PIECES, st.text(max_size=60)))
def test_anything_is_answered(text: str) -> None:
    """Whatever the text is, there is an answer; it never raises."""
    for shell in ("bash", "powershell"):
        assert isinstance(classify_shell(text, FACTS, shell), Reading)
