"""`remit space`: the spaces of a workspace, and what the operator gives them."""

from __future__ import annotations

import os

import click

from remit.cli.app import Family
from remit.cli.options import DIALS, Place, as_json, in_workspace, now
from remit.cli.output import emit, note, say, show_problems, table
from remit.cli.spaces_print import (
    change_value,
    mode_problems,
    print_space,
    space_value,
    wrong_modes,
)
from remit.policy.problems import InputError, Problem
from remit.policy.vocabulary import Dial, SpaceKind, Verdict

__all__ = ["space"]


@click.group(cls=Family, meant="`remit space show {}` shows a space")
def space() -> None:
    """Spaces: each has one mode, which all of its conversations share."""


@space.command()
@click.argument("id")
@click.option("--mode", help="Its mode (default: no restriction; review for a pull request).")
@click.option("--worktree", metavar="DIR", help="The folder that it works in; none unless said.")
@click.option(
    "--kind", type=click.Choice([k.value for k in SpaceKind]), default=SpaceKind.NORMAL.value
)
@click.option("--remote", is_flag=True, help="It lives on another machine.")
@as_json
@in_workspace
def create(
    place: Place,
    id: str,
    mode: str | None,
    worktree: str | None,
    kind: str,
    remote: bool,
    as_json: bool,
) -> None:
    """Make a space (operator)."""
    from remit.harness.store import OPERATOR
    from remit.harness.store.switch import no_runs

    place.operator()
    chosen = _first_mode(place, SpaceKind(kind), mode)
    if remote and place.engine.library.staged(chosen) is not None:
        raise no_runs(id)
    with place.store() as store:
        made = store.spaces.create(
            id,
            chosen,
            by=OPERATOR,
            now=now(),
            kind=SpaceKind(kind),
            worktree=None if worktree is None else _folder(worktree),
            remote=remote,
        )
    print_space(place, made, as_json)


def _first_mode(place: Place, kind: SpaceKind, mode: str | None) -> str:
    """Return the mode that a space starts in; that of a pull request is not chosen (S003-11)."""
    from remit.profiles.names import PULL_REQUEST_MODE, TOP_MODE

    library = place.engine.library
    if kind is SpaceKind.NORMAL:
        return TOP_MODE if mode is None else place.engine.library.choose(mode).name
    if mode is not None and library.resolve(mode) != PULL_REQUEST_MODE:
        raise InputError(
            Problem(
                "mode-fixed",
                f"a pull-request space starts in `{PULL_REQUEST_MODE}`, not in `{mode}`",
                "leave `--mode` out; `remit space set` can switch it later",
            )
        )
    return library.get(PULL_REQUEST_MODE).name


def _folder(given: str) -> str:
    path = os.path.abspath(given)
    if not os.path.isdir(path):
        raise InputError(
            Problem("worktree-missing", f"there is no folder `{path}`", "make it, or name another")
        )
    return path


@space.command("list")
@as_json
@in_workspace
def list_(place: Place, as_json: bool) -> None:
    """List the spaces."""
    with place.store() as store:
        found = store.spaces.list()
        pending = {s.id: store.spaces.pending(s.id) for s in found}
    wrong = wrong_modes(place, *found)
    if as_json:
        emit([space_value(place, s, pending[s.id], wrong) for s in found])
    elif not found:
        note("there is no space yet; `remit space create ID` makes one")
    else:
        table(
            ("space", "mode", "dial", "kind", "rev", "worktree"),
            (
                (
                    s.id,
                    f"{s.mode} (unusable)" if s.mode in wrong else s.mode,
                    s.dial.value,
                    s.kind.value,
                    str(s.revision),
                    s.worktree or "-",
                )
                for s in found
            ),
        )
    if not as_json:
        show_problems(mode_problems(wrong))


@space.command()
@click.argument("id")
@as_json
@in_workspace
def show(place: Place, id: str, as_json: bool) -> None:
    """Show one space."""
    with place.store() as store:
        found = store.spaces.get(id)
    print_space(place, found, as_json)


@space.command("set")
@click.argument("id")
@click.argument("mode")
@click.option("--why", default="", help="A reason, for the history.")
@as_json
@in_workspace
def set_(place: Place, id: str, mode: str, why: str, as_json: bool) -> None:
    """Give a space another mode (operator); it holds from the next turn or request."""
    from remit.harness.store import OPERATOR

    place.operator()
    with place.store() as store:
        before = store.spaces.get(id)
        chosen = place.engine.library.choose(mode).name
        staged = place.engine.library.staged(chosen) is not None
        switch = store.spaces.set_mode(
            id, chosen, by=OPERATOR, why=why, now=now(), expect=before.revision, staged=staged
        )
    after, answer = switch.space, switch.answer.value
    if as_json:
        emit({"id": after.id, "mode": after.mode, "answer": answer, "revision": after.revision})
    else:
        say(f"{after.id}: {after.mode} ({answer}, revision {after.revision})")


