"""`remit sandbox` and `exec`: what the operating system holds of a mode, and a command in it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from remit.cli.failures import MACHINE
from remit.cli.options import Place, as_json, in_place, in_workspace
from remit.cli.output import emit, note, show_problems, table
from remit.policy.escape import quoted
from remit.policy.mounts import Mounts
from remit.policy.problems import InputError, Problem, RemitError

if TYPE_CHECKING:
    from remit.harness.sandbox.box import Box
    from remit.policy.ceiling import Ceiling

__all__ = ["execute", "sandbox"]

#: The code of a failure of our own; 126 and 127 come with commands that were not started.
_OURS = 125

_backend = click.option(
    "--backend", "--sandbox", "backend", default="auto", show_default=True, metavar="BACKEND",
    help="bubblewrap, landlock, seatbelt, none, or the first that works here.",
)  # fmt: skip
_keep = click.option(
    "--keep-env", "keep", multiple=True, metavar="NAME",
    help="Let a variable of the environment through. Repeatable.",
)  # fmt: skip
_writable = click.option(
    "--writable", multiple=True, metavar="DIR",
    help="Open a further folder, if the mode may write outside its worktree. Repeatable.",
)  # fmt: skip


@click.command()
@click.argument("mode")
@click.option("--worktree", required=True, metavar="DIR", help="The folder that is worked in.")
@_backend
@_keep
@_writable
@click.argument("command", nargs=-1, metavar="[-- CMD...]")
@as_json
@in_place
def sandbox(
    place: Place,
    mode: str,
    worktree: str,
    backend: str,
    keep: tuple[str, ...],
    writable: tuple[str, ...],
    command: tuple[str, ...],
    as_json: bool,
) -> int:
    """Show what MODE's sandbox mounts, what it holds, what it does not, and its exact command."""
    ceiling = place.engine.profile(mode).ceiling
    words = command or ("sh",)
    try:
        box = _box(place, ceiling, worktree, words, backend, keep, writable)
    except InputError:
        raise
    except RemitError as error:
        # What it would mount is still worth a look; that nothing holds it is the answer.
        value = _mounts_value(mode, _unheld(place, ceiling, worktree, words, keep, writable))
        _show({**value, "backend": None, "holds": False, "argv": None}, as_json)
        show_problems(error.problems)
        return MACHINE
    launch = box.launch(words, place.environ)
    value = _mounts_value(mode, box.mounts)
    value["advisory"] = [{"what": a.what, "why": a.why} for a in box.advisory]
    filtered = launch.feeds.get("filter", b"")
    shown: dict[str, Any] = {
        **value,
        "backend": box.backend.name,
        "holds": box.holds,
        "cwd": box.cwd,
        "argv": list(launch.shown),
        # What a descriptor in `argv` is read for, so that the command can be run by hand.
        "filter": filtered.hex(),
    }
    _show(shown, as_json)
    return 0


def _mounts_value(mode: str, mounts: Mounts) -> dict[str, Any]:
    return {
        "mode": mode,
        "worktree": mounts.worktree,
        "posture": mounts.posture.value,
        "network": mounts.network.value,
        "mounts": [
            {
                "path": m.path,
                "access": m.access.value,
                "why": m.cause.value,
                "kind": m.kind.value,
                "placeholder": m.placeholder,
            }
            for m in mounts.mounts
        ],
        "environment": {
            "kept": list(mounts.env_kept),
            "dropped": list(mounts.env_dropped),
            "set": dict(mounts.env_set),
        },
        "namespaces": list(mounts.namespaces),
        "protected": list(mounts.protected),
        "effects_held": list(mounts.holds),
        "advisory": [{"what": a.what, "why": a.why} for a in mounts.advisory],
    }


