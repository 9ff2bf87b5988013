"""Conversations once more, slow and obvious: what is in force is a set of refused tools.

It shares no code with the engine. A mode, an overlay and a dial come to which tools are refused and
how strict the rest is, so the meet is a union and the strictest word, and every rule of design
section 6 is a line or two. Whole states are copied where the engine keeps records.
"""

from __future__ import annotations

import copy

from attrs import Factory, define

__all__ = ["MODES", "OVERLAYS", "Model", "Seen", "Talk"]

NOTE, PUSH, LOOK = "note", "push", "look"
#: What each mode refuses. `closed` is what the engine calls read-only.
MODES: dict[str, frozenset[str]] = {
    "chat": frozenset(),
    "no-note": frozenset({NOTE}),
    "no-push": frozenset({PUSH}),
    "shut": frozenset({NOTE, PUSH}),
    "read-only": frozenset({NOTE, PUSH}),
}
EXITS = {"no-push": "chat", "shut": "chat"}
#: The modes that are announced where they change, and not at each turn.
ON_CHANGE = {"no-note", "shut"}
#: The modes that a child of each may have, where it is not read-only alone.
CHILDREN = {"no-push": ("no-push", "shut")}
OVERLAYS: dict[str | None, frozenset[str]] = {
    None: frozenset(),
    "note": frozenset({NOTE}),
    "push": frozenset({PUSH}),
}
STRICT = ("allow", "ask", "deny")
DIALS = {
    "propose": {NOTE: "deny", PUSH: "deny"},
    "ask": {NOTE: "ask", PUSH: "ask"},
    "accept-edits": {NOTE: "allow", PUSH: "ask"},
    "auto": {NOTE: "allow", PUSH: "allow"},
}

#: What a request told: the mode, the refused tools, and whether that was nothing at all.
Heard = tuple[str, frozenset[str], bool]


@define
class Held:
    """What held at one moment: what is refused, and under which dials."""

    refused: frozenset[str]
    dials: tuple[str, ...]
    mode: str
    revision: int


@define
class Seen:
    """What the reference expects of a step."""

    mode: str
    message: str
    refused: frozenset[str]
    frame: Held


@define
class Talk:
    """A conversation."""

    id: str
    mode: str
    revision: int
    parent: str | None = None
    child: bool = False
    depth: int = 0
    overlay: str | None = None
    open: bool = False
    narrowed: str | None = None
    steps: int = 0
    floor: tuple[Held, ...] = ()
    heard: Heard | None = None
    hearing: Heard | None = None
    called: bool = False
    ended: bool = False
    #: What it was at each of its steps, by the number of the record.
    was: dict[int, tuple[str, int, Heard | None]] = Factory(dict)


