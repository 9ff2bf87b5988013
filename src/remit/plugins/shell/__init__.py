"""The shell classifier: what a command line would do, found without running it."""

from __future__ import annotations

from remit.plugins.shell.reading import Part, Reading
from remit.policy.tools import Facts

__all__ = ["LENGTH", "Part", "Reading", "classify_shell"]

#: The longest command that is read, in characters.
LENGTH = 200_000


def classify_shell(command: str, facts: Facts, shell: str = "bash") -> Reading:
    """Return what a command would do in a shell (`bash` or `powershell`); it never raises.

    A command that cannot be read in full has an opaque part that says why, besides the parts that
    could be read.
    """
    from remit.plugins.shell.powershell import powershell
    from remit.plugins.shell.reading import Note
    from remit.plugins.shell.syntax import SyntaxTrouble
    from remit.plugins.shell.walk import Walk

    if len(command) > LENGTH:
        note = Note(f"{command[:60]}...")
        note.unread("sh", f"it is longer than {LENGTH} characters")
        return Reading(command, (note.part,))
    walk = Walk(facts)
    try:
        if shell == "powershell":
            powershell(walk, command)
        else:
            walk.whole(command)
    except SyntaxTrouble as trouble:
        note = Note(command[:200])
        note.unread("sh", f"it could not be read: {trouble}")
        walk.parts.append(note.part)
    except (
        RecursionError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
    ) as error:
        # INVARIANT: a fault of ours is an opaque answer, never a crash and never harmless.
        note = Note(command[:200])
        note.unread("sh", f"it could not be read: {type(error).__name__}")
        walk.parts.append(note.part)
    return Reading(
        command,
        tuple(walk.parts),
        frozenset(walk.ground.wants),
        frozenset(walk.repos),
        frozenset(walk.globs),
    )
