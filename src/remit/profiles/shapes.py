"""The shapes of our files: one class a table, one field a key, each with a line that says it.

Loader, JSON Schema and reference are all made from these declarations. What a key means beyond its
type is checked in `declaration` and `catalogs`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from remit.policy.vocabulary import Announce, Posture, Tier, Unknown, Verdict
from remit.profiles.names import STEP_MODE

__all__ = [
    "BriefFile",
    "CallFile",
    "CatalogFile",
    "CeilingFile",
    "ExampleFile",
    "NodeFile",
    "OverlayFile",
    "PipelineFile",
    "ProfileFile",
    "ToolFile",
]

Names = tuple[str, ...]


def _says(doc: str, **more: Any) -> dict[str, Any]:
    return {"doc": doc, **more}


@frozen
class CeilingFile:
    """What the mode may at most do; every key narrows the parent's."""

    tier: Tier | None = field(
        default=None, metadata=_says("The highest tier of tools; absent means as the parent.")
    )
    posture: Posture | None = field(
        default=None,
        metadata=_says("May the worktree be written; `read-only` also refuses `worktree.write`."),
    )
    refuse: Names = field(
        default=(),
        metadata=_says(
            "Effect classes that no call may have: ids, globs such as `git.*`, or "
            "`world-changing` for all that read-only modes refuse. Adds to the parent's."
        ),
    )
    unknown: Unknown | None = field(
        default=None, metadata=_says("What becomes of calls that cannot be judged.")
    )
    allow: Names | None = field(
        default=None,
        metadata=_says(
            "Tools that may be there: `name`, a glob, `source:name`, `group:x`, `tier:x`. "
            "Absent restricts nothing, `[]` leaves only the mode's own verbs."
        ),
    )
    deny: Names = field(default=(), metadata=_says("Tools that may not be there, named likewise."))
    limit: Mapping[str, Names] = field(
        factory=dict,
        metadata=_says(
            "Per effect class the targets that it may act on; `!` before a pattern excludes."
        ),
    )


@frozen
class BriefFile:
    """What the mode is for; replaces the parent's brief as a whole."""

    verbs: Names = field(
        default=(), metadata=_says("Tools that deliver the mode's result; always allowed in it.")
    )
    required: bool = field(
        default=False, metadata=_says("Must a run deliver through one of the verbs.")
    )
    noun: str | None = field(default=None, metadata=_says("What a result is called."))
    nudge: str | None = field(
        default=None, metadata=_says("What a run is told once that stops without delivering.")
    )
    exit: str | None = field(
        default=None, metadata=_says("The tool that asks to leave the mode; always allowed in it.")
    )
    exit_to: str | None = field(
        default=None, metadata=_says("The mode that an approved exit or result leads to.")
    )
    children: Names | None = field(
        default=None, metadata=_says("Modes that an agent started from this one may have.")
    )
    missed: Names = field(
        default=(), metadata=_says("Tools to name as unavailable, where they are known.")
    )
    announce: Announce = field(
        default=Announce.EVERY_TURN, metadata=_says("How often the model is told of the mode.")
    )
    guidance: str = field(
        default="",
        metadata=_says(
            "Words for the model; `{{label}}`, `{{noun}}`, `{{verbs}}`, `{{exit}}` are filled in."
        ),
    )


@frozen
class CallFile:
    """A call of a tool."""

    tool: str = field(metadata=_says("The tool's name, or `source:name`."))
    args: Mapping[str, Any] = field(factory=dict, metadata=_says("Its arguments."))


@frozen
class ExampleFile:
    """A call and the verdict that the profile must give."""

    call: CallFile = field(metadata=_says("The call."))
    verdict: Verdict = field(metadata=_says("The verdict under the dial `ask`."))


