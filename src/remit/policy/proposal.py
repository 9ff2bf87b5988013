"""Proposals of orchestrations, read from a call: every problem in one answer, near misses named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from remit.policy.arguments import Reader, kind_of
from remit.policy.digest import canonical
from remit.policy.escape import quoted
from remit.policy.graph import Knot, knots
from remit.policy.orchestration import (
    MAX_ROLES,
    MAX_TICKETS,
    Discussion,
    Drift,
    Hire,
    Orchestration,
    OrchestrationBudget,
    OrchestrationRole,
    RoleTask,
    Ticket,
)
from remit.policy.problems import InputError, near

__all__ = ["KEYS", "MAX_BYTES", "read_orchestration"]

#: The keys of a proposal; `revises` names an earlier one.
KEYS = ("goal", "roles", "tickets", "synthesis", "budget", "research", "discussion", "drift",
        "revises")  # fmt: skip
#: Bytes of a proposal as JSON.
MAX_BYTES = 512 * 1024
#: What a step of a pipeline may be called, without what says of which kind it is.
_MAX_KEY = 48
_MOST = 1_000_000


def read_orchestration(args: Mapping[str, Any]) -> tuple[Orchestration, str | None]:
    """Read a proposal and the id of the one that it revises; raise `InputError` with all problems.

    What would fail once an operator has approved it is a problem here: a budget below the steps
    that there are, a role that nobody has.
    """
    found = _Reader()
    found.keys(args, KEYS, "")
    goal = found.text(args, "goal", "", required=True)
    roles = [found.role(one, at) for one, at in found.items(args, "roles", MAX_ROLES)]
    tickets = [found.ticket(one, at) for one, at in found.items(args, "tickets", MAX_TICKETS)]
    made = Orchestration(
        goal,
        tuple(roles),
        tuple(tickets),
        found.task(args.get("synthesis"), "synthesis"),
        found.budget(args.get("budget")),
        found.task(args["research"], "research") if args.get("research") is not None else None,
        found.discussion(args.get("discussion")),
        found.drift(args),
    )
    found.named(made)
    found.tree(tickets)
    revises = found.text(args, "revises", "") or None
    if len(canonical(made.value())) > MAX_BYTES:
        found.add("proposal-size", f"the proposal is longer than {MAX_BYTES // 1024} KiB", "")
    if 0 < made.budget.steps < made.steps:
        message = f"the proposal has {made.steps} steps, its budget {made.budget.steps}"
        found.add(
            "proposal-budget", message, "budget.steps", "each step is one attempt at the least"
        )
    if found.problems:
        raise InputError(found.problems)
    return made, revises


class _Reader(Reader):
    """Reads parts of a proposal."""

    def __init__(self) -> None:
        super().__init__("proposal")

    def items(
        self, args: Mapping[str, Any], name: str, most: int
    ) -> Iterable[tuple[Mapping[str, Any] | None, str]]:
        """Yield the objects of a list of 1 to ``most``, None for what is none, with paths."""
        raw = args.get(name)
        if not isinstance(raw, Sequence) or isinstance(raw, str | bytes):
            self.add("proposal-type", f"`{name}` is to be a list, got {kind_of(raw)}", name)
        elif not 1 <= len(raw) <= most:
            message = f"a proposal has 1 to {most} {name}, got {len(raw)}"
            self.add(f"proposal-{name}", message, name, "join what belongs together" if raw else "")
        else:
            for i, one in enumerate(raw):
                yield self.table(one, f"{name}[{i}]"), f"{name}[{i}]"

    def table(self, given: object, path: str) -> Mapping[str, Any] | None:
        if isinstance(given, Mapping):
            return given
        self.add("proposal-type", f"`{path}` is to be an object, got {kind_of(given)}", path)
        return None

    def key(self, given: Mapping[str, Any], path: str) -> str:
        key = self.text(given, "key", path, required=True)
        if len(key) > _MAX_KEY or not key.isprintable():
            message = f"a key has at most {_MAX_KEY} printable characters, got {quoted(key)}"
            self.add("proposal-key-text", message, f"{path}.key")
        return key

    def role(self, given: Mapping[str, Any] | None, path: str) -> OrchestrationRole:
        if given is None:
            return OrchestrationRole("", "")
        self.keys(given, ("key", "title", "agent", "hire"), path)
        agent, raw = self.text(given, "agent", path) or None, given.get("hire")
        hire = None
        if raw is not None:
            at = f"{path}.hire"
            if (spec := self.table(raw, at)) is not None:
                self.keys(spec, ("name", "skills", "instructions"), at)
                skills = spec.get("skills")
                hire = Hire(
                    self.text(spec, "name", at, required=True),
                    self.texts(skills, "skills", f"{at}.skills", each="a skill", what="texts"),
                    self.text(spec, "instructions", at),
                )
        if (agent is None) is (raw is None):
            message = "a role has `agent` or `hire`, and not both"
            self.add(
                "proposal-agent", message, path, "name an agent that is there, or say whom to hire"
            )
        title = self.text(given, "title", path, required=True)
        return OrchestrationRole(self.key(given, path), title, agent, hire)

    def ticket(self, given: Mapping[str, Any] | None, path: str) -> Ticket:
        if given is None:
            return Ticket("", "", "", "")
        known = ("key", "title", "description", "role", "parent", "depends_on")
        self.keys(given, known, path)
        return Ticket(
            self.key(given, path),
            self.text(given, "title", path, required=True),
            self.text(given, "description", path, required=True),
            self.text(given, "role", path, required=True),
            self.text(given, "parent", path) or None,
            self.texts(given.get("depends_on"), "depends_on", f"{path}.depends_on"),
        )

    def task(self, given: object, path: str) -> RoleTask:
        if (spec := self.table(given, path)) is None:
            return RoleTask("", "")
        self.keys(spec, ("role", "prompt"), path)
        return RoleTask(
            self.text(spec, "role", path, required=True),
            self.text(spec, "prompt", path, required=True),
        )

    def discussion(self, given: object) -> Discussion | None:
        if given is None or (spec := self.table(given, "discussion")) is None:
            return None
        self.keys(spec, ("roles", "prompt"), "discussion")
        roles = self.texts(spec.get("roles"), "roles", "discussion.roles")
        if spec.get("roles") in (None, []):
            self.add("proposal-missing", "`roles` is missing or empty", "discussion.roles")
        return Discussion(roles, self.text(spec, "prompt", "discussion", required=True))

    def budget(self, given: object) -> OrchestrationBudget:
        if (spec := self.table(given, "budget")) is None:
            return OrchestrationBudget(0)
        self.keys(spec, ("steps", "minutes"), "budget")
        for name in ("steps", "minutes"):
            value = spec.get(name)
            if value is None and name == "minutes":
                continue
            if type(value) is not int or not 1 <= value <= _MOST:
                message = f"`{name}` is to be a whole number from 1 to {_MOST}"
                self.add("proposal-budget", message, f"budget.{name}")
        steps, minutes = spec.get("steps"), spec.get("minutes")
        return OrchestrationBudget(
            steps if type(steps) is int else 0, minutes if type(minutes) is int else None
        )

    def drift(self, args: Mapping[str, Any]) -> Drift:
        said, known = args.get("drift", Drift.ANNOTATE.value), [d.value for d in Drift]
        if said in known:
            return Drift(said)
        hint = near(str(said), known) if isinstance(said, str) else ""
        self.add("proposal-drift", f"`drift` is to be {' or '.join(known)}", "drift", hint)
        return Drift.STOP

    def named(self, made: Orchestration) -> None:
        """Note each role that is named and not there."""
        self.knots(knots([(r.key, ()) for r in made.roles], "proposal", "role"), "roles")
        keys = [r.key for r in made.roles]
        uses = [(f"tickets[{i}].role", t.role) for i, t in enumerate(made.tickets)]
        uses.append(("synthesis.role", made.synthesis.role))
        if made.research:
            uses.append(("research.role", made.research.role))
        if made.discussion:
            uses += [(f"discussion.roles[{i}]", r) for i, r in enumerate(made.discussion.roles)]
        for path, role in uses:
            if role and role not in keys:
                hint = near(role, keys) or f"there are {', '.join(filter(None, keys)) or 'none'}"
                self.add("proposal-role", f"{quoted(role)} is no role's key", path, hint)

    def tree(self, tickets: Sequence[Ticket]) -> None:
        """Note what keeps tickets from being done one after another, the parents last."""
        before = len(self.problems)
        waits = [(t.key, t.depends_on) for t in tickets]
        self.knots(knots(waits, "proposal", "ticket"), "tickets", "depends_on")
        keys = [t.key for t in tickets]
        for i, ticket in enumerate(tickets):
            if ticket.parent is not None and ticket.parent not in keys:
                hint = near(ticket.parent, keys)
                message = f"{quoted(ticket.parent)} is no ticket's key"
                self.add("proposal-parent", message, f"tickets[{i}].parent", hint)
            elif ticket.parent == ticket.key:
                message = f"{quoted(ticket.key)} is its own parent"
                self.add("proposal-parent", message, f"tickets[{i}].parent")
        if len(self.problems) == before:
            self.knots(knots([(t.key, t.after(tickets)) for t in tickets], "proposal", "ticket"),
                       "tickets")  # fmt: skip

    def knots(self, found: Iterable[Knot], name: str, last: str = "") -> None:
        for knot in found:
            at = name if knot.index is None else f"{name}[{knot.index}]"
            end = {"duplicate": ".key", "cycle": ""}.get(knot.what, f".{last}[{knot.nth}]")
            self.add(f"proposal-{knot.what}", knot.message, at + end, knot.hint)
