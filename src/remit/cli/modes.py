"""`remit modes`, `show` and `effects`: what modes there are, what one declares, what is refused."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from remit.cli.app import Family
from remit.cli.mode_files import delete, edit, new
from remit.cli.options import Place, as_json, in_place, with_narrowing
from remit.cli.output import (
    emit,
    note,
    problem_value,
    say,
    show_problems,
    table,
    where_value,
    width,
)
from remit.cli.stages import show_workflow, workflow_value
from remit.policy.ceiling import TOP, Ceiling
from remit.policy.problems import Position, Problem
from remit.policy.profile import Brief, Profile, Side, shown
from remit.policy.vocabulary import EFFECTS, EffectClass, Verdict, in_order

if TYPE_CHECKING:
    from remit.profiles.resolution import Entry

__all__ = ["ceiling_value", "effects", "modes", "show"]


@click.group(cls=Family, invoke_without_command=True, meant="`remit show {}` shows a mode")
@as_json
@in_place
def modes(place: Place, as_json: bool) -> None:
    """List the modes, with what keeps a broken one from use; or make, edit and delete yours."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    library = place.engine.library
    entries = (*library.entries, *_unread(library.unread))
    if as_json:
        emit([_mode_value(entry) for entry in entries])
        return
    table(
        ("mode", "label", "kind", "selectable", "source"),
        ((e.name, e.label, e.kind, _choice(e), e.source) for e in entries),
    )
    show_problems((*library.problems, *place.passed_over()))


for _command in (new, edit, delete):
    modes.add_command(_command)


def _choice(entry: Entry) -> str:
    if entry.profile is None:
        return "no: broken"
    return "yes" if entry.selectable else "no"


def _unread(problems: Iterable[Problem]) -> Iterator[Entry]:
    """Return an entry for each file that could not be read at all."""
    from remit.profiles.resolution import Entry

    for problem in problems:
        name = _name(PurePath(problem.where.file))
        yield Entry(name, name, problem.where.file, problems=(problem,))


def _name(path: PurePath) -> str:
    """Return the name of a mode by its file; a template's is that of the folder around it."""
    if path.parent.name == "templates":
        path = path.parent
    return path.stem if path.suffix == ".toml" else path.parent.name


def _mode_value(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "label": entry.label,
        "kind": entry.kind,
        "selectable": entry.selectable,
        "source": entry.source,
        "problems": [problem_value(p) for p in entry.problems],
    }


@click.command()
@click.argument("mode")
@click.option("--format", "form", type=click.Choice(["text", "json", "toml"]), default="text")
@with_narrowing
@as_json
@in_place
def show(
    place: Place,
    mode: str,
    form: str,
    parents: tuple[str, ...],
    overlay: str | None,
    as_json: bool,
) -> None:
    """Show the effective profile of MODE, and where each fact of it comes from.

    With --format toml it is the mode's own file, without what else narrows it.
    """
    profile = place.narrowed(place.engine.profile(mode), *parents, overlay=overlay)
    entry = place.engine.entry(mode)
    if as_json or form == "json":
        value = profile_value(profile, place.engine.library.aliases(profile.name))
        emit(value | ({"workflow": workflow_value(entry)} if entry.workflow else {}))
    elif form == "toml":
        from remit.profiles.writer import write_profile

        click.echo(write_profile(profile), nl=False)
    else:
        _show(profile, place.engine.library.aliases(profile.name))
        if entry.workflow is not None:
            show_workflow(entry)


def profile_value(profile: Profile, aliases: Iterable[str]) -> dict[str, Any]:
    """Return a profile as `show --json` prints it; tools are named as the model names them."""
    ceiling, brief = profile.ceiling, profile.brief
    return {
        "name": profile.name,
        "label": profile.label,
        "ceiling": ceiling_value(ceiling),
        "brief": None if brief is None else _brief_value(brief),
        "pins": [shown(p) for p in profile.pins],
        "chain": list(profile.chain),
        "aliases": list(aliases),
        "sides": [_side_value(side) for side in profile.sides],
        "where": {fact: [where_value(at) for at in ats] for fact, ats in _places(profile).items()},
    }


def ceiling_value(ceiling: Ceiling) -> dict[str, Any]:
    """Return a ceiling as JSON; every list of a conjunction is there."""
    return {
        "tier": ceiling.tier.value,
        "posture": ceiling.posture.value,
        "refuse": list(in_order(ceiling.refuse)),
        "unknown": ceiling.unknown.value,
        "allow": sorted(sorted(one) for one in ceiling.allow),
        "deny": sorted(ceiling.deny),
        "limit": {
            effect: sorted(sorted(one) for one in ceiling.limit[effect])
            for effect in in_order(ceiling.limit)
        },
    }


def _side_value(side: Side) -> dict[str, Any]:
    """Return what one side of the meet states, and where; what it leaves open is not there."""
    ceiling = side.ceiling
    lists = {e: sorted(sorted(one) for one in ceiling.limit[e]) for e in in_order(ceiling.limit)}
    stated = {
        "tier": ceiling.tier.value if ceiling.tier is not TOP.tier else None,
        "refuse": list(in_order(ceiling.refuse)),
        "unknown": ceiling.unknown.value if ceiling.unknown is not TOP.unknown else None,
        "allow": sorted(sorted(one) for one in ceiling.allow),
        "deny": sorted(ceiling.deny),
        "limit": lists,
    }
    return {
        "name": side.name,
        "states": {key: value for key, value in stated.items() if value},
        "where": {fact: where_value(at) for fact, at in side.where.items()},
    }