@define
class Model:
    """One space and its conversations."""

    mode: str = "chat"
    revision: int = 1
    dial: str = "auto"
    overlay: str | None = None
    left_by: str | None = None
    talks: dict[str, Talk] = Factory(dict)
    #: How each call and each exit that was asked for stands: of whom, what, at which revision.
    asked: dict[tuple[str, str, int], str] = Factory(dict)

    def copy(self) -> Model:
        return copy.deepcopy(self)

    # What is in force.

    def line(self, talk: Talk) -> list[Talk]:
        found = [talk]
        while found[-1].child:
            found.append(self.talks[found[-1].parent or ""])
        return found

    def refused(self, talk: Talk) -> frozenset[str]:
        found = MODES[self.mode] | OVERLAYS[self.overlay]
        for one in self.line(talk):
            found |= MODES[one.mode] | OVERLAYS[one.overlay] | OVERLAYS[one.narrowed]
        return found

    def held(self, talk: Talk) -> Held:
        return Held(self.refused(talk), (self.dial,), talk.mode, self.revision)

    # What operators do.

    def set(self, mode: str, by: str | None = None) -> str:
        if mode == self.mode:
            return "noop"
        running = [t for t in self.talks.values() if t.open and not t.child]
        self.mode, self.revision, self.left_by = mode, self.revision + 1, by
        if not running:
            return "committed"
        return "cancelled" if all(t.mode == mode for t in running) else "queued"

    # What hosts do.

    def talk(self, id: str) -> Talk:
        return self.talks.setdefault(id, Talk(id, self.mode, self.revision))

    def children(self, talk: Talk) -> tuple[str, ...]:
        mode = talk.mode
        if not (talk.open or talk.child) and self._crosses(talk, start=True):
            mode = self.mode
        return CHILDREN.get(mode, ("read-only",))

    def child(self, id: str, of: Talk, mode: str) -> None:
        self.talks[id] = Talk(id, mode, self.revision, of.id, True, of.depth + 1)

    def fork(self, id: str, of: Talk, at: int | None = None) -> None:
        if at is None:
            mode, revision, heard = of.mode, of.revision, of.hearing or of.heard
        else:
            mode, revision, heard = of.was[at]
        parent = of.parent if of.child else of.id
        made = Talk(id, mode, revision, parent, of.child, of.depth, of.overlay, heard=heard)
        self.talks[id] = made

    def move(self, talk: Talk, to: int) -> None:
        waits = not talk.child and self.revision > talk.revision and self.mode != talk.mode
        seen = talk.revision if waits else self.revision
        talk.mode, _, talk.heard = talk.was[to]
        talk.revision, talk.hearing = seen, None

    def begin(self, talk: Talk, narrowed: str | None) -> None:
        talk.open, talk.narrowed, talk.steps = True, narrowed, 0
        if self._crosses(talk, start=True):
            talk.mode, talk.revision = self.mode, self.revision
        self._floor(talk)

    def step(self, talk: Talk) -> Seen:
        start = talk.steps == 0
        granted = False
        if self._crosses(talk, start=False):
            talk.mode, talk.revision = self.mode, self.revision
            granted = self.left_by == talk.id
        if granted:
            self._floor(talk)
        refused = self.refused(talk).union(*(f.refused for f in talk.floor))
        dials = (self.dial, *(d for f in talk.floor for d in f.dials))
        now: Heard = (talk.mode, refused, talk.mode == "chat" and not refused)
        before = talk.hearing or talk.heard
        if start and talk.ended and self.left_by == talk.id and before is not None:
            granted = self.mode == talk.mode != before[0]
        told = before is not None and before != now and not granted
        if now[2]:
            message = "transition" if told else ""
        elif talk.mode not in ON_CHANGE and start:
            message = "marker"
        else:
            message = "notice" if told else ""
        talk.heard, talk.hearing, talk.called = before, now, False
        talk.steps += 1
        return Seen(talk.mode, message, refused, Held(refused, dials, talk.mode, self.revision))

    def call(self, talk: Talk, frame: Held, tool: str) -> str:
        talk.called = True
        if tool in frame.refused | self.refused(talk):
            return "deny"
        words = [DIALS[d].get(tool, "allow") for d in (self.dial, *frame.dials)]
        verdict = max(words, key=STRICT.index)
        if verdict != "ask":
            return verdict
        asked = (talk.id, tool, self.revision)
        if self.asked.get(asked) == "approved":
            del self.asked[asked]
            return "allow"
        self.asked[asked] = "pending"
        return "ask"

    def leave(self, talk: Talk, frame: Held) -> str:
        talk.called = True
        to = EXITS.get(frame.mode)
        if to is None or talk.child:
            return "deny"
        if frame.revision != self.revision or self.mode not in (frame.mode, to):
            return "left"
        if self.mode == to:
            return "there"
        asked = (talk.id, "exit", self.revision)
        if self.asked.get(asked) == "approved":
            del self.asked[asked]
            self.set(to, by=talk.id)
            return "there"
        self.asked[asked] = "pending"
        return "ask"

    def approve(self) -> list[tuple[str, str]]:
        """Approve all that waits; what waited in a mode that was left is over."""
        found = [k for k, v in self.asked.items() if v == "pending" and k[2] == self.revision]
        for key in found:
            self.asked[key] = "approved"
        return [(id, what) for id, what, _ in found]

    def end(self, talk: Talk, *, well: bool) -> None:
        if well or talk.called:
            talk.heard = talk.hearing or talk.heard
        talk.open, talk.narrowed, talk.hearing, talk.floor = False, None, None, ()
        talk.ended = well

    def _floor(self, talk: Talk) -> None:
        parent = self.talks[talk.parent or ""] if talk.child else None
        above = parent.floor if parent is not None and parent.open else ()
        talk.floor = (self.held(talk), *above)

    def _crosses(self, talk: Talk, *, start: bool) -> bool:
        if talk.child or self.mode == talk.mode:
            return False
        newer = self.revision > talk.revision
        return MODES[self.mode] > MODES[talk.mode] or (newer and (start or self.left_by == talk.id))
