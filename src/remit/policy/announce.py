"""Announcing: what one request tells the model of the mode, given what the last one told.

Standing text goes with every request, so it heals itself after compaction, resume and moves to
another branch. Beside it there is at most one message, so a change is never told twice: a marker
where the mode wants one each turn, else a notice where the last request told something else
(S001-15, S002-5). How a message is rendered for a model's roles is the host's business.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from attrs import asdict, field, fields_dict, frozen

from remit.policy.digest import digest
from remit.policy.escape import MARK, quoted, unmarked
from remit.policy.profile import Brief
from remit.policy.projection import Projection
from remit.policy.tasks import MAX_TASK_ID, ActivePlan
from remit.policy.vocabulary import Announce

__all__ = [
    "Announcement",
    "Message",
    "Told",
    "What",
    "announce",
    "dropped",
    "missing_plan",
    "standing",
    "transition",
]

#: Past so many tools a request keeps their count alone, lest each record of a step hold them all.
_KEPT = 400
#: Tools that a message names of those that went, and of those that came.
_NAMED = 5
#: Characters: of a mode's name, a tool's, a plan's id, a task's title.
_MODE, _TOOL, _PLAN, _TITLE = 64, 128, 255, 200


class What(StrEnum):
    """What a message is, for the log and for whoever renders it."""

    MARKER = "marker"
    NOTICE = "notice"
    TRANSITION = "transition"


@frozen
class Message:
    """One line to the model; a hidden one is not for the user's eyes."""

    what: What
    text: str
    hidden: bool = True


def _names(names: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted(names))


@frozen
class Told:
    """What the header of a request told: the value that is kept with each step.

    ``hash`` is that of the standing text, ``silent`` says that there was none. ``tools`` are the
    names that the model knew, empty where there are so many that ``count`` alone is kept.
    """

    mode: str
    label: str
    silent: bool
    hash: str
    tools: tuple[str, ...] = field(converter=_names)
    count: int

    def to_body(self) -> dict[str, Any]:
        """Return it as JSON takes it, whole."""
        return {**asdict(self), "tools": list(self.tools)}

    @classmethod
    def of_body(cls, body: object) -> Told | None:
        """Read it back; what cannot be read counts as nothing told."""
        if not isinstance(body, Mapping):
            return None
        given: dict[str, Any] = {k: body.get(k) for k in _FIELDS}
        texts = all(isinstance(given[k], str) for k in ("mode", "label", "hash"))
        tools, count = given["tools"], given["count"]
        listed = isinstance(tools, list | tuple) and all(isinstance(t, str) for t in tools)
        counted = isinstance(count, int) and not isinstance(count, bool) and count >= 0
        whole = texts and listed and counted and isinstance(given["silent"], bool)
        return cls(**given) if whole else None


_FIELDS = tuple(fields_dict(Told))