def _show(value: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit(value)
        return
    backend = value["backend"] or "no backend"
    click.echo(
        f"{value['mode']}: {value['posture']} worktree, network {value['network']}, "
        f"by {backend}{'' if value['holds'] else ' (advisory: nothing holds it)'}"
    )
    table(
        ("access", "path", "why"),
        ((m["access"], m["path"], m["why"]) for m in value["mounts"]),
    )
    click.echo(f"environment kept: {', '.join(value['environment']['kept']) or 'nothing'}")
    click.echo(f"effects held: {', '.join(value['effects_held']) or 'none is refused'}")
    for one in value["advisory"]:
        click.echo(f"not held: {one['what']}: {one['why']}")
    if value["argv"]:
        click.echo(" ".join(map(_quoted, value["argv"])))


def _quoted(word: str) -> str:
    import shlex

    return shlex.quote(word)


@click.command(
    "exec", context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False}
)
@click.option("--mode", metavar="MODE", help="The mode that holds.")
@click.option("--space", metavar="ID", help="The space whose mode and worktree hold.")
@click.option("--worktree", metavar="DIR", help="The folder that is worked in.")
@_backend
@_keep
@_writable
@click.argument("command", nargs=-1, required=True, metavar="-- CMD...")
@in_workspace
def execute(
    place: Place,
    mode: str | None,
    space: str | None,
    worktree: str | None,
    backend: str,
    keep: tuple[str, ...],
    writable: tuple[str, ...],
    command: tuple[str, ...],
) -> int:
    """Run CMD within a mode's sandbox, here if that lies in the worktree, else in the worktree.

    Its exit code is passed on; 125 to 127 are failures of remit's own.
    """
    try:
        ceiling, worktree, others = _ceiling(place, mode, space, worktree)
        with tempfile.TemporaryDirectory(prefix="remit-") as scratch:
            box = _box(place, ceiling, worktree, command, backend, keep, writable, scratch, others)
            _tell(box)
            return _run(box, command, place)
    except RemitError as error:
        show_problems(error.problems)
        return int(getattr(error, "code", _OURS))


def _run(box: Box, command: tuple[str, ...], place: Place) -> int:
    from remit.harness.sandbox.terminal import run

    code, running = run(box, command, place.environ)
    for path in running.appeared:
        note(f"warning: the command made the protected `{path}`, which no mount could prevent")
    return code


def _tell(box: Box) -> None:
    """Say what is not held, in one line, where that is more than any sandbox leaves open."""
    lacks = [a.what for a in box.backend.lacks(box.mounts)]
    if not box.holds:
        note("remit exec: no sandbox holds this command; its mounts are advisory")
    elif box.backend.rank > _FULL_RANK and lacks:
        note(f"remit exec: `{box.backend.name}` does not hold: {', '.join(lacks)}")


#: Past this rank a backend holds less than the mounts say.
_FULL_RANK = 10


def _ceiling(
    place: Place, mode: str | None, space: str | None, worktree: str | None
) -> tuple[Ceiling, str, list[str]]:
    """Return what holds, the worktree, and the worktrees of all spaces that are known."""
    if (mode is None) == (space is None):
        raise InputError(
            Problem("usage", "either `--mode` or `--space` says what holds", "give one of them")
        )
    others: list[str] = []
    if mode is not None:
        ceiling = place.engine.profile(mode).ceiling
    else:
        assert space is not None
        from remit.harness.session import Session

        with place.store() as store:
            session = Session(place.engine, store, space, "exec", place.host())
            session.set_catalog(place.engine.operators)
            # As every host has it: mode and overlay, and nothing where one of them does not hold.
            frame = session.frame()
            others = [s.worktree for s in store.spaces.list() if s.worktree]
        found, ceiling = frame.space, frame.profile.ceiling
        if worktree is not None and found.worktree not in (None, os.path.realpath(worktree)):
            raise InputError(
                Problem(
                    "sandbox-worktree",
                    f"space {quoted(space)} has the worktree `{found.worktree}`",
                    "leave `--worktree` out",
                )
            )
        worktree = worktree or found.worktree
    if worktree is None:
        raise InputError(
            Problem("sandbox-worktree", "there is no worktree", "say it: `--worktree DIR`")
        )
    return ceiling, worktree, others


def _box(
    place: Place,
    ceiling: Ceiling,
    worktree: str,
    command: tuple[str, ...],
    backend: str,
    keep: tuple[str, ...],
    writable: tuple[str, ...],
    scratch: str | None = None,
    others: Iterable[str] = (),
) -> Box:
    from remit.harness.sandbox.box import box, choose
    from remit.harness.sandbox.survey import ground

    if not os.path.isdir(worktree):
        raise InputError(Problem("sandbox-worktree", f"there is no folder {quoted(worktree, 200)}"))
    chosen = choose(backend, place.engine.registry.backends)
    stands = ground(
        place.workspace, worktree, command, place.environ,
        keep=keep, writable=writable, scratch=None if chosen.namespaces else scratch, others=others,
    )  # fmt: skip
    here = os.path.realpath(os.getcwd())
    root = stands.worktree or "/"
    inside = here == root or here.startswith(root.rstrip("/") + "/")
    return box(ceiling, stands, chosen, here if inside else root)


def _unheld(
    place: Place,
    ceiling: Ceiling,
    worktree: str,
    command: tuple[str, ...],
    keep: tuple[str, ...],
    writable: tuple[str, ...],
) -> Mounts:
    return _box(place, ceiling, worktree, command, "none", keep, writable).mounts
