"""Materialising: from an approved proposal to what a platform does, and the pipeline that it runs.

Pure and total for sound proposals: equal proposals give equal bytes. Every action has a key of its
own, by which a platform knows one that it has done already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from remit.policy.orchestration import Drift, Orchestration, Ticket
from remit.policy.pipeline import PIN, Pipeline, PipelineNode
from remit.policy.plan import NodeType, Plan

__all__ = ["Act", "Action", "actions", "orchestration_pipeline", "plan_pipeline"]


class Act(StrEnum):
    """What a platform is asked to do."""

    HIRE = "hire"
    CREATE_PROJECT = "create_project"
    CREATE_TICKET = "create_ticket"
    START_PIPELINE = "start_pipeline"


@frozen
class Action:
    """One thing to do, once; ``key`` is its own for good.

    ``refs`` names by field of the body the keys of earlier actions whose results go there.
    """

    act: Act
    key: str
    body: Mapping[str, Any]
    refs: Mapping[str, str] = field(factory=dict)

    def value(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {
            "act": self.act.value,
            "key": self.key,
            "body": dict(self.body),
            "refs": dict(self.refs),
        }

    def filled(self, results: Mapping[str, str]) -> dict[str, Any]:
        """Return the body with the results of earlier actions in their places."""
        return {**self.body, **{name: results[key] for name, key in self.refs.items()}}


def actions(proposal: Orchestration, id: str) -> tuple[Action, ...]:
    """Return what a platform does for orchestration ``id``, in an order in which it can be done.

    The pipeline comes last; whoever does it makes that of `orchestration_pipeline`.
    """
    hires = [
        Action(
            Act.HIRE,
            _hire(id, role.key),
            {
                "role": role.key,
                "title": role.title,
                "name": role.hire.name,
                "skills": list(role.hire.skills),
                "instructions": role.hire.instructions,
            },
        )
        for role in proposal.roles
        if role.hire is not None
    ]
    project = Action(Act.CREATE_PROJECT, f"{id}/project", {"title": proposal.goal})
    tickets = [_ticket(proposal, id, ticket) for ticket in _ordered(proposal.tickets)]
    budget = {"steps": proposal.budget.steps, "minutes": proposal.budget.minutes}
    start = Action(
        Act.START_PIPELINE, f"{id}/pipeline", {"budget": budget}, {"project": project.key}
    )
    return (*hires, project, *tickets, start)


def _hire(id: str, role: str) -> str:
    return f"{id}/hire/{role}"


def _ticket(proposal: Orchestration, id: str, ticket: Ticket) -> Action:
    role = next(r for r in proposal.roles if r.key == ticket.role)
    body: dict[str, Any] = {
        "ticket": ticket.key,
        "title": ticket.title,
        "description": ticket.description,
        # By keys: a ticket may wait for one that can only be made after it.
        "depends_on": [f"{id}/ticket/{key}" for key in ticket.depends_on],
    }
    refs = {"project": f"{id}/project"}
    if role.hire is None:
        body["agent"] = role.agent or ""
    else:
        refs["agent"] = _hire(id, role.key)
    if ticket.parent:
        refs["parent"] = f"{id}/ticket/{ticket.parent}"
    return Action(Act.CREATE_TICKET, f"{id}/ticket/{ticket.key}", body, refs)


def _ordered(tickets: tuple[Ticket, ...]) -> Iterator[Ticket]:
    """Yield tickets so that a parent comes before its parts, else in the order given."""
    left = list(tickets)
    made: set[str | None] = {None}
    while left:
        ready = next(t for t in left if t.parent in made)
        left.remove(ready)
        made.add(ready.key)
        yield ready


def orchestration_pipeline(
    proposal: Orchestration,
    id: str,
    modes: Mapping[NodeType, str],
    agents: Mapping[str, str] | None = None,
) -> Pipeline:
    """Return the pipeline of a proposal: research, discussion, the work, then one synthesis.

    ``modes`` are those that kinds of steps are pinned to, ``agents`` the ids of who was hired, by
    role. Tickets wait for research and discussion, a parent for its parts, synthesis for all.
    """
    who = {r.key: r.agent or (agents or {}).get(r.key, r.key) for r in proposal.roles}
    drift = _DRIFT[proposal.drift]

    def node(
        key: str, title: str, kind: NodeType, role: str, words: str, after: tuple[str, ...]
    ) -> PipelineNode:
        part = _part(proposal, role)
        prompt = f"The goal of the whole: {proposal.goal}\n\n{part}\n\n{words}\n\n{drift}"
        return PipelineNode(key, title, prompt, after, who[role], {PIN: modes[kind]})

    nodes: list[PipelineNode] = []
    first: tuple[str, ...] = ()
    if (research := proposal.research) is not None:
        nodes.append(
            node("research", "Research", NodeType.RESEARCH, research.role, research.prompt, ())
        )
        first = ("research",)
    if (talk := proposal.discussion) is not None:
        nodes += [
            node(f"discuss:{r}", f"Discussion: {r}", NodeType.DISCUSSION, r, talk.prompt, first)
            for r in talk.roles
        ]
        first = tuple(f"discuss:{r}" for r in talk.roles)
    for ticket in proposal.tickets:
        after = tuple(f"ticket:{key}" for key in ticket.after(proposal.tickets))
        nodes.append(
            node(
                f"ticket:{ticket.key}",
                ticket.title,
                NodeType.WORK,
                ticket.role,
                ticket.description,
                after or first,
            )
        )
    done = tuple(f"ticket:{t.key}" for t in proposal.tickets)
    last = proposal.synthesis
    nodes.append(node("synthesis", "Synthesis", NodeType.SYNTHESIS, last.role, last.prompt, done))
    return _pipeline(id, nodes, modes)


def plan_pipeline(plan: Plan, id: str, modes: Mapping[NodeType, str]) -> Pipeline:
    """Return the pipeline of a plan: a step for each node, its role kept, its mode by its type.

    Every plan that `read_plan` takes makes a sound one, so none fails once it is approved (S003-8).
    """
    nodes = [
        PipelineNode(
            node.key,
            node.title,
            f"The goal of the whole: {plan.goal}\n\n{node.description}".strip(),
            node.depends_on,
            node.role,
            {PIN: modes[node.type]},
        )
        for node in plan.nodes
    ]
    return _pipeline(id, nodes, modes)


def _pipeline(id: str, nodes: list[PipelineNode], modes: Mapping[NodeType, str]) -> Pipeline:
    pinned = tuple(dict.fromkeys(modes[kind] for kind in NodeType))
    return Pipeline(id, tuple(nodes), modes[NodeType.WORK], pinned)


def _part(proposal: Orchestration, key: str) -> str:
    """Return what a step is told of whom it is done by."""
    role = next(r for r in proposal.roles if r.key == key)
    if role.hire is None:
        return f"Your part: {role.title}."
    skills = f" You are able to do: {', '.join(role.hire.skills)}." if role.hire.skills else ""
    told = f"\n\n{role.hire.instructions}" if role.hire.instructions else ""
    return f"You are {role.hire.name}. Your part: {role.title}.{skills}{told}"


_DRIFT: Mapping[Drift, str] = {
    Drift.ANNOTATE: "Where the work leads away from this, go on, and say in your result how and "
    "why.",
    Drift.STOP: "Where the work leads away from this, stop and ask the operator before you go on.",
}