@frozen
class Announcement:
    """What one request carries: the standing text, at most one message, and what to keep of it."""

    standing: str
    marker: Message | None
    notice: Message | None
    told: Told

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages at the tail of the request: none, or one."""
        return tuple(m for m in (self.marker, self.notice) if m is not None)


def announce(
    now: Projection,
    told: Told | None,
    *,
    turn_start: bool,
    narrated: bool = False,
    plan: ActivePlan | None = None,
) -> Announcement:
    """Compose what a request tells of the mode that it is made in.

    ``told`` is what the last request on this branch told, None where there was none.
    ``turn_start`` says that it is the first of a user's turn, ``narrated`` that a tool result since
    the last request told of this mode itself.
    """
    text = standing(now)
    telling = _telling(now, text)
    how = (now.compiled.profile.brief or Brief()).announce
    marker = notice = None
    if telling.silent:
        if told is not None and not told.silent and not narrated:
            notice = transition(told, now)
    elif how is Announce.EVERY_TURN and turn_start:
        marker = Message(What.MARKER, _marker(now, plan))
    elif how is not Announce.SILENT and told is not None and told != telling and not narrated:
        notice = Message(What.NOTICE, _notice(told, telling))
    return Announcement(text, marker, notice, telling)


def standing(now: Projection) -> str:
    """Return the text before the conversation: who may say the mode, then the mode's preamble.

    Empty for the absence of policy, whose requests are those of a host without remit (S002-10).
    """
    profile = now.compiled.profile
    if profile.silent:
        return ""
    mode = quoted(profile.name, _MODE)
    return (
        f"# Authority\n"
        f"{mode} mode is in force; this text is renewed with every request.\n"
        "Every earlier statement of a mode is void, also in summaries and in refusals, which told "
        "what held then.\n"
        f"Never ask for {mode} mode: it is there already.\n"
        "If you believe that something is blocked, try it once with a listed tool before you "
        "refuse, and go by the answer.\n"
        "A tool that worked earlier and is not listed is not there now.\n\n"
        f"{unmarked(now.preamble)}"
    )


def transition(previous: Told, now: Projection) -> Message:
    """Return the one message that a mode was left for the absence of policy (S001-9)."""
    telling = _telling(now, "")
    if previous.mode == telling.mode:
        said = f"{_mode(telling)} is in force without the limits that were told before"
    else:
        said = f"{_mode(previous)} was left; {_mode(telling)} is in force and adds no limits"
    earlier = f"Earlier lines that begin with {MARK} no longer hold."
    return Message(What.TRANSITION, f"{MARK} {said}.{_tools(previous, telling)} {earlier}")


def dropped(mode: str) -> Message:
    """Return the one notice that a stored mode is no longer defined (S002-6, S002-R4).

    It never widens: what was last known of it holds until a person decides (design section 9).
    """
    name = quoted(mode, _MODE)
    said = f"{name} mode is no longer defined; it stays in force as it was, until a person decides."
    return Message(What.NOTICE, f"{MARK} {said}", hidden=False)


def missing_plan(plan: str) -> Message:
    """Return the one notice that the active plan's text is gone, so none is active (S001-R11).

    It is to be sent with the record that clears the plan: after that there is none to miss.
    """
    name = quoted(plan, _PLAN)
    said = f"the text of plan {name} is gone, so no plan is active."
    return Message(What.NOTICE, f"{MARK} {said}", hidden=False)


def _telling(now: Projection, text: str) -> Told:
    profile, tools = now.compiled.profile, now.tools
    called = now.compiled.catalog.called
    names = [called(t.key) for t in tools] if len(tools) <= _KEPT else []
    return Told(now.mode, profile.label, profile.silent, digest(text), names, len(tools))


def _marker(now: Projection, plan: ActivePlan | None) -> str:
    said = f"{MARK} Mode in force: {quoted(now.mode, _MODE)}."
    if plan is None:
        return said
    said += f" Plan {quoted(plan.id, _PLAN)}: {plan.done}/{plan.total} tasks done; "
    if plan.next is None:
        return f"{said}none left."
    title = quoted(plan.next.title, _TITLE)
    return f"{said}next: {quoted(plan.next.id, MAX_TASK_ID)}, {title}."


def _notice(told: Told, telling: Told) -> str:
    tools = _tools(told, telling)
    if told.mode != telling.mode:
        void = f"What was said of {_mode(told)} no longer holds."
        return f"{MARK} {_mode(telling)} is in force, no longer {_mode(told)}.{tools} {void}"
    what = "its tools changed" if tools else "its statement changed, and holds as it is now"
    return f"{MARK} {_mode(telling)} is still in force; {what}.{tools}"


def _mode(told: Told) -> str:
    return f"{quoted(told.mode, _MODE)} mode"


def _tools(before: Told, after: Told) -> str:
    """Say in short which tools went and came; their numbers where not all names were kept."""
    if before.count != len(before.tools) or after.count != len(after.tools):
        same = before.count == after.count
        return "" if same else f" Tools: {before.count} before, {after.count} now."
    gone, new = set(before.tools) - set(after.tools), set(after.tools) - set(before.tools)
    return _some("Gone", gone) + _some("New", new)


def _some(word: str, names: set[str]) -> str:
    if not names:
        return ""
    shown = [quoted(n, _TOOL) for n in sorted(names)]
    if len(shown) <= _NAMED:
        return f" {word}: {', '.join(shown)}."
    return f" {word}: {', '.join(shown[:_NAMED])} and {len(shown) - _NAMED} more."
