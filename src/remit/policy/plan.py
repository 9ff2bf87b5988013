"""Plans: a goal and a graph of nodes, read from the arguments of the verb that submits one.

Nothing is dropped in silence: what cannot be understood is a problem, and all problems are told in
one answer, so that a model mends its plan in one go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from attrs import asdict, field, frozen

from remit.policy.arguments import Reader, kind_of
from remit.policy.digest import digest
from remit.policy.escape import escape, quoted
from remit.policy.graph import knots
from remit.policy.problems import InputError

__all__ = [
    "MAX_NODES",
    "MAX_TEXT",
    "NodeType",
    "Plan",
    "PlanNode",
    "TextPlan",
    "markdown",
    "read_plan",
    "read_text_plan",
    "slug",
]

MAX_NODES = 64
#: Bytes of a plan as Markdown.
MAX_TEXT = 512 * 1024
_MAX_KEY = 64
_MAX_SLUG = 48


class NodeType(StrEnum):
    """What kind of work a node is; what is not known counts as work (design section 8)."""

    RESEARCH = "research"
    WORK = "work"
    DISCUSSION = "discussion"
    SYNTHESIS = "synthesis"


def _texts(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(items)


@frozen
class PlanNode:
    """One piece of work; ``depends_on`` holds keys of nodes that come before it."""

    key: str
    title: str
    description: str = ""
    type: NodeType = NodeType.WORK
    role: str = ""
    depends_on: tuple[str, ...] = field(default=(), converter=_texts)


@frozen
class Plan:
    """A goal and the nodes that reach it, in the order given (S003-7)."""

    goal: str
    nodes: tuple[PlanNode, ...]

    def value(self) -> dict[str, Any]:
        """Return it as JSON takes it; `read_plan` makes an equal plan of that."""
        return {
            "goal": self.goal,
            "nodes": [{**asdict(n), "depends_on": list(n.depends_on)} for n in self.nodes],
        }

    @property
    def digest(self) -> str:
        """SHA-256 over goal and nodes, in hexadecimal."""
        return digest(self.value())


@frozen
class TextPlan:
    """A plan in words: a title and Markdown (S004-1)."""

    title: str
    text: str

    def value(self) -> dict[str, Any]:
        """Return it as JSON takes it; `read_text_plan` makes an equal plan of the two."""
        return {"title": self.title, "text": self.text}

    @property
    def digest(self) -> str:
        """SHA-256 over title and text, in hexadecimal."""
        return digest(self.value())

    @property
    def whole(self) -> str:
        """The text as it is filed: with a heading, if it has none of its own (S004-R4)."""
        text = self.text.rstrip() + "\n"
        if any(line.startswith("#") for line in text.splitlines()):
            return text
        return f"# {' '.join(self.title.split())}\n\n{text}"


def read_text_plan(args: Mapping[str, Any]) -> TextPlan:
    """Read a plan in words from a call's arguments; raise `InputError` with every problem."""
    found = _Reader()
    found.keys(args, ("title", "plan"), "")
    title = found.text(args, "title", "", required=True)
    plan = TextPlan(title, found.text(args, "plan", "", required=True))
    try:
        size = len(plan.whole.encode())
    except UnicodeEncodeError:
        size = 0
        found.add("plan-text", "the plan holds half of a surrogate pair, which is no text", "plan")
    if size > MAX_TEXT:
        found.add("plan-size", f"the plan is longer than {MAX_TEXT // 1024} KiB", "plan")
    if found.problems:
        raise InputError(found.problems)
    return plan


def slug(title: str) -> str:
    """Return a title as part of a file's name: small letters, digits, single dashes (S004-R5)."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in title.lower()).split()
    return "-".join(words)[:_MAX_SLUG].rstrip("-") or "plan"


def read_plan(args: Mapping[str, Any]) -> Plan:
    """Read a plan from a call's arguments; raise `InputError` with every problem that there is."""
    found = _Reader()
    found.keys(args, ("goal", "nodes"), "")
    goal = found.text(args, "goal", "", required=True)
    raw = args.get("nodes")
    nodes: list[PlanNode] = []
    if not isinstance(raw, Sequence) or isinstance(raw, str | bytes):
        found.add("plan-type", f"`nodes` is to be a list, got {kind_of(raw)}", "nodes")
    elif not raw:
        found.add("plan-empty", "a plan needs at least one node", "nodes")
    elif len(raw) > MAX_NODES:
        found.add(
            "plan-nodes",
            f"a plan has at most {MAX_NODES} nodes, got {len(raw)}",
            "nodes",
            "join what belongs together, or plan the first part",
        )
    else:
        nodes = [found.node(one, f"nodes[{i}]") for i, one in enumerate(raw)]
        found.graph(nodes)
    plan = Plan(goal, tuple(nodes))
    if not found.problems and len(markdown(plan).encode()) > MAX_TEXT:
        found.add("plan-size", f"the plan is longer than {MAX_TEXT // 1024} KiB as text", "nodes")
    if found.problems:
        raise InputError(found.problems)
    return plan


class _Reader(Reader):
    """Reads parts of a plan."""

    def __init__(self) -> None:
        super().__init__("plan")

    def node(self, given: object, path: str) -> PlanNode:
        if not isinstance(given, Mapping):
            self.add("plan-type", f"a node is to be an object, got {kind_of(given)}", path)
            return PlanNode("", "")
        self.keys(given, ("key", "title", "description", "type", "role", "depends_on"), path)
        key = self.text(given, "key", path, required=True)
        if len(key) > _MAX_KEY or not key.isprintable():
            self.add(
                "plan-key-text",
                f"a node's key has at most {_MAX_KEY} printable characters, got {quoted(key)}",
                f"{path}.key",
            )
        if "description" not in given:
            self.add("plan-missing", "`description` is missing", f"{path}.description")
        kind = self.text(given, "type", path)
        return PlanNode(
            key,
            self.text(given, "title", path, required=True),
            self.text(given, "description", path),
            NodeType(kind) if kind in list(NodeType) else NodeType.WORK,
            self.text(given, "role", path),
            self.texts(given.get("depends_on"), "depends_on", f"{path}.depends_on"),
        )

    def graph(self, nodes: Sequence[PlanNode]) -> None:
        for knot in knots([(n.key, n.depends_on) for n in nodes], "plan"):
            at = "nodes" if knot.index is None else f"nodes[{knot.index}]"
            last = {"duplicate": ".key", "cycle": ""}.get(knot.what, ".depends_on")
            self.add(f"plan-{knot.what}", knot.message, at + last, knot.hint)


def markdown(plan: Plan, *, id: str = "", revision: int = 0) -> str:
    """Render a plan for people: equal plans, equal bytes; what cannot be seen is escaped."""

    def line(text: str) -> str:
        return escape(" ".join(text.split()))

    head = [f"# {line(plan.goal)}", ""]
    if id:
        head += [f"Plan `{id}`, revision {revision}.", ""]
    parts = ["\n".join(head)]
    for number, node in enumerate(plan.nodes, 1):
        facts = [f"`{line(node.key)}`", node.type.value]
        if node.role:
            facts.append(f"role {line(node.role)}")
        if node.depends_on:
            facts.append("after " + ", ".join(f"`{line(k)}`" for k in node.depends_on))
        body = [f"## {number}. {line(node.title)}", "", ", ".join(facts) + ".", ""]
        if node.description:
            body += [escape(node.description, lines=True), ""]
        parts.append("\n".join(body))
    return "\n".join(parts)
