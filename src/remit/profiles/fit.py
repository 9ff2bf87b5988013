"""Fit: what is wrong with a profile once there is a catalogue to hold it against.

Tools come and go, so a running host refuses a profile for few of these (`blocks_host`) and shows
the others. A built-in profile speaks to catalogues that it cannot know: it only gets warnings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from remit.policy.compile import Compiled, compile_profile
from remit.policy.problems import Position, Problem, Severity, near
from remit.policy.profile import Profile, Side
from remit.policy.selectors import glob, split
from remit.policy.tools import Call, Catalog
from remit.policy.vocabulary import EFFECTS, Dial, EffectClass, Verdict, admitted
from remit.profiles.catalogs import native_catalog
from remit.profiles.names import AGENT_ONLY, BUILT_IN
from remit.profiles.positions import key_path
from remit.profiles.structure import quoted

__all__ = ["blocks_host", "check_with_catalog"]

#: Judges a call under the dial `ask`, with whatever classifiers there are.
Judge = Callable[[Call], Verdict]

_QUOTED = re.compile(r"`([^`\n]+)`")


def check_with_catalog(
    profile: Profile,
    catalog: Catalog,
    known: Mapping[str, EffectClass] = EFFECTS,
    judge: Judge | None = None,
) -> tuple[Problem, ...]:
    """Return what is wrong with a profile under a catalogue (design section 5).

    The catalogue may hold the native verbs or not. ``judge`` gives the verdicts of examples;
    without it no classifier is run, so a call of a tool that has one is judged by its worst.
    """
    natives = [t for t in native_catalog().tools if t.key not in catalog.index]
    whole = Catalog((*catalog.tools, *natives), catalog.classifiers)
    compiled = compile_profile(profile, whole, admitted=admitted(known))
    found = [
        *_dead_entries(profile, whole),
        *_allowed_in_vain(profile, compiled),
        *_emptied(profile, compiled),
        *_examples(profile, compiled, judge),
        *_words(profile, compiled),
    ]
    if profile.name in BUILT_IN:
        found = [evolve(p, severity=Severity.WARNING) for p in found]
    return tuple(found)


def blocks_host(problem: Problem) -> bool:
    """Say whether a running host refuses a profile for a problem; it shows all others."""
    if problem.severity is not Severity.ERROR:
        return False
    dead = problem.code == "selector-unmatched" and problem.path.startswith("ceiling.deny")
    return dead or problem.code == "example-differs"


def _dead_entries(profile: Profile, catalog: Catalog) -> Iterator[Problem]:
    """Entries that match no tool: perhaps of another catalogue, perhaps misspelled."""
    ours = profile.name in BUILT_IN
    for side in profile.sides:
        if side.name in BUILT_IN and side.name != profile.name:
            continue
        for key, selector, where, path in _entries(side):
            if selector == AGENT_ONLY or catalog.select(selector):
                continue
            hint = _meant(selector, catalog)
            if not hint and (ours or split(selector)[0] == "tier"):
                # A shipped list names groups that not everybody has; a tier may be empty.
                continue
            yield Problem(
                "selector-unmatched",
                f"the {key} entry `{quoted(selector)}` matches no tool",
                hint or "no catalogue that is given has such a tool",
                where,
                path,
                Severity.ERROR if hint else Severity.WARNING,
            )


def _meant(selector: str, catalog: Catalog) -> str:
    """Return the hint that names what an entry probably meant, empty where nothing is near.

    Of globs only the case of letters is doubted: they are written for tools still to come.
    """
    kind, rest = split(selector)
    sources = {t.source for t in catalog.tools}
    if kind == "group":
        return near(rest, catalog.groups)
    if kind and kind not in sources:
        return near(kind, sources)
    if not kind and rest in sources:
        return f"`{rest}:*` names the tools of that source"
    if not kind and rest in catalog.groups:
        return f"`group:{rest}` names the tools of that group"
    names = [t.name for t in catalog.tools if kind in ("", t.source)]
    if any(c in rest for c in "*?["):
        other = next((n for n in names if glob(rest.lower()).match(n.lower())), None)
        return f"`{other}` is written otherwise: small and capital letters differ" if other else ""
    return near(rest, names)


def _entries(side: Side) -> Iterator[tuple[str, str, Position, str]]:
    """Yield each allow and deny entry: key, selector, place and path, in the order of the file."""
    for key, selectors in (
        ("allow", frozenset[str]().union(*side.ceiling.allow)),
        ("deny", side.ceiling.deny),
    ):
        placed = [(side.where.get(f"{key}.{s}", Position()), s) for s in selectors]
        placed.sort(key=lambda entry: (entry[0].line, entry[0].column, entry[1]))
        for i, (where, selector) in enumerate(placed):
            yield key, selector, where, key_path(("ceiling", key, i))


def _allowed_in_vain(profile: Profile, compiled: Compiled) -> Iterator[Problem]:
    """Allow entries of the profile's own that admit nothing, because all else hides it."""
    catalog = compiled.catalog
    native = frozenset(catalog.native)
    own = next((s for s in profile.sides if s.name == profile.name), None)
    for key, selector, where, path in _entries(own) if own else ():
        named = catalog.select(selector) - native
        if key != "allow" or not named or any(compiled.visible[i] for i in named):
            continue
        tools = [catalog.tools[i] for i in sorted(named)]
        hidden = {t.key: d for t, d in compiled.hidden}
        causes = sorted({hidden[t.key].cause.value for t in tools})
        yield Problem(
            "allowed-in-vain",
            f"the allow entry `{quoted(selector)}` leaves no tool: {', '.join(causes)}",
            f"`{tools[0].key}` is one that it names; allow another, or take the entry out",
            where,
            path,
        )


