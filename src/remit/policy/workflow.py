"""Workflows: what a staged mode declares, as values.

A workflow names modes and artifacts; it holds no ceiling. What a stage may do is a profile beside
it, made by the loader, and both are kept together when a run starts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from attrs import field, frozen

__all__ = [
    "VARIABLES",
    "Action",
    "Artifact",
    "Budget",
    "Gate",
    "Inject",
    "Stage",
    "Workflow",
    "substitute",
    "variables",
]

_BRACES = re.compile(r"\{\{([^{}]*)\}\}")

#: What words and paths may name, besides ``artifacts.<id>.path``.
VARIABLES = ("run.id", "run.input")


class Action(StrEnum):
    """What an exit gate does."""

    REQUIRE = "require"
    RUN = "run"
    ASK = "ask"


@frozen
class Artifact:
    """A file that a run makes: its path within the worktree, and what must stand in it."""

    path: str
    #: The text of the template, None where there is none.
    template: str | None = None
    headings: tuple[str, ...] = ()


@frozen
class Budget:
    """What limits the turns that a host starts by itself; ``tokens`` None is unlimited."""

    turns: int = 20
    tokens: int | None = None


@frozen
class Gate:
    """An exit gate. ``what`` is an artifact's id, a command, or who is asked.

    ``retries`` caps the failed attempts of the stage; at the cap ``goto`` names where the run goes
    on, None waits for a person (S000-43).
    """

    action: Action
    what: str
    minutes: int = 10
    retries: int = 2
    goto: str | None = None


@frozen
class Inject:
    """What a trigger tells the model: what an artifact holds then, or a text."""

    text: str = ""
    artifact: str | None = None


@frozen
class Stage:
    """One stage; without ``next`` it is final."""

    prompt: str = ""
    permission: str = ""
    loop: bool = False
    enter: tuple[Inject, ...] = ()
    compaction: tuple[Inject, ...] = ()
    exit: tuple[Gate, ...] = ()
    next: str | None = None

    @property
    def asks(self) -> bool:
        """Does its last exit gate ask a person."""
        return bool(self.exit) and self.exit[-1].action is Action.ASK

    @property
    def ends_with_turn(self) -> bool:
        """Does it finish when its turn ends (S000-26)."""
        return not self.loop and not self.exit


@frozen
class Workflow:
    """A staged mode's declaration; the first of ``stages`` starts a run."""

    name: str
    stages: Mapping[str, Stage]
    artifacts: Mapping[str, Artifact] = field(factory=dict)
    budget: Budget = Budget()
    return_to: str = ""
    body: str = ""

    @property
    def first(self) -> str:
        """The stage that a run starts in."""
        return next(iter(self.stages))

    def paths(self, run: str) -> dict[str, str]:
        """Return where each artifact of a run lies, within the worktree."""
        return {id: substitute(a.path, {"run.id": run}) for id, a in self.artifacts.items()}

    def fill(self, text: str, run: str, given: str) -> str:
        """Return a text with its variables replaced, in one pass (S000-20)."""
        values = {f"artifacts.{id}.path": path for id, path in self.paths(run).items()}
        return substitute(text, {"run.id": run, "run.input": given, **values})


def variables(text: str) -> tuple[str, ...]:
    """Return the names in double braces that lay claim to being variables, in order."""
    names = (name.strip() for name in _BRACES.findall(text))
    return tuple(n for n in names if n.partition(".")[0] in ("run", "artifacts"))


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Return a text with what stands in double braces replaced; what is put in is not read again.

    What is no variable stays as it is: prompts may speak of other systems' braces.
    """
    return _BRACES.sub(lambda m: values.get(m[1].strip(), m[0]), text)
