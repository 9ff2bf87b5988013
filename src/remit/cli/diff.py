"""`remit diff`: which of two modes admits less, and what differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import click

from remit.cli.failures import FINE, NO
from remit.cli.options import Place, as_json, in_place, with_catalogs
from remit.cli.output import emit, say, table
from remit.policy.ceiling import Ceiling
from remit.policy.profile import Brief, Profile
from remit.policy.projection import Projection
from remit.policy.tools import Tool
from remit.policy.vocabulary import Dial, Layer, Verdict, in_order

__all__ = ["diff"]


@click.command()
@click.argument("a")
@click.argument("b")
@with_catalogs
@as_json
@in_place
def diff(place: Place, a: str, b: str, catalogs: tuple[str, ...], as_json: bool) -> int:
    """Say whether mode A is equal to B, narrower, wider, or neither; exits 1 on a difference.

    It is said twice: over the tools of the catalogues under every dial, and of the ceilings as
    such, whatever the tools. A mode's own native verbs are no part of either.
    """
    one, other = place.project(a, catalogs), place.project(b, catalogs)
    differ = list(_tools(one, other))
    left, right = one.compiled.profile, other.compiled.profile
    value = {
        "a": left.name,
        "b": right.name,
        "relation": _over_tools(differ),
        "ceilings": _over_ceilings(left.ceiling, right.ceiling),
        "tools": [_tool_value(*row) for row in differ],
        "effects": _effects(left.ceiling, right.ceiling),
        "keys": [key for key in _KEYS if getattr(left.ceiling, key) != getattr(right.ceiling, key)],
        "brief": _brief(left, right),
    }
    if as_json:
        emit(value)
    else:
        count = sum(not t.native for t in one.compiled.catalog.tools)
        _show(value, count, differ)
    same = value["relation"] == value["ceilings"] == "equal" and not value["brief"]
    return FINE if same else NO


_KEYS = ("tier", "posture", "refuse", "unknown", "allow", "deny", "limit")
#: What becomes of a tool under each dial, in one mode and in the other.
_Row = tuple[Tool, tuple[Verdict, ...], tuple[Verdict, ...], bool, bool]


def _tools(a: Projection, b: Projection) -> Iterator[_Row]:
    for tool in a.compiled.catalog.tools:
        if tool.native:
            continue
        left, right = (tuple(p.compiled.decide(tool.key, d).verdict for d in Dial) for p in (a, b))
        there = [p.compiled.decide(tool.key, Dial.ASK).layer is not Layer.FILTER for p in (a, b)]
        if left != right or there[0] is not there[1]:
            yield tool, left, right, there[0], there[1]


def _over_tools(rows: list[_Row]) -> str:
    # By rank, the later the stricter; hidden is stricter than visible.
    pairs: list[tuple[int, int]] = []
    for _, left, right, here, there in rows:
        pairs += [(x.rank, y.rank) for x, y in zip(left, right, strict=True)]
        pairs.append((not here, not there))
    return _relation(all(x >= y for x, y in pairs), all(x <= y for x, y in pairs))


def _over_ceilings(a: Ceiling, b: Ceiling) -> str:
    return _relation(a.narrower_or_equal(b), b.narrower_or_equal(a))


def _relation(narrower: bool, wider: bool) -> str:
    if narrower and wider:
        return "equal"
    return "narrower" if narrower else "wider" if wider else "incomparable"


def _tool_value(
    tool: Tool, left: tuple[Verdict, ...], right: tuple[Verdict, ...], here: bool, there: bool
) -> dict[str, Any]:
    def side(verdicts: tuple[Verdict, ...], visible: bool) -> dict[str, Any]:
        return {
            "visible": visible,
            "verdicts": {d.value: v.value for d, v in zip(Dial, verdicts, strict=True)},
        }

    return {
        "source": tool.source,
        "name": tool.name,
        "a": side(left, here),
        "b": side(right, there),
    }


def _effects(a: Ceiling, b: Ceiling) -> dict[str, dict[str, str]]:
    def said(ceiling: Ceiling, effect: str) -> str:
        if effect in ceiling.refuse:
            return "refused"
        return "limited" if effect in ceiling.limit else "admitted"

    named = in_order({*a.refuse, *b.refuse, *a.limit, *b.limit})
    both = {e: {"a": said(a, e), "b": said(b, e)} for e in named}
    return {
        e: pair
        for e, pair in both.items()
        if pair["a"] != pair["b"] or a.limit.get(e) != b.limit.get(e)
    }


def _brief(a: Profile, b: Profile) -> list[str]:
    left, right = a.brief or Brief(), b.brief or Brief()
    keys = (field.name for field in attrs.fields(Brief))
    return [key for key in keys if getattr(left, key) != getattr(right, key)]


def _show(value: dict[str, Any], count: int, rows: list[_Row]) -> None:
    a, b = value["a"], value["b"]
    words = {"narrower": f"narrower than {b}", "wider": f"wider than {b}"}
    words |= {"equal": f"equal to {b}", "incomparable": f"neither narrower nor wider than {b}"}
    say(f"over {count} tools and every dial, {a} is {words[value['relation']]}")
    say(f"whatever the tools, by its ceiling it is {words[value['ceilings']]}")
    ask = list(Dial).index(Dial.ASK)
    if rows:
        say()
        cells = (
            (t.key, left[ask].value if here else "-", right[ask].value if there else "-")
            for t, left, right, here, there in rows
        )
        table(("tool", a, b), cells)
    if value["effects"]:
        say()
        table(("effect", a, b), ((e, p["a"], p["b"]) for e, p in value["effects"].items()))
    for what, keys in (("ceiling", value["keys"]), ("brief", value["brief"])):
        if keys:
            say(f"{what} differs in {', '.join(keys)}")
