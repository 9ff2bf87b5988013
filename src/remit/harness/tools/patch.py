"""The patch format: files by name, and in each the lines that go and come among those that stay.

It is the form that begins with ``*** Begin Patch``, because models write it well (it counts no
lines), it makes, removes and moves files, and the classifier of paths reads it: both take the same
lines for names. Lines are found exactly or not at all.

    *** Begin Patch
    *** Update File: src/app.py
    *** Move to: src/main.py        (if it moves)
    @@ def greet():                 (a line to look after; several narrow it down)
     a line that stays
    -a line that goes
    +a line that comes
    *** End of File                 (if the lines before are the last)
    *** Add File: notes.txt
    +every line of it
    *** Delete File: old.txt
    *** End Patch
"""

from __future__ import annotations

from attrs import define, field

from remit.harness.tools.desk import Refused
from remit.harness.tools.files import Text
from remit.policy.escape import quoted

__all__ = ["Hunk", "Section", "patched", "read_patch"]

_BEGIN, _END, _LAST, _TO = "*** Begin Patch", "*** End Patch", "*** End of File", "*** Move to: "
_VERBS = {f"*** {verb} File: ": verb.lower() for verb in ("Add", "Update", "Delete")}


@define
class Hunk:
    """Lines of one place: ``(" " | "-" | "+", line)``, after the anchors, in order."""

    anchors: list[str] = field(factory=list)
    lines: list[tuple[str, str]] = field(factory=list)
    last: bool = False

    @property
    def old(self) -> list[str]:
        """What stands there now."""
        return [text for sign, text in self.lines if sign != "+"]


@define
class Section:
    """What becomes of one file: ``verb`` is add, update or delete."""

    verb: str
    path: str
    to: str | None = None
    hunks: list[Hunk] = field(factory=list)
    added: list[str] = field(factory=list)


def read_patch(text: str) -> list[Section]:
    """Return the sections of a patch; raises `Refused` with the line that is wrong."""
    # Only a line feed ends a line, as it does for whoever judged the names.
    lines = text.rstrip("\n").split("\n")
    if lines[0].rstrip() != _BEGIN:
        raise Refused(f"a patch begins with `{_BEGIN}`, got {quoted(lines[0])}", "bad-patch")
    if len(lines) < 2 or lines[-1].rstrip() != _END:
        raise Refused(f"a patch ends with `{_END}`", "bad-patch")
    sections: list[Section] = []
    for number, line in enumerate(lines[1:-1], 2):
        verb = next((v for mark, v in _VERBS.items() if line.startswith(mark)), None)
        if verb is not None:
            path = line.partition(": ")[2].strip()
            if not path:
                raise _wrong(number, "names no file", line)
            sections.append(Section(verb, path))
        elif not sections or not _taken(sections[-1], line):
            raise _wrong(number, "means nothing there", line)
    return [_whole(s) for s in sections]


def _wrong(number: int, why: str, line: str) -> Refused:
    return Refused(f"line {number} of the patch {why}: {quoted(line)}", "bad-patch")


def _taken(section: Section, line: str) -> bool:
    """Take a line into a section, if it means something there."""
    if section.verb == "delete":
        return not line.strip()
    if section.verb == "add":
        if line.startswith("+"):
            section.added.append(line[1:])
        return line.startswith("+")
    if line.startswith(_TO):
        first = section.to is None and not section.hunks
        section.to = line.removeprefix(_TO).strip()
        return first and bool(section.to)
    if line == "@@" or line.startswith("@@ "):
        fresh = section.hunks and not section.hunks[-1].lines and not section.hunks[-1].last
        if not fresh:
            section.hunks.append(Hunk())
        if line[3:].strip():
            section.hunks[-1].anchors.append(line[3:])
        return True
    if not section.hunks:
        section.hunks.append(Hunk())
    hunk = section.hunks[-1]
    if hunk.last:
        return False
    if line.rstrip() == _LAST:
        hunk.last = True
        return True
    # Models leave out the space of an empty line.
    sign, text = (line[0], line[1:]) if line else (" ", "")
    hunk.lines.append((sign, text))
    return sign in " -+"


def _whole(section: Section) -> Section:
    if section.verb == "update":
        for hunk in section.hunks:
            if not any(sign != " " for sign, _ in hunk.lines):
                raise Refused(f"a part for `{section.path}` changes nothing", "bad-patch")
        if not section.hunks and section.to is None:
            raise Refused(f"the patch says nothing of `{section.path}`", "bad-patch")
    return section


def patched(text: Text, hunks: list[Hunk], name: str) -> bytes:
    """Return a text with all parts of a patch in it; raises `Refused` where one does not fit."""
    newline = text.newline
    lines = _lines(text.data)
    bare = [_bare(line) for line in lines]
    out: list[bytes] = []
    at = 0
    for number, hunk in enumerate(hunks, 1):
        start = _located(bare, hunk, at, f"part {number} for `{name}`")
        out += lines[at:start]
        at = start
        for sign, said in hunk.lines:
            if sign == "+":
                out.append(_bare(said.encode()) + newline)
                continue
            if sign == " ":
                out.append(lines[at])
            at += 1
    out += lines[at:]
    # A file without a last newline stays so, whichever line is its last now.
    ended = [line if line.endswith(b"\n") else line + newline for line in out]
    data = b"".join(ended)
    return data if not text.data or text.data.endswith(b"\n") else data.removesuffix(newline)


def _lines(data: bytes) -> list[bytes]:
    """Split at line feeds alone, each line with what ends it."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _bare(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _located(lines: list[bytes], hunk: Hunk, at: int, what: str) -> int:
    """Return where the lines of a part stand, at or after a line."""
    after = _anchored(lines, hunk, at, what)
    old = [_bare(text.encode()) for text in hunk.old]
    ends = len(lines) - len(old)
    places = [
        i
        for i in ((ends,) if hunk.last else range(after, ends + 1))
        if i >= after and lines[i : i + len(old)] == old
    ]
    if not old:
        if not (hunk.anchors or hunk.last or not lines):
            raise Refused(
                f"{what} only adds lines, and says neither after which nor `{_LAST}`", "not-unique"
            )
        return len(lines) if hunk.last else after
    if not places:
        raise Refused(f"the lines of {what} do not stand there: {quoted(hunk.old[0])}", "not-found")
    if len(places) > 1 and not hunk.anchors:
        told = ", ".join(str(i + 1) for i in places[:10])
        raise Refused(
            f"the lines of {what} stand {len(places)} times (line {told}); give more of them, or "
            "a line before them after `@@`",
            "not-unique",
        )
    return places[0]


def _anchored(lines: list[bytes], hunk: Hunk, at: int, what: str) -> int:
    """Return the line after the anchors of a part; the first stands once, others come next."""
    for depth, anchor in enumerate(hunk.anchors):
        wanted = anchor.strip().encode()
        places = [i for i in range(at, len(lines)) if lines[i].strip() == wanted]
        if not places:
            raise Refused(f"the line {quoted(anchor)} of {what} does not stand there", "not-found")
        if depth == 0 and len(places) > 1:
            raise Refused(
                f"the line {quoted(anchor)} of {what} stands more than once", "not-unique"
            )
        at = places[0] + 1
    return at
