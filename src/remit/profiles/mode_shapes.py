"""The shape of a mode's frontmatter: one class a map, one field a key, as `shapes` has profiles.

Keys are spelt as the format of seed 000 spells them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar

from attrs import field, frozen

__all__ = [
    "GATES",
    "HEADINGS",
    "ID_PATTERN",
    "MINUTES",
    "RETRIES",
    "STAGES",
    "ArtifactFile",
    "Asked",
    "BudgetFile",
    "GateFile",
    "InjectFile",
    "ModeFile",
    "OnFailFile",
    "OnFile",
    "RunFile",
    "StageFile",
]

Names = tuple[str, ...]

#: Limits of S000-79; headings are ours.
STAGES, GATES, RETRIES, MINUTES, HEADINGS = 16, 8, 10, 60, 32
ID_PATTERN = "[A-Za-z][A-Za-z0-9_-]{0,63}"

_IDS = {"pattern": f"^{ID_PATTERN}$"}


def _says(doc: str, *, pattern: str = "", **limits: Any) -> dict[str, Any]:
    return {"doc": doc, "limits": limits} | ({"pattern": pattern} if pattern else {})


class Asked(StrEnum):
    """Who an exit gate may ask."""

    USER = "user"


@frozen
class ArtifactFile:
    """A file that a run makes."""

    path: str = field(
        metadata=_says("Where it lies in the worktree; `{{run.id}}` is filled in.", minLength=1)
    )
    template: str | None = field(
        default=None,
        metadata=_says("A file in the mode's own `templates/` that it starts from."),
    )
    requiredHeadings: Names = field(
        default=(),
        metadata=_says("Headings that must stand in it.", maxItems=HEADINGS),
    )


@frozen
class BudgetFile:
    """What limits the turns that a host starts by itself in one run."""

    maxTurns: int | None = field(
        default=None, metadata=_says("How many turns; 20 unless said.", minimum=1)
    )
    maxTokens: int | None = field(
        default=None, metadata=_says("How many tokens; unlimited unless said.", minimum=1)
    )


@frozen
class RunFile:
    """A command that must end with the exit code 0; a bare text is the command."""

    SHORTHAND: ClassVar[str] = "command"

    command: str = field(metadata=_says("The command, run in the worktree.", minLength=1))
    timeoutMinutes: int = field(
        default=10, metadata=_says("When it is stopped.", minimum=1, maximum=MINUTES)
    )


@frozen
class OnFailFile:
    """What becomes of a gate that fails."""

    retries: int | None = field(
        default=None,
        metadata=_says(
            "Failed attempts in the stage at which it stops trying; 2 unless said, 1 with `goto`.",
            minimum=0,
            maximum=RETRIES,
        ),
    )
    goto: str | None = field(
        default=None, metadata=_says("The stage that the run goes to then; else it waits.")
    )


@frozen
class GateFile:
    """An exit gate: one of `require`, `run` and `ask`."""

    require: str | None = field(
        default=None,
        metadata=_says("`artifact:ID`, which must be there with its headings."),
    )
    run: RunFile | None = field(default=None, metadata=_says("A command that must succeed."))
    ask: Asked | None = field(default=None, metadata=_says("Asks a person; the last gate alone."))
    onFail: OnFailFile | None = field(
        default=None, metadata=_says("What becomes of it when it fails; not of `ask`.")
    )


@frozen
class InjectFile:
    """What the model is told."""

    inject: str = field(metadata=_says("`artifact:ID` for what it holds then, or a text."))


@frozen
class OnFile:
    """The triggers of a stage."""

    enter: tuple[InjectFile, ...] = field(default=(), metadata=_says("When the stage is entered."))
    compaction: tuple[InjectFile, ...] = field(
        default=(), metadata=_says("When the conversation was compacted.")
    )


@frozen
class StageFile:
    """A stage of a run."""

    prompt: str = field(default="", metadata=_says("Words for the model while it is in force."))
    permission: str | None = field(
        default=None, metadata=_says("The profile whose ceiling narrows the mode's.")
    )
    loop: bool = field(default=False, metadata=_says("Does the host continue it turn by turn."))
    on: OnFile = field(factory=OnFile, metadata=_says("What is told at which event."))
    exit: tuple[GateFile, ...] = field(
        default=(), metadata=_says("The exit gates, in order.", maxItems=GATES)
    )
    next: str | None = field(
        default=None, metadata=_says("The stage that follows; absent makes this one final.")
    )


@frozen
class ModeFile:
    """A mode: a prompt with a permission, and the stages of its runs if it has any."""

    name: str | None = field(
        default=None,
        metadata=_says(
            "The mode's id; the folder's name unless said.", pattern="^[a-z][a-z0-9-]{0,63}$"
        ),
    )
    label: str | None = field(default=None, metadata=_says("What people call it."))
    description: str = field(default="", metadata=_says("What it is for, in one sentence."))
    permission: str | None = field(
        default=None, metadata=_says("The profile whose ceiling holds; the top one unless said.")
    )
    artifacts: Mapping[str, ArtifactFile] = field(
        factory=dict, metadata=_says("The files that a run makes, by id.", propertyNames=_IDS)
    )
    budget: BudgetFile = field(
        factory=BudgetFile, metadata=_says("What limits the turns that a host starts.")
    )
    returnTo: str | None = field(
        default=None, metadata=_says("The mode after a run; the top one unless said.")
    )
    stages: Mapping[str, StageFile] | None = field(
        default=None,
        metadata=_says(
            "The stages by id; the first one starts. Absent makes a mode without runs.",
            minProperties=1,
            maxProperties=STAGES,
            propertyNames=_IDS,
        ),
    )
