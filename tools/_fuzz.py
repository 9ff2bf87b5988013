"""Fuzzes readers: whatever they are given, they are to answer, soon, and lose nothing.

    tools/fuzz shell --minutes 5
    tools/fuzz mode --minutes 5

Lines of the corpus are spliced, doubled, cut, nested and strewn with characters that mean
something. A crash, an answer later than the bound, or an effect that a chain loses ends the run
with the text that did it. Modes in Markdown are made in the same way of those that are shipped,
and one that loads although a second opinion rejects it ends the run too. `--seed` repeats a run.
"""

# ruff: noqa: E501
from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

import click
from attrs import evolve, frozen

from remit.plugins.conformance import Line, lines
from remit.plugins.shell import LENGTH, read_shell
from remit.policy.tools import Facts
from remit.profiles.library import Library
from tests.profiles.mode_rules import corpus as modes
from tests.profiles.mode_rules import made, trouble

FACTS = Facts(worktree="/ws", cwd="/ws", plain=True)
#: Seconds within which any text is answered: a fixed part, and one per thousand characters.
SOON, PER_THOUSAND = 0.5, 0.1
_MEANING = [
    "$(", ")", "`", "'", '"', "\\", "${", "}", "((", "))", "[[", "]]", "<(", ">(", "<<E\n", "\nE\n", ";", "&&", "||",
    "|", "&", "\n", "#", "{", "if ", "then ", "fi", "for x in ", "do ", "done", "case x in ", "esac", "function f ",
    "$((", "$[", "$'", "~", "*", "!", "<<<", ">&", "\0", "\u200b", "\r", "=", "{a,b}", "-c ", "xargs ", "eval ", "time ",
]  # fmt: skip


@frozen
class Trouble(Exception):
    """What was found, and the text that did it."""

    what: str
    text: str


def _spliced(rng: random.Random, corpus: list[str]) -> str:
    one, other = rng.choice(corpus), rng.choice(corpus)
    return one[: rng.randrange(len(one) + 1)] + other[rng.randrange(len(other) + 1) :]


def _strewn(rng: random.Random, corpus: list[str]) -> str:
    text = rng.choice(corpus)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(_MEANING) + text[at + rng.randint(0, 2) :]
    return text


def _nested(rng: random.Random, corpus: list[str]) -> str:
    text = rng.choice(corpus)
    opening, closing = rng.choice(
        [
            ("$(", ")"),
            ("(", ")"),
            ("{ ", "; }"),
            ('"$(', ')"'),
            ("bash -c '", "'"),
            ("$((", "))"),
            ("`", "`"),
        ]
    )
    depth = rng.choice([2, 5, 30, 100, 10_000])
    return opening * depth + text + closing * rng.choice([depth, depth - 1, 0])


def _long(rng: random.Random, corpus: list[str]) -> str:
    return rng.choice(["; ", "\n", " && ", " | ", " "]).join(
        [rng.choice(corpus)] * rng.choice([10, 300, 5_000])
    )


def _noise(rng: random.Random, corpus: list[str]) -> str:
    return "".join(
        rng.choice([*_MEANING, "rm", "a", " ", "git"]) for _ in range(rng.randint(1, 60))
    )


_MAKERS: list[Callable[[random.Random, list[str]], str]] = [
    _spliced,
    _strewn,
    _nested,
    _long,
    _noise,
]


def tried(text: str) -> float:
    """Read one text in both shells; raises `Trouble`, returns the seconds of the slower."""
    slowest = 0.0
    for shell in ("bash", "powershell"):
        begun = time.process_time()
        try:
            read_shell(text, FACTS, shell)
        except BaseException as error:
            raise Trouble(f"{shell} raised {type(error).__name__}: {error}", text) from error
        took = time.process_time() - begun
        bound = SOON + PER_THOUSAND * min(len(text), LENGTH) / 1000
        if took > bound:
            raise Trouble(f"{shell} took {took:.2f} s, at most {bound:.2f} s are allowed", text)
        slowest = max(slowest, took)
    return slowest


def _chained(rng: random.Random, corpus: list[Line]) -> None:
    """A chain has all that its parts have."""
    one, other = rng.choice(corpus), rng.choice(corpus)
    text = f"{one.command}\n{other.command}"
    found = read_shell(text, evolve(FACTS, cwd="/ws"))
    lost = one.effects - found.effects
    if lost:
        raise Trouble(f"the chain lost {sorted(lost)}", text)


def _commands(rng: random.Random) -> Callable[[], float]:
    whole = [line for line in lines() if line.shell == "bash"]
    corpus = [line.command for line in whole]

    def attempt() -> float:
        took = tried(rng.choice(_MAKERS)(rng, corpus))
        _chained(rng, whole)
        return took

    return attempt


def _modes(rng: random.Random) -> Callable[[], float]:
    library, texts = Library.load(), modes()

    def attempt() -> float:
        text, begun = made(rng, texts), time.process_time()
        found, _ = trouble(library, text)
        if found:
            raise Trouble(found, text)
        return time.process_time() - begun

    return attempt


@click.command()
@click.argument("what", type=click.Choice(["shell", "mode"]))
@click.option("--minutes", default=1.0, show_default=True, help="How long to go on.")
@click.option("--seed", type=int, default=None, help="Repeat a run.")
def main(what: str, minutes: float, seed: int | None) -> None:
    """Try texts until the time is up; exit 1 with the first that is trouble."""
    seed = random.randrange(1 << 32) if seed is None else seed
    rng = random.Random(seed)
    attempt = _commands(rng) if what == "shell" else _modes(rng)
    end = time.monotonic() + minutes * 60
    count, slowest = 0, 0.0
    try:
        while time.monotonic() < end:
            slowest = max(slowest, attempt())
            count += 1
    except Trouble as trouble:
        click.echo(f"seed {seed}, text {count}: {trouble.what}\n{trouble.text[:2000]!r}", err=True)
        sys.exit(1)
    click.echo(f"{count} texts, the slowest in {slowest * 1000:.0f} ms (seed {seed})")


if __name__ == "__main__":
    main()