def _emptied(profile: Profile, compiled: Compiled) -> Iterator[Problem]:
    """A deny-list after which nothing is left but the mode's own verbs."""
    catalog = compiled.catalog
    others = frozenset(range(len(catalog.tools))) - frozenset(catalog.native)
    if not profile.ceiling.deny or any(compiled.visible[i] for i in others):
        return
    bare = evolve(
        profile, sides=tuple(evolve(s, ceiling=evolve(s.ceiling, deny=())) for s in profile.sides)
    )
    without = compile_profile(bare, catalog)
    if any(without.visible[i] for i in others):
        side = next(s for s in reversed(profile.sides) if s.ceiling.deny)
        entries = [(where, path) for key, _, where, path in _entries(side) if key == "deny"]
        yield Problem(
            "deny-empties",
            "the deny-list leaves no tool but the mode's own verbs",
            "`allow = []` says so outright, if it is meant",
            entries[0][0],
            "ceiling.deny",
        )


def _examples(profile: Profile, compiled: Compiled, judge: Judge | None) -> Iterator[Problem]:
    for i, example in enumerate(profile.examples):
        if compiled.catalog.get(example.tool) is None:
            continue
        call = Call(example.tool, example.args)
        given = judge(call) if judge else compiled.decide(call.tool, Dial.ASK).verdict
        if given is not example.verdict:
            path = f"example[{i}]"
            yield Problem(
                "example-differs",
                f"`{example.tool}` gets `{given}`, the example wants `{example.verdict}`",
                f"`remit explain {profile.name} {example.tool}` says why",
                profile.where.get(path, example.where),
                path,
            )


def _words(profile: Profile, compiled: Compiled) -> Iterator[Problem]:
    """Words that tell the model to use what it has not got (S003-5)."""
    brief = profile.brief
    for key in ("guidance", "nudge") if brief else ():
        for name in dict.fromkeys(_QUOTED.findall(getattr(brief, key))):
            catalog = compiled.catalog
            keys = catalog.ambiguous.get(name, (name,))
            there = [k for k in keys if k in catalog.index]
            if not there or any(map(compiled.admits, there)) or (brief and name in brief.missed):
                continue
            yield Problem(
                "words-name-hidden",
                f"the {key} names `{quoted(name)}`, which this mode does not have",
                "name another tool, or list it under `missed`",
                profile.where.get(f"brief.{key}", Position(profile.origin)),
                f"brief.{key}",
            )