@frozen
class ProfileFile:
    """A capability profile: all that a mode guarantees, declared once."""

    name: str = field(
        metadata=_says("The mode's id.", pattern="^[a-z][a-z0-9-]{0,63}$"),
    )
    label: str | None = field(default=None, metadata=_says("What people call it."))
    extends: str | None = field(
        default=None, metadata=_says("The parent, whose ceiling this one narrows.")
    )
    intent: str = field(
        default="", metadata=_says("One sentence that tells the model what it is doing.")
    )
    selectable: bool = field(default=True, metadata=_says("May an operator choose it for a space."))
    ceiling: CeilingFile = field(
        factory=CeilingFile, metadata=_says("What the mode may at most do.")
    )
    brief: BriefFile | None = field(
        default=None, metadata=_says("What the mode is for; absent means the parent's.")
    )
    example: tuple[ExampleFile, ...] = field(
        default=(), metadata=_says("Calls with the verdict that the author expects.")
    )


@frozen
class OverlayFile:
    """What narrows one space, whatever its mode."""

    ceiling: CeilingFile = field(metadata=_says("What the space may at most do."))


@frozen
class ToolFile:
    """One tool of a catalogue: the worst that a call of it can do."""

    tier: Tier = field(
        default=Tier.EXECUTE, metadata=_says("How much approval it needs; `execute` unless said.")
    )
    effects: Names | None = field(
        default=None,
        metadata=_says(
            "Effect classes: the upper bound of what a call can do. `[]` says that it changes "
            "nothing; absent, that nobody declared it."
        ),
    )
    groups: Names = field(default=(), metadata=_says("Groups that profiles can name."))
    classify: str | None = field(
        default=None, metadata=_says("The classifier that computes the effects of one call.")
    )
    least: tuple[Names, ...] | None = field(
        default=None,
        metadata=_says("With a classifier: the smallest effect sets that a call can have."),
    )
    arguments: Mapping[str, str] = field(
        factory=dict,
        metadata=_says(
            'With a classifier: what it is to make of arguments, such as `path = "write"`; '
            "`a.b` is within `a`, lists are gone through."
        ),
    )
    actions: Mapping[str, Names] = field(
        factory=dict,
        metadata=_says("With the classifier `action`: the effects of each value."),
    )
    verb: bool = field(default=False, metadata=_says("May it serve as an output verb."))
    exit: bool = field(default=False, metadata=_says("May it serve as an exit verb."))
    hash: str | None = field(
        default=None,
        metadata=_says(
            "Pins what the server says of the tool: one that says something else is undeclared "
            "until it is reviewed. Learnt, not written by hand.",
            pattern="^[0-9a-f]{64}$",
        ),
    )
    description: str | None = field(
        default=None, metadata=_says("The description that `hash` is over, to show a change by.")
    )
    schema: str | None = field(
        default=None,
        metadata=_says("The schema of the arguments that `hash` is over, as JSON text."),
    )


@frozen
class CatalogFile:
    """A catalogue: what the tools of one source can do."""

    source: str | None = field(
        default=None,
        metadata=_says(
            "The source of the tools; the file's name without its extension unless said.",
            pattern="^[A-Za-z0-9_.-]{1,64}$",
        ),
    )
    tools: Mapping[str, ToolFile] = field(factory=dict, metadata=_says("The tools by name."))


@frozen
class NodeFile:
    """One step of a pipeline."""

    key: str = field(metadata=_says("Its short name, by which others say that they wait for it."))
    title: str = field(metadata=_says("One line: what is done."))
    prompt: str = field(default="", metadata=_says("What the step is told to do."))
    depends_on: Names = field(
        default=(), metadata=_says("Keys of the nodes that must be done before.")
    )
    role: str = field(default="", metadata=_says("Who does it, where that matters."))
    extras: Mapping[str, Any] = field(
        factory=dict,
        metadata=_says(
            "What the platform wants to know of the step. The key `mode`, exactly, pins its mode."
        ),
    )


@frozen
class PipelineFile:
    """A pipeline: steps that wait for each other, each in a mode."""

    name: str = field(metadata=_says("What it is called."))
    nodes: tuple[NodeFile, ...] = field(metadata=_says("The steps."))
    default: str | None = field(
        default=None, metadata=_says(f"The mode of steps that pin none; `{STEP_MODE}` unless said.")
    )
    allowed: Names | None = field(
        default=None, metadata=_says("The modes that a step may have; absent means all there are.")
    )
