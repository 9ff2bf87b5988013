"""`remit review`: what was found in a space, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from remit.cli.app import Family
from remit.cli.failures import FINE, NO
from remit.cli.options import Place, in_workspace, now
from remit.cli.output import emit, say

if TYPE_CHECKING:
    from remit.harness.store import Review

__all__ = ["review"]

_format = click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json", "sarif"]),
    default="markdown",
    help="How it is printed; markdown unless said.",
)


@click.group(cls=Family, meant="`remit review show {}` shows that of a space")
def review() -> None:
    """Reviews: findings of agents in a space, and what they weigh together."""


@review.command()
@click.argument("id")
@_format
@in_workspace
def show(place: Place, id: str, form: str) -> int:
    """Show the findings of space ID and their verdict; exits 1 on hold and block."""
    with place.store() as store:
        return _print(store.reviews.get(id), form)


@review.command()
@click.argument("id")
@click.option(
    "--axis",
    "axes",
    multiple=True,
    metavar="NAME=VERDICT",
    help="A gated axis: pass, warn, fail, partial or unavailable. Repeatable.",
)
@_format
@in_workspace
def finalize(place: Place, id: str, axes: tuple[str, ...], form: str) -> int:
    """Record the verdict on space ID (operator); exits 1 on hold and block."""
    from remit.harness.store import OPERATOR
    from remit.policy.review import Axis, AxisVerdict

    place.operator()
    given = []
    for one in axes:
        name, _, said = one.partition("=")
        if not name or said not in list(AxisVerdict):
            known = ", ".join(v.value for v in AxisVerdict)
            raise click.BadParameter(f"`{one}` is not NAME=VERDICT with one of {known}")
        given.append(Axis(name, AxisVerdict(said)))
    with place.store() as store:
        return _print(store.reviews.finalize(id, None, given, by=OPERATOR, now=now()), form)


def _print(review: Review, form: str) -> int:
    from importlib.metadata import version

    from remit.harness.review_formats import markdown, sarif
    from remit.policy.review import ReviewVerdict

    if form == "sarif":
        emit(sarif(review, version("remit")))
    elif form == "json":
        emit(_value(review))
    else:
        say(markdown(review), nl=False)
    return FINE if review.verdict is ReviewVerdict.SHIP else NO


def _value(review: Review) -> dict[str, Any]:
    from remit.harness.reviewing import told

    return {
        "space": review.space,
        "verdict": review.verdict.value,
        "findings": [told(f) for f in review.findings],
        "dropped": review.dropped,
        "axes": [
            {"name": a.name, "verdict": a.verdict.value, "gated": a.gated} for a in review.axes
        ],
        "finalized_at": review.finalized_at,
        "finalized_by": review.finalized_by,
    }
