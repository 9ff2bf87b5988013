"""`remit modes new`, `edit` and `delete`: the files of the user's own modes."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
from attrs import evolve

from remit.cli.failures import FINE, NO, MachineError
from remit.cli.options import Place, in_place
from remit.cli.output import note, show_problems
from remit.policy.problems import InputError, Position, Problem, Severity

if TYPE_CHECKING:
    from remit.profiles.resolution import Entry
    from remit.profiles.source import Source

__all__ = ["delete", "edit", "new"]


@click.command()
@click.argument("name")
@click.option(
    "--from", "base", metavar="SAMPLE|MODE",
    help="Copy this sample or mode; a profile gives its ceiling and its words.",
)  # fmt: skip
@in_place
def new(place: Place, name: str, base: str | None) -> None:
    """Make a mode of your own called NAME, in a folder of its own."""
    from remit.harness.mode_folders import make_mode
    from remit.profiles.names import MODE_NAME
    from remit.profiles.source import MODE_FILE

    if not MODE_NAME.fullmatch(name):
        hint = "up to 64 small letters, digits and dashes, a letter first"
        raise InputError(Problem("bad-name", f"`{name}` is no name of a mode", hint))
    file = str(place.workspace.modes / name / MODE_FILE)
    source = _text(place, base, file)
    entry = _judged(place, source)
    errors = [p for p in entry.problems if p.severity is Severity.ERROR]
    if entry.name != name:
        errors.append(
            Problem(
                "bad-name",
                f"what is copied says another name, `{entry.name}`",
                "leave its `name` out, or write it on a line of its own",
            )
        )
    if errors:
        raise InputError(errors)
    make_mode(source)
    show_problems(entry.problems)
    note(f"wrote {file}; `remit modes edit {name}` opens it")


def _text(place: Place, base: str | None, file: str) -> Source:
    """Return the text that a mode starts with, under the name of its file to be."""
    from remit.profiles.copying import copied, over, started
    from remit.profiles.shipped import built_in_modes, sample, samples
    from remit.profiles.source import WRITTEN_BY_US, read_source

    if base is None:
        return started(file)
    library = place.engine.library
    known = (*library.names(), *samples())
    if base not in library.names() and base in samples():
        return copied(sample(base), file)
    try:
        entry = library.entry(base)
    except InputError as error:
        hint = f"there are {', '.join(f'`{n}`' for n in known)}"
        raise InputError(evolve(p, hint=p.hint or hint) for p in error.problems) from None
    if entry.source == WRITTEN_BY_US:
        ours = (s for s in built_in_modes() if s.file.endswith(f"/{entry.name}/mode.md"))
        if (source := next(ours, None)) is not None:
            return copied(source, file)
    elif entry.source.endswith(".md"):
        return copied(read_source(entry.source), file)
    return over(library.get(base), file)


def _judged(place: Place, source: Source) -> Entry:
    """Return what a text would be among the other modes."""
    library = place.engine.library.replace(source)
    return next(e for e in library.entries if e.source == source.file)


@click.command()
@click.argument("name")
@in_place
def edit(place: Place, name: str) -> int:
    """Open the file of your mode NAME in $EDITOR; what has an error does not replace it."""
    from remit.harness.mode_folders import replace_mode
    from remit.profiles.source import read_source

    path = _own(place, name)
    source = read_source(path)
    folder = Path(tempfile.mkdtemp(prefix="remit-edit-"))
    draft = folder / path.name
    draft.write_text(source.text, encoding="utf-8", newline="")
    _open(draft)
    text = read_source(draft).text
    if text == source.text:
        note("nothing was changed")
    else:
        entry = _judged(place, evolve(source, text=text))
        show_problems(entry.problems)
        if any(p.severity is Severity.ERROR for p in entry.problems):
            note(f"{path} is as it was; the draft is {draft}")
            return NO
        replace_mode(path, text)
        note(f"wrote {path}")
    draft.unlink()
    folder.rmdir()
    return FINE


def _open(draft: Path) -> None:
    """Wait for the editor of whoever sits there."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    try:
        code = subprocess.run([*command, str(draft)], check=False).returncode
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        problem = Problem("editor-failed", f"the editor `{command[0]}` cannot be started: {why}")
        raise MachineError(evolve(problem, hint="set EDITOR to one that is installed")) from None
    if code:
        message = f"the editor `{command[0]}` ended with {code}"
        raise MachineError(Problem("editor-failed", message, f"the draft is {draft}"))


@click.command()
@click.argument("name")
@in_place
def delete(place: Place, name: str) -> None:
    """Delete your mode NAME: its file and its templates."""
    from remit.harness.mode_folders import delete_mode

    path = _own(place, name)
    delete_mode(path)
    note(f"deleted {path}; a space that is in it stays as it is until a person decides")


def _own(place: Place, name: str) -> Path:
    """Return the file of a mode of the user's; raises `InputError` for any other."""
    library = place.engine.library
    unread = [p.where.file for p in library.unread if Path(p.where.file).parent.name == name]
    source = unread[0] if unread else library.entry(name).source
    if not os.path.isabs(source):
        hint = f"`remit modes new NAME --from {name}` makes one of your own out of it"
        message = f"`{name}` is not a mode of yours"
        raise InputError(Problem("not-yours", message, hint, Position(source)))
    return Path(source)
