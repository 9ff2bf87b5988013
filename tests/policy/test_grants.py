"""What a grant covers: exact arguments, or every target of every effect that asks."""

import pytest

from remit.policy.digest import canonical
from remit.policy.gate import Setting, asked
from remit.policy.grants import Grant, covering
from remit.policy.guard import as_called
from remit.policy.tools import CallEffects, Shape
from remit.policy.vocabulary import Dial, Tier, Verdict

EDIT = frozenset({"worktree.write"})
BOTH = frozenset({"worktree.write", "git.push"})
ARGS = {"b": [1, {"x": "ü"}], "a": None}
EXACT = Grant("t:x", canonical(ARGS))
DOCS = Grant("t:x", effect="worktree.write", target="docs/**")
SRC = Grant("t:x", effect="worktree.write", target="src/*")
PUSH = Grant("t:x", effect="git.push", target="origin feature/*")


def shape(effects: frozenset[str] = BOTH, *, declared: bool = True, look: bool = True) -> Shape:
    return Shape(Tier.WRITE, effects, declared, "look" if look else None, frozenset())


def found(effects: frozenset[str] = EDIT, *on: str, opaque: bool = False) -> CallEffects:
    return CallEffects(effects, {"worktree.write": on} if on else {}, opaque)


@pytest.mark.parametrize(
    ("grants", "seen", "covered"),
    [
        ([EXACT], found(), (EXACT,)),
        ([DOCS, EXACT], found(EDIT, "docs/a"), (EXACT,)),
        ([DOCS], found(EDIT, "docs/a", "docs/b/c"), (DOCS,)),
        ([DOCS], found(EDIT, "docs/a", "src/b"), ()),
        ([DOCS, SRC], found(EDIT, "docs/a", "src/b"), (DOCS, SRC)),
        ([DOCS, SRC], found(EDIT, "src/b"), (SRC,)),
        ([DOCS], found(EDIT), ()),
        ([PUSH], found(EDIT, "docs/a"), ()),
        ([DOCS], found(BOTH, "docs/a"), ()),
        ([DOCS, PUSH], found(BOTH, "docs/a"), ()),
        (
            [DOCS, PUSH],
            CallEffects(BOTH, {"worktree.write": ("docs/a",), "git.push": ("origin feature/x",)}),
            (DOCS, PUSH),
        ),
        (
            [DOCS, PUSH],
            CallEffects(BOTH, {"worktree.write": ("docs/a",), "git.push": ("origin main",)}),
            (),
        ),
        ([], found(EDIT, "docs/a"), ()),
    ],
)
def test_covers(grants: list[Grant], seen: CallEffects, covered: tuple[Grant, ...]) -> None:
    """A call runs unasked if its arguments, or all that asks of it, are granted."""
    of = shape()
    asks = asked(of, seen, Dial.ASK)

    assert set(covering(grants, of, ARGS, seen, asks)) == set(covered)


@pytest.mark.parametrize("args", [{}, {"a": None}, {**ARGS, "c": 1}, {**ARGS, "a": False}])
def test_other_arguments(args: dict[str, object]) -> None:
    """Arguments are granted as they are, and none like them."""
    assert covering([EXACT], shape(), args, found(), EDIT) == ()


def test_the_order_of_keys_is_nothing() -> None:
    """Arguments are compared as values: the order in which a model gives them does not count."""
    turned = dict(reversed(ARGS.items()))
    assert covering([EXACT], shape(), turned, found(), EDIT) == (EXACT,)


@pytest.mark.parametrize(
    ("of", "seen"),
    [
        (shape(), found(EDIT, "docs/a", opaque=True)),
        (shape(frozenset(), declared=False, look=False), found(EDIT, "docs/a")),
        (
            shape(frozenset({"process.spawn"}), look=False),
            CallEffects(frozenset({"process.spawn"}), {"process.spawn": ("make",)}),
        ),
    ],
)
def test_never_what_cannot_be_judged(of: Shape, seen: CallEffects) -> None:
    """An opaque call, an undeclared tool and a spawn are asked for, whatever is granted."""
    seen = as_called(of, seen)
    every = [EXACT, DOCS, Grant("t:x", effect="process.spawn", target="**")]

    assert covering(every, of, ARGS, seen, asked(of, seen, Dial.ASK)) == ()


def test_what_is_no_effect_is_granted_by_arguments_alone() -> None:
    """A write tool without declared effects asks for no effect, so no pattern answers for it."""
    of = shape(frozenset(), look=False)
    asks = asked(of, CallEffects(), Dial.ASK)

    assert asks == {""}
    assert covering([DOCS, PUSH], of, ARGS, CallEffects(), asks) == ()
    assert covering([EXACT], of, ARGS, CallEffects(), asks) == (EXACT,)


@pytest.mark.parametrize(
    ("dial", "settings", "asks"),
    [
        (Dial.ASK, (), BOTH),
        (Dial.ACCEPT_EDITS, (), {"git.push"}),
        (Dial.AUTO, (), set()),
        (Dial.PROPOSE, (), set()),
        (Dial.AUTO, (Setting("git.push", Verdict.ASK),), {"git.push"}),
        (Dial.ASK, (Setting("git.push", Verdict.ALLOW),), EDIT),
        (Dial.ASK, (Setting("git.push", Verdict.DENY),), EDIT),
    ],
)
def test_what_asks(dial: Dial, settings: tuple[Setting, ...], asks: set[str]) -> None:
    """The effects that ask are those whose cell, or whose setting, says so."""
    assert asked(shape(), CallEffects(BOTH), dial, settings) == asks