@space.command()
@click.argument("id")
@click.argument("level", type=DIALS)
@as_json
@in_workspace
def dial(place: Place, id: str, level: str, as_json: bool) -> None:
    """Set how much a space does without asking (operator)."""
    from remit.harness.store import OPERATOR

    place.operator()
    with place.store() as store:
        found = store.spaces.set_dial(id, Dial(level), by=OPERATOR, now=now())
    print_space(place, found, as_json)


@space.command()
@click.argument("id")
@click.argument("effect", metavar="CLASS")
@click.argument("verdict", type=click.Choice([v.value for v in Verdict]), required=False)
@click.option("--target", metavar="GLOB", help="On matching targets only.")
@click.option("--clear", is_flag=True, help="Take this setting away; the dial speaks again.")
@as_json
@in_workspace
def effect(
    place: Place,
    id: str,
    effect: str,
    verdict: str | None,
    target: str | None,
    clear: bool,
    as_json: bool,
) -> None:
    """Set what becomes of an effect in a space, whatever its dial says (operator)."""
    from remit.harness.store import OPERATOR
    from remit.policy.gate import Setting

    place.operator()
    if (verdict is None) is not clear:
        raise InputError(
            Problem(
                "usage",
                "give a verdict, or `--clear`",
                f"the verdicts are {', '.join(f'`{v}`' for v in Verdict)}",
            )
        )
    with place.store() as store:
        if verdict is None:
            found = store.spaces.clear_effect(id, effect, target, by=OPERATOR, now=now())
        else:
            setting = Setting(effect, Verdict(verdict), target)
            known = place.engine.effects
            found = store.spaces.set_effect(id, setting, by=OPERATOR, now=now(), known=known)
    print_space(place, found, as_json)


@space.command()
@click.argument("id")
@click.argument("file", required=False)
@click.option("--clear", is_flag=True, help="Take the overlay away.")
@as_json
@in_workspace
def overlay(place: Place, id: str, file: str | None, clear: bool, as_json: bool) -> None:
    """Narrow a space in every mode by the [ceiling] of a file (operator).

    What the file says now is kept; it may change or go afterwards.
    """
    from remit.harness.store import OPERATOR, Overlay
    from remit.profiles.source import read_source

    place.operator()
    if (file is None) is not clear:
        raise InputError(
            Problem(
                "usage",
                "give the file of an overlay, or `--clear`",
                "it holds one `[ceiling]` table",
            )
        )
    with place.store() as store:
        kept = None
        if file is not None:
            store.spaces.get(id)
            source = read_source(os.path.abspath(file))
            place.engine.overlay(source)
            kept = Overlay(source.file, source.text)
        found = store.spaces.set_overlay(id, kept, by=OPERATOR, now=now())
    print_space(place, found, as_json)


@space.command()
@click.argument("id")
@click.option("--why", default="", help="A reason, for the history.")
@as_json
@in_workspace
def lock(place: Place, id: str, why: str, as_json: bool) -> None:
    """Forward no call of a space from now on (operator).

    Its own verbs still reach you, but it cannot be left by an approval. What runs is not ended.
    """
    _lock(place, id, True, why, as_json)


@space.command()
@click.argument("id")
@click.option("--why", default="", help="A reason, for the history.")
@as_json
@in_workspace
def unlock(place: Place, id: str, why: str, as_json: bool) -> None:
    """Forward the calls of a space again, by its mode and dial (operator)."""
    _lock(place, id, False, why, as_json)


def _lock(place: Place, id: str, locked: bool, why: str, as_json: bool) -> None:
    from remit.harness.store import OPERATOR

    place.operator()
    with place.store() as store:
        found = store.spaces.set_lock(id, locked, by=OPERATOR, now=now(), why=why)
    print_space(place, found, as_json)


@space.command()
@click.argument("id")
@as_json
@in_workspace
def history(place: Place, id: str, as_json: bool) -> None:
    """List what a space was given, oldest first: modes, dials and the rest, by whom and why."""
    with place.store() as store:
        changes = store.spaces.history(id)
    if as_json:
        emit([change_value(c) for c in changes])
    else:
        table(
            ("at", "what", "value", "by", "why"),
            ((c.at[:19] + "Z", c.what, c.value, c.by, c.why or "-") for c in changes),
        )
