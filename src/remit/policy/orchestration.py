"""Orchestrations: how several agents would share work, proposed by one and decided by an operator.

Roles are filled by agents that are there or to be hired; tickets form a tree and wait for each
other; one synthesis ends it all, within a budget (S003-15). `read_orchestration` makes one of what
a model says, `materialise` what a platform is to do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from attrs import asdict, field, frozen

from remit.policy.digest import digest
from remit.policy.escape import escape

__all__ = [
    "MAX_ROLES",
    "MAX_TICKETS",
    "Discussion",
    "Drift",
    "Hire",
    "Orchestration",
    "OrchestrationBudget",
    "OrchestrationRole",
    "RoleTask",
    "Ticket",
    "goal_key",
    "orchestration_markdown",
    "stored_orchestration",
]

MAX_ROLES = 16
MAX_TICKETS = 64


class Drift(StrEnum):
    """What a step does where the work leads away from what was proposed."""

    ANNOTATE = "annotate"
    STOP = "stop-and-ask"


@frozen
class Hire:
    """An agent that is to be there: its name, what it can do, what it is told once and for all."""

    name: str
    skills: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    instructions: str = ""


@frozen
class OrchestrationRole:
    """A part in the work, filled by ``agent``, who is there, or by a ``hire``: exactly one."""

    key: str
    title: str
    agent: str | None = None
    hire: Hire | None = None


@frozen
class Ticket:
    """Work of one role; done after ``depends_on``, and after the tickets whose parent it is."""

    key: str
    title: str
    description: str
    role: str
    parent: str | None = None
    depends_on: tuple[str, ...] = field(default=(), converter=tuple[str, ...])

    def after(self, tickets: Iterable[Ticket]) -> tuple[str, ...]:
        """Return the keys of the tickets that are done before it."""
        parts = (t.key for t in tickets if t.parent == self.key)
        return tuple(dict.fromkeys((*self.depends_on, *parts)))


@frozen
class RoleTask:
    """What one role does for the whole: research before the work, synthesis after it."""

    role: str
    prompt: str


@frozen
class Discussion:
    """What roles are asked about before the work, each by itself."""

    roles: tuple[str, ...] = field(converter=tuple[str, ...])
    prompt: str


@frozen
class OrchestrationBudget:
    """What carrying out may cost: attempts of steps, and minutes from the approval on.

    No step begins beyond either; ``minutes`` None is unlimited.
    """

    steps: int
    minutes: int | None = None


@frozen
class Orchestration:
    """A proposal, whole and sound: `read_orchestration` returns no other."""

    goal: str
    roles: tuple[OrchestrationRole, ...]
    tickets: tuple[Ticket, ...]
    synthesis: RoleTask
    budget: OrchestrationBudget
    research: RoleTask | None = None
    discussion: Discussion | None = None
    drift: Drift = Drift.ANNOTATE

    @property
    def steps(self) -> int:
        """How many steps its pipeline has, which is the least that it costs."""
        talks = len(self.discussion.roles) if self.discussion else 0
        return (self.research is not None) + talks + len(self.tickets) + 1

    def value(self) -> dict[str, Any]:
        """Return it as JSON takes it; `stored_orchestration` makes an equal one of that."""
        value = asdict(self, value_serializer=lambda _, __, v: list(v) if type(v) is tuple else v)
        return {**value, "drift": self.drift.value}

    @property
    def digest(self) -> str:
        """SHA-256 over all of it, in hexadecimal."""
        return digest(self.value())


def stored_orchestration(value: Mapping[str, Any]) -> Orchestration:
    """Return the proposal of a stored value, which was sound when it was stored."""
    research, discussion = value["research"], value["discussion"]
    return Orchestration(
        value["goal"],
        tuple(
            OrchestrationRole(**{**r, "hire": r["hire"] and Hire(**r["hire"])})
            for r in value["roles"]
        ),
        tuple(Ticket(**t) for t in value["tickets"]),
        RoleTask(**value["synthesis"]),
        OrchestrationBudget(**value["budget"]),
        research and RoleTask(**research),
        discussion and Discussion(**discussion),
        Drift(value["drift"]),
    )


def goal_key(goal: str) -> str:
    """Return what two goals have in common that differ in spelling alone: letters and digits.

    Case, blanks, marks and forms of one letter are no other goal, so none of them is a way around
    a cooldown (S003-17).
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", goal).casefold())
    return re.sub(r"[\W_]+", "", folded) or "".join(folded.split())


def orchestration_markdown(proposal: Orchestration, *, id: str = "", revision: int = 0) -> str:
    """Render a proposal for whoever decides: all of it, equal bytes for equal proposals."""

    def line(text: str) -> str:
        return escape(" ".join(text.split()))

    def body(text: str) -> list[str]:
        return [escape(text, lines=True), ""] if text else []

    budget = proposal.budget
    minutes = "" if budget.minutes is None else f" within {budget.minutes} minutes"
    out = [f"# {line(proposal.goal)}", ""]
    if id:
        out += [f"Orchestration `{id}`, revision {revision}.", ""]
    out += [
        f"Budget: {budget.steps} attempts of {proposal.steps} steps{minutes}. "
        f"On drift: {proposal.drift}.",
        "",
        "## Roles",
        "",
    ]
    for role in proposal.roles:
        if role.hire is None:
            out += [f"- `{line(role.key)}` {line(role.title)}: agent `{line(role.agent or '')}`"]
            continue
        skills = ", ".join(map(line, role.hire.skills))
        out += [f"- `{line(role.key)}` {line(role.title)}: hires `{line(role.hire.name)}`"
                + (f" ({skills})" if skills else "")]  # fmt: skip
        out += [f"  {escape(one)}" for one in role.hire.instructions.splitlines()]
    out.append("")
    if proposal.research:
        out += [f"## Research by `{line(proposal.research.role)}`", ""]
        out += body(proposal.research.prompt)
    if proposal.discussion:
        roles = ", ".join(f"`{line(r)}`" for r in proposal.discussion.roles)
        out += [f"## Discussion by {roles}", "", *body(proposal.discussion.prompt)]
    for number, ticket in enumerate(proposal.tickets, 1):
        facts = [f"`{line(ticket.key)}`", f"role `{line(ticket.role)}`"]
        if ticket.parent:
            facts.append(f"part of `{line(ticket.parent)}`")
        if ticket.depends_on:
            facts.append("after " + ", ".join(f"`{line(k)}`" for k in ticket.depends_on))
        out += [f"## {number}. {line(ticket.title)}", "", ", ".join(facts) + ".", ""]
        out += body(ticket.description)
    out += [f"## Synthesis by `{line(proposal.synthesis.role)}`", ""]
    return "\n".join([*out, *body(proposal.synthesis.prompt)])
