"""The shell classifier: what a command line would do, found without running it."""

from __future__ import annotations

from collections import OrderedDict

from remit.plugins.shell.knowledge import Knowledge, knowledge
from remit.plugins.shell.powershell import powershell
from remit.plugins.shell.reading import Note, Part, Reading
from remit.plugins.shell.syntax import SyntaxTrouble
from remit.plugins.shell.walk import Walk
from remit.policy.tools import Facts

__all__ = ["LENGTH", "Part", "Reading", "classify_shell", "read_shell"]

#: The longest command that is read, in characters.
LENGTH = 200_000
#: How many answers are kept; agents say the same commands again and again.
KEPT = 512

_kept: OrderedDict[tuple[str, str, int], tuple[Facts, Knowledge, Reading]] = OrderedDict()


def classify_shell(
    command: str, facts: Facts, shell: str = "bash", known: Knowledge | None = None
) -> Reading:
    """Return what a command would do in a shell (`bash` or `powershell`); it never raises.

    A command that cannot be read in full has an opaque part that says why, besides the parts that
    could be read. ``known`` is what is known of programs, else what we ship. Answers to the same
    command under equal facts are kept.
    """
    known = knowledge() if known is None else known
    key = (command, shell, id(known))
    found = _kept.get(key)
    if found is not None and (found[0] is facts or found[0] == facts):
        return found[2]
    reading = read_shell(command, facts, shell, known)
    if len(command) < 10_000:
        # What is known is kept too, so that no other can have its id.
        _kept[key] = (facts, known, reading)
        if len(_kept) > KEPT:
            _kept.popitem(last=False)
    return reading


def read_shell(
    command: str, facts: Facts, shell: str = "bash", known: Knowledge | None = None
) -> Reading:
    """Read a command anew; see `classify_shell`."""
    if len(command) > LENGTH:
        note = Note(f"{command[:60]}...")
        note.unread("sh", f"it is longer than {LENGTH} characters")
        return Reading(command, (note.part,))
    walk = Walk(facts, known)
    try:
        if shell == "powershell":
            powershell(walk, command)
        else:
            walk.whole(command)
    except SyntaxTrouble as trouble:
        _unread(walk, command, str(trouble))
    except Exception as error:
        # INVARIANT: a fault of ours is an opaque answer, never a crash and never harmless.
        _unread(walk, command, type(error).__name__)
    wanted = walk.wanted
    if not (wanted or walk.repos or walk.globs):
        return Reading(command, tuple(walk.parts))
    return Reading(
        command,
        tuple(walk.parts),
        frozenset(wanted),
        frozenset(walk.repos),
        frozenset(walk.globs),
    )


def _unread(walk: Walk, command: str, why: str) -> None:
    note = Note(command[:200])
    note.unread("sh", f"it could not be read: {why}")
    walk.parts.append(note.part)
