"""Expansion: what a word becomes when the shell evaluates it, as far as that can be known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from remit.plugins.shell.syntax import (
    Arith,
    Glob,
    Lit,
    Mark,
    Param,
    Piece,
    Proc,
    Seq,
    Sub,
    Tilde,
    Value,
)
from remit.plugins.shell.values import MANY, Loose, Text, shown

__all__ = ["Runner", "alternatives", "evaluate", "expand", "literal", "variable"]

_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.-?\d+)?")
_NUMBERS = frozenset("?#$!")
_SPECIAL = re.compile(r"[*?\[]")


class Runner(Protocol):
    """What expansion needs of the walk."""

    @property
    def vars(self) -> Mapping[str, Text]:
        """The variables that are known."""

    def substitute(self, body: Seq) -> Text:
        """Run a command substitution and return what it prints."""

    def run_apart(self, body: Seq, fed: bool) -> Text:
        """Run a process substitution and return its name."""

    def arithmetic(self, text: str) -> None:
        """Look at arithmetic, which can run what its variables hold."""

    def home(self, user: str) -> str:
        """Return a home folder."""

    def glob(self, pattern: str) -> Sequence[str] | None:
        """Return the names that match a pattern, None if nobody looked."""

    def special(self, name: str) -> Text | None:
        """Return what a variable holds that the shell itself sets, None for any other."""


def evaluate(value: Value, run: Runner) -> None:
    """Run what is within a word, whatever it becomes."""
    if not isinstance(value, str):
        for piece in value.pieces:
            _evaluate(piece, run)


def _evaluate(piece: Piece, run: Runner) -> None:
    kind = type(piece)
    if kind is Sub:
        run.substitute(piece.body)  # type: ignore[union-attr]
    elif kind is Proc:
        run.run_apart(piece.body, piece.out)  # type: ignore[union-attr]
    elif kind is Param or kind is Arith:
        for word in piece.words:  # type: ignore[union-attr]
            evaluate(word, run)
        if kind is Arith:
            run.arithmetic(piece.text)  # type: ignore[union-attr]


def expand(value: Value, run: Runner) -> list[Text]:
    """Return the words that one word becomes."""
    if isinstance(value, str):
        return [value]
    pieces = value.pieces
    if any(type(p) is Mark and p.text == "{" for p in pieces):
        found = alternatives(pieces)
        if found is None:
            evaluate(value, run)
            return [Loose(value.raw, many=True)]
        if len(found) != 1 or found[0] is not pieces:
            out: list[Text] = []
            for one in found:
                out += _split(one, value.raw, run)
            return out
    return _split(pieces, value.raw, run)


def literal(value: Value, run: Runner) -> Text:
    """Return what a word becomes where it is neither split nor matched: an assigned value."""
    if isinstance(value, str):
        return value
    found = _split(value.pieces, value.raw, run, splits=False)
    return found[0] if len(found) == 1 else Loose(value.raw)


def _split(pieces: Sequence[Piece], raw: str, run: Runner, splits: bool = True) -> list[Text]:
    """Put the values of pieces together; the texts it can be are followed up to a bound."""
    texts: list[str] = [""]
    shape: list[str] = []
    prefix: str | None = None
    kind, many, quoted = "unknown", False, False
    globbed = False
    alone = len(pieces) == 1
    for piece in pieces:
        part: Text
        sort = type(piece)
        if sort is Lit:
            part = piece.text  # type: ignore[union-attr]
            quoted = quoted or piece.quoted  # type: ignore[union-attr]
        elif sort is Mark:
            part = piece.text  # type: ignore[union-attr]
        elif sort is Glob:
            part = piece.text  # type: ignore[union-attr]
            globbed = globbed or splits
        elif sort is Tilde:
            part = run.home(piece.user)  # type: ignore[union-attr]
        elif sort is Proc:
            part = run.run_apart(piece.body, piece.out)  # type: ignore[union-attr]
        elif sort is Arith:
            _evaluate(piece, run)
            part = Loose(piece.text, kind="number")  # type: ignore[union-attr]
        else:
            held = piece.quoted  # type: ignore[union-attr]
            quoted = quoted or held
            if sort is Sub:
                part = run.substitute(piece.body)  # type: ignore[union-attr]
            else:
                part = variable(piece, run)  # type: ignore[arg-type]
            if not held and splits:
                if isinstance(part, str):
                    words = part.split()
                    if alone and not _SPECIAL.search(part):
                        return list(words)
                    if len(words) != 1 or _SPECIAL.search(part) or words[0] != part:
                        part = Loose(raw, many=True)
                elif part.choices and any(
                    len(c.split()) != 1 or _SPECIAL.search(c) for c in part.choices
                ):
                    part = Loose(raw, many=True)
                elif part.kind == "unknown" and not part.choices:
                    part = part._replace(many=True)
            elif piece_is_all(piece):
                many = True
        shape.append(part if isinstance(part, str) else part.shape or "$_")
        if isinstance(part, str):
            if prefix is None:
                texts = [t + part for t in texts]
            continue
        if part.choices and prefix is None and len(texts) * len(part.choices) <= MANY:
            texts = [t + c for t in texts for c in part.choices]
            continue
        many = many or part.many
        if prefix is None:
            prefix = _common(texts) + part.prefix
            kind = part.kind if not _common(texts) or part.kind == "path" else "unknown"
            if part.kind == "number":
                kind = "number"
        else:
            kind = "unknown" if part.kind not in ("number", kind) else kind
    if prefix is not None:
        return [Loose(raw, prefix, kind, many, shape="".join(shape))]
    if globbed:
        return _matched(texts, raw, run)
    if len(texts) > 1:
        return [Loose(raw, _common(texts), choices=tuple(dict.fromkeys(texts)))]
    if texts[0] == "" and not quoted and splits:
        return []
    return [texts[0]]


def piece_is_all(piece: Piece) -> bool:
    """Say whether a piece is ``"$@"`` or a whole array, which stays several words when quoted."""
    return isinstance(piece, Param) and (piece.name in "@*" or piece.op == "[")


def _matched(texts: Sequence[str], raw: str, run: Runner) -> list[Text]:
    out: list[Text] = []
    for text in texts:
        names = run.glob(text)
        if names is None:
            fixed = _SPECIAL.split(text, maxsplit=1)[0]
            out.append(Loose(text, fixed, "glob", many=True))
        else:
            out += names or [text]
    return out


def _common(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    low, high = min(texts), max(texts)
    n = 0
    while n < len(low) and low[n] == high[n]:
        n += 1
    return low[:n]


def variable(piece: Param, run: Runner) -> Text:
    """Return the value of an expansion, and run what is within it."""
    for word in piece.words:
        evaluate(word, run)
    raw = f"${piece.name}"
    op = piece.op
    if op == "#" or (not op and piece.name in _NUMBERS):
        return Loose(raw, kind="number")
    if op == "!":
        return Loose(raw)
    value = run.vars.get(piece.name)
    if value is None:
        value = run.special(piece.name)
    if op == "":
        return Loose(raw) if value is None else value
    quiet = _Quiet(run)
    if op in (":-", "-", ":=", "=", ":+", "+"):
        other: Text = "" if piece.argument is None else literal(piece.argument, quiet)
        first: Text = "" if op in (":+", "+") else Loose(raw) if value is None else value
        if isinstance(value, str) and value and op not in (":+", "+"):
            return value
        both = [first, other]
        if all(isinstance(b, str) for b in both):
            return Loose(raw, choices=tuple(dict.fromkeys(shown(b) for b in both)))
        return Loose(raw)
    if op in (":?", "?"):
        return Loose(raw) if value is None else value
    return Loose(raw)


class _Quiet:
    """A runner for what has been run already: nothing runs twice."""

    def __init__(self, run: Runner) -> None:
        self.vars = run.vars
        self.home: Callable[[str], str] = run.home
        self.glob: Callable[[str], Sequence[str] | None] = run.glob
        self.special: Callable[[str], Text | None] = run.special

    def substitute(self, body: Seq) -> Text:
        return Loose("$(...)")

    def run_apart(self, body: Seq, fed: bool) -> Text:
        return Loose("<(...)")

    def arithmetic(self, text: str) -> None:
        return None


def alternatives(pieces: Sequence[Piece]) -> list[Sequence[Piece]] | None:
    """Expand braces; the same sequence if there are none, None if there are too many."""
    if sum(isinstance(p, Mark) and p.text == "{" for p in pieces) > MANY:
        return None
    start = next((i for i, p in enumerate(pieces) if isinstance(p, Mark) and p.text == "{"), None)
    if start is None:
        return [pieces]
    depth, cuts, end = 0, [start], None
    for i in range(start, len(pieces)):
        piece = pieces[i]
        if not isinstance(piece, Mark):
            continue
        if piece.text == "{":
            depth += 1
        elif piece.text == "}":
            depth -= 1
            if depth == 0:
                end = i
                break
        elif depth == 1:
            cuts.append(i)
    if end is None or len(cuts) == 1:
        texts = None
        if end is not None and all(isinstance(p, Lit) for p in pieces[start + 1 : end]):
            texts = _range("".join(p.text for p in pieces[start + 1 : end]))  # type: ignore[union-attr]
        if texts is not None:
            if len(texts) > MANY:
                return None
            middles: list[Sequence[Piece]] = [(Lit(t, True),) for t in texts]
        else:
            # No expansion begins here; one may further on.
            rest = alternatives(pieces[start + 1 :])
            if rest is None:
                return None
            if len(rest) == 1 and rest[0] == pieces[start + 1 :]:
                return [pieces]
            head = (*pieces[:start], Lit("{", False))
            return [(*head, *r) for r in rest]
    else:
        cuts.append(end)
        middles = [pieces[a + 1 : b] for a, b in pairwise(cuts)]
    assert end is not None
    out: list[Sequence[Piece]] = []
    for middle in middles:
        found = alternatives((*pieces[:start], *middle, *pieces[end + 1 :]))
        if found is None or len(out) + len(found) > MANY:
            return None
        out += found
    return out


def _range(text: str) -> list[str] | None:
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    a, b = found[1], found[2]
    if a.lstrip("-").isdigit() and b.lstrip("-").isdigit():
        low, high = int(a), int(b)
    elif a.isalpha() and b.isalpha():
        low, high = ord(a), ord(b)
    else:
        return None
    if abs(high - low) > 200:
        return [""] * (MANY + 1)
    step = 1 if high >= low else -1
    numbers = range(low, high + step, step)
    return [str(n) if a.lstrip("-").isdigit() else chr(n) for n in numbers]