def _brief_value(brief: Brief) -> dict[str, Any]:
    return {
        "verbs": [shown(v) for v in brief.verbs],
        "required": brief.required,
        "noun": brief.noun,
        "exit": shown(brief.exit) if brief.exit else None,
        "exit_to": brief.exit_to if brief.exit else None,
        "children": list(brief.children),
        "missed": list(brief.missed),
        "announce": brief.announce.value,
        "guidance": brief.guidance,
    }


def _places(profile: Profile) -> dict[str, list[Position]]:
    """Return for each fact the places that made it so; several sides may refuse the same."""
    places: dict[str, list[Position]] = {}
    for side in profile.sides:
        for fact, at in side.where.items():
            if fact in ("tier", "posture", "unknown") and getattr(side.ceiling, fact) != getattr(
                profile.ceiling, fact
            ):
                continue  # a side further down says something stricter
            places.setdefault(f"ceiling.{fact}", []).append(at)
    for fact, at in profile.where.items():
        if fact.split(".")[0] not in ("ceiling", "example"):
            places.setdefault(fact, []).append(at)
    return places


def _show(profile: Profile, aliases: Iterable[str]) -> None:
    places = _places(profile)
    say(f"{profile.name}: {profile.label}")
    if profile.intent:
        say(profile.intent)
    also = ", ".join(aliases)
    say(f"extends {' > '.join(profile.chain)}" + (f"; also known as {also}" if also else ""))
    say()
    table(("fact", "value", "from"), _rows(profile, places))
    if profile.brief and profile.brief.guidance:
        say()
        say(profile.brief.guidance.rstrip())


def _rows(profile: Profile, places: dict[str, list[Position]]) -> Iterator[tuple[str, str, str]]:
    """Yield fact, value and place; a long value goes on in rows of its own."""
    room = max(30, width() - 52)
    for fact, value in _facts(profile):
        at = ", ".join(dict.fromkeys(str(p) for p in _place_of(fact, places))) or "-"
        lines = textwrap.wrap(value, room, break_on_hyphens=False) or ["-"]
        for i, part in enumerate(lines):
            yield ("", part, "") if i else (fact, part, at)


def _facts(profile: Profile) -> Iterator[tuple[str, str]]:
    ceiling, brief = profile.ceiling, profile.brief
    yield "ceiling.tier", ceiling.tier.value
    yield "ceiling.posture", ceiling.posture.value
    yield "ceiling.unknown", ceiling.unknown.value
    yield "ceiling.refuse", ", ".join(in_order(ceiling.refuse))
    for one in sorted(sorted(a) for a in ceiling.allow):
        yield "ceiling.allow", ", ".join(one) or "nothing but the mode's own verbs"
    yield "ceiling.deny", ", ".join(sorted(ceiling.deny))
    for effect in in_order(ceiling.limit):
        for one in sorted(sorted(a) for a in ceiling.limit[effect]):
            yield f"ceiling.limit.{effect}", ", ".join(one)
    yield "pins", ", ".join(shown(p) for p in profile.pins)
    if brief is None:
        yield "brief", "none: nothing is owed, and the model is told nothing"
        return
    for fact, value in _brief_value(brief).items():
        if fact != "guidance" and value not in (None, []):
            said = ", ".join(value) if isinstance(value, list) else str(value).lower()
            yield f"brief.{fact}", said


def _place_of(fact: str, places: dict[str, list[Position]]) -> list[Position]:
    """Return the places of a fact, or those of its parts where it is a list of them."""
    return places.get(fact) or [
        at for name, ats in places.items() if name.startswith(f"{fact}.") for at in ats
    ]


@click.command()
@as_json
@in_place
def effects(place: Place, as_json: bool) -> None:
    """List the effect classes: the kinds of change that a call can make to the world."""
    known = place.engine.effects
    classes = [known[id] for id in (*EFFECTS, *sorted(set(known) - set(EFFECTS)))]
    if as_json:
        emit([_effect_value(effect) for effect in classes])
        return
    table(
        ("effect", "read-only modes", "by default", "meaning"),
        (
            (
                e.id,
                "refuse" if e.world_changing else "admit",
                _default(e),
                e.meaning + (f" (plugin {e.plugin})" if e.plugin else ""),
            )
            for e in classes
        ),
    )
    note("a mode refuses effects under [ceiling] refuse; globs such as git.* are good")


def _effect_value(effect: EffectClass) -> dict[str, Any]:
    return {
        "id": effect.id,
        "meaning": effect.meaning,
        "world_changing": effect.world_changing,
        "default": _default(effect),
        "plugin": effect.plugin,
    }


def _default(effect: EffectClass) -> str:
    """What becomes of the effect where nobody said anything: the dial `ask`."""
    return (Verdict.ASK if effect.world_changing else Verdict.ALLOW).value
