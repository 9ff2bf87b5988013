"""Projections: what each enforcing layer gets from one profile and one catalogue.

A projection holds compiled rows, what each layer made of them, and the classifiers and guards that
look at a call. The functions were collected when plugins were registered; judging a call runs no
hook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from attrs import field, frozen

from remit.policy.compile import Compiled
from remit.policy.decision import Cause, Decision, Text, render
from remit.policy.guard import as_called
from remit.policy.places import Ground
from remit.policy.problems import near
from remit.policy.profile import shown
from remit.policy.tools import Call, CallEffects, Facts, Tool
from remit.policy.vocabulary import Dial, Layer, Verdict

__all__ = ["Classifier", "Guard", "Host", "Judgement", "Projection"]

#: Computes what one call does. Pure; what it raises is a refusal that names it.
Classifier = Callable[[Call, Tool, Facts], CallEffects]
#: Returns why a call is refused, or None. It can only add a refusal.
Guard = Callable[[Call, Tool, CallEffects, Facts], str | None]


@frozen
class Host:
    """What a host enforces; each thing that it does not is advisory there, and told so."""

    name: str
    hides_tools: bool = True
    gates_calls: bool = True
    observes_contract: bool = True
    #: The sandbox backend that holds the mounts, None where nothing does.
    sandbox: str | None = None
    worktree: str | None = None
    #: Native verbs that it serves in every mode besides those of the brief, by key.
    offers: tuple[str, ...] = ()
    #: Paths that no tool may change (design section 6), absolute; each protects all below it.
    protected: tuple[str, ...] = ()
    #: Those of them that no tool may even read: the operator token, the database.
    secret: tuple[str, ...] = ()
    #: What a sandbox stands on, where the host has surveyed it.
    ground: Ground | None = None

    @property
    def advisory(self) -> tuple[str, ...]:
        """The layers that this host cannot enforce, in the field's own words."""
        held = {
            "tool filter": self.hides_tools,
            "approval gate": self.gates_calls,
            "action guard": self.gates_calls,
            "sandbox mounts": self.sandbox is not None,
            "contract": self.observes_contract,
        }
        return tuple(layer for layer, holds in held.items() if not holds)


@frozen
class Judgement:
    """A call that was judged: the tool if one bears that name, what it does, the decision."""

    call: Call
    tool: Tool | None
    found: CallEffects
    decision: Decision


def _fixed(layers: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(layers))


@frozen
class Projection:
    """One profile over one catalogue, for one host.

    ``layers`` maps a layer's name to what its plugin made: ``tool_filter``, ``approval_gate``,
    ``action_guard``, ``sandbox_mounts``, ``prompt_preamble``, and the dotted names of others.
    """

    compiled: Compiled
    host: Host
    layers: Mapping[str, Any] = field(factory=dict, converter=_fixed)
    classifiers: Mapping[str, Classifier] = field(factory=dict, repr=False)
    guards: Mapping[str, Guard] = field(factory=dict, repr=False)

    @property
    def mode(self) -> str:
        """The name of the profile."""
        return self.compiled.profile.name

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model is shown."""
        return self.compiled.surface

    @property
    def hidden(self) -> tuple[tuple[Tool, Decision], ...]:
        """The tools that it is not shown, each with the decision that hides it."""
        return self.compiled.hidden

    @property
    def gate(self) -> Any:
        """What the approval gate gets."""
        return self.layers["approval_gate"]

    @property
    def guard(self) -> Any:
        """What the action guard gets."""
        return self.layers["action_guard"]

    @property
    def mounts(self) -> Any:
        """What the sandbox gets."""
        return self.layers["sandbox_mounts"]

    @property
    def preamble(self) -> str:
        """The text that the model is told; empty for the absence of policy (S002-10)."""
        return str(self.layers["prompt_preamble"])

    @property
    def contract(self) -> str | None:
        """The id of what a run must deliver, None where nothing is owed."""
        brief = self.compiled.profile.brief
        return brief.contract if brief else None

    @property
    def hash(self) -> str:
        """SHA-256 over profile, catalogue and settings."""
        return self.compiled.hash

    def judge(
        self,
        call: Call,
        dial: Dial = Dial.ASK,
        facts: Facts | None = None,
        seen: CallEffects | None = None,
    ) -> Judgement:
        """Judge a call. ``seen`` is what the host itself saw of it, added to what is declared."""
        compiled = self.compiled
        tool = compiled.catalog.get(call.tool)
        decision = compiled.decide(call.tool, dial)
        if tool is None or decision.layer in (Layer.PIN, Layer.FILTER):
            return Judgement(call, tool, CallEffects(tool.effects if tool else ()), decision)
        facts = facts or Facts()
        shape = compiled.catalog.shape(tool)
        classify = self.classifiers.get(shape.classify or "")
        found = seen or CallEffects()
        if classify is not None:
            try:
                found |= classify(call, tool, facts)
            except Exception as error:
                return self._failed(call, tool, f"classifier `{tool.classify}`", error)
        elif shape.classify is not None:
            found |= CallEffects(shape.effects, opaque=True)
        found = as_called(shape, found)
        if seen is not None or classify is not None:
            decision = compiled.decide(call.tool, dial, found)
        if decision.layer is not Layer.GUARD:
            said = next(self.objections(call, tool, found, facts), None)
            if said is not None:
                decision = Decision(Verdict.DENY, Layer.GUARD, Cause.PLUGIN, said[1:])
        return Judgement(call, tool, found, decision)

    def objections(
        self, call: Call, tool: Tool, found: CallEffects, facts: Facts
    ) -> Iterator[tuple[str, str]]:
        """Yield each guard that refuses a call, by name, with what it says; failing is refusing."""
        for name, guard in self.guards.items():
            try:
                refusal = guard(call, tool, found, facts)
            except Exception as error:
                yield name, _failure(f"guard `{name}`", error)
            else:
                if refusal is not None:
                    yield name, f"guard `{name}` says: {refusal}"

    def _failed(self, call: Call, tool: Tool, what: str, error: Exception) -> Judgement:
        said = _failure(what, error)
        decision = Decision(Verdict.DENY, Layer.GUARD, Cause.PLUGIN, (said,))
        return Judgement(call, tool, CallEffects(tool.effects, opaque=True), decision)

    def text(self, judgement: Judgement) -> Text:
        """Put a judgement into words, as of the call."""
        name = judgement.call.tool
        known = ""
        if judgement.decision.cause is Cause.UNKNOWN_TOOL:
            known = near(name, (t.name for t in self.tools)) or self.way_out
        return render(
            judgement.decision,
            self.mode,
            shown(name),
            way_out=self.way_out,
            known=known,
            unusable=self.compiled.profile.unusable,
        )

    @property
    def way_out(self) -> str:
        """How the mode delivers, as the hint of a refusal; it names no switch (S001-11)."""
        brief = self.compiled.profile.brief
        called = self.compiled.catalog.called
        verbs = " or ".join(f"`{called(v)}`" for v in brief.verbs) if brief else ""
        deliver = f"this mode delivers its {brief.noun} by {verbs}; " if brief and verbs else ""
        return f"{deliver}`mode` tells what is there"


def _failure(what: str, error: Exception) -> str:
    return f"{what} failed with {type(error).__name__}: {error}"
