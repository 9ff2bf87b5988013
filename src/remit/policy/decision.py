"""Decisions: verdict, layer and a cause that can render its text.

A decision is shared by all calls that are alike. The names of tool, mode and effects join only
when the text is wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from attrs import field, frozen

from remit.policy.vocabulary import Dial, Layer, Verdict, in_order

__all__ = ["Cause", "Decision", "Text", "render"]


class Cause(StrEnum):
    """Why a layer decided as it did."""

    PINNED = "pinned"
    UNKNOWN_TOOL = "unknown-tool"
    AMBIGUOUS = "ambiguous-name"
    OTHER_VERB = "other-verb"
    DENIED = "denied"
    TIER = "tier"
    NOT_ADMITTED = "not-admitted"
    UNDECLARED = "undeclared"
    REFUSED = "refused"
    UNREAD = "unread"
    LIMIT = "limit"
    PROTECTED = "protected"
    PLUGIN = "plugin"
    HARMLESS = "harmless"
    EFFECT = "effect"
    SETTING = "setting"
    NO_EFFECTS = "no-effects"
    NOBODY = "nobody-to-ask"
    LOCKED = "locked"
    INPUT = "bad-input"


@frozen(cache_hash=True)
class Decision:
    """What becomes of a call, and why.

    ``detail`` is what the cause is about: effects, a tier, selectors, protected paths, a sentence
    of a plugin. ``dial`` is set where the dial had a say.
    """

    verdict: Verdict
    layer: Layer
    cause: Cause
    detail: tuple[str, ...] = ()
    dial: Dial | None = None
    #: What follows the mode and what follows the tool in the sentence of all calls that are alike.
    _around: tuple[str, str] | None = field(default=None, init=False, eq=False, repr=False)

    def sentence(self, mode: str, tool: str) -> str:
        """Say what became of a call of a tool in a mode, and why, as of the call."""
        between, after = self._around or self._compose()
        return f"{mode}{between}{tool}{after}"

    def _compose(self) -> tuple[str, str]:
        listed = (
            self.detail
            if self.cause in (Cause.PLUGIN, Cause.INPUT)
            else tuple(f"`{d}`" for d in in_order(self.detail))
        )
        because = _BECAUSE[self.cause].format(detail=", ".join(listed))
        dial = f" (dial `{self.dial}`)" if self.dial else ""
        around = f" mode {_BECAME[self.verdict]} `", f"`: {because}{dial}"
        object.__setattr__(self, "_around", around)
        return around


@frozen
class Text:
    """A decision in words: one sentence, and what can be done."""

    reason: str
    hint: str = ""


_BECAME: Mapping[Verdict, str] = MappingProxyType(
    {Verdict.ALLOW: "allowed", Verdict.ASK: "asks before", Verdict.DENY: "refused"}
)

#: One sentence a cause, after the words that say what became of the call. `{detail}` is what the
#: cause is about, in backticks.
_BECAUSE: Mapping[Cause, str] = MappingProxyType(
    {
        Cause.PINNED: "it is one of the mode's own verbs",
        Cause.UNKNOWN_TOOL: "no tool of that name was known",
        Cause.AMBIGUOUS: "the name was borne by {detail}",
        Cause.OTHER_VERB: "the verb was not one of this mode's",
        Cause.DENIED: "the mode denied {detail}",
        Cause.TIER: "it needed tier {detail}",
        Cause.NOT_ADMITTED: "the mode's allow-list did not name it",
        Cause.UNDECLARED: "nobody had declared what it does",
        Cause.REFUSED: "it would have {detail}",
        Cause.UNREAD: "it would have run what could not be read",
        Cause.LIMIT: "its {detail} was not within the mode's limit",
        Cause.PROTECTED: "it would have touched the protected {detail}",
        Cause.PLUGIN: "{detail}",
        Cause.HARMLESS: "it has no world-changing effect",
        Cause.EFFECT: "it has {detail}",
        Cause.SETTING: "the operator set {detail} for this space",
        Cause.NO_EFFECTS: "it can write, yet no effect of it is declared",
        Cause.NOBODY: "it needed an approval and nobody could be asked",
        Cause.LOCKED: "the operator had locked this space",
        Cause.INPUT: "{detail}",
    }
)

_HINTS: Mapping[Cause, str] = MappingProxyType(
    {
        Cause.AMBIGUOUS: "call it by source and name",
        Cause.UNDECLARED: "an operator can declare it in a catalogue",
        Cause.NO_EFFECTS: "an operator can declare its effects in a catalogue",
        Cause.NOBODY: "an operator can approve, or allow the effect in this space",
        Cause.LOCKED: "an operator can unlock it; `ask_user` reaches one",
        Cause.PROTECTED: "protected paths are changed by the operator alone",
    }
)


def render(
    decision: Decision,
    mode: str,
    tool: str,
    *,
    way_out: str = "",
    known: str = "",
    unusable: str = "",
) -> Text:
    """Put a decision into words, as of the call.

    ``way_out`` is the hint that a refusal gets where its cause has none: how the mode delivers, not
    how to leave it (S001-11). ``known`` names near misses of an unknown tool. ``unusable`` says why
    the mode admits nothing: that comes first, since no other cause can be mended before it.
    """
    hint = known if decision.cause is Cause.UNKNOWN_TOOL else _HINTS.get(decision.cause, "")
    if decision.verdict is Verdict.ALLOW:
        hint = ""
    elif decision.verdict is Verdict.DENY:
        hint = hint or way_out
    said = decision.sentence(mode, tool)
    if unusable and decision.verdict is Verdict.DENY:
        closed = decision.cause is Cause.NOT_ADMITTED
        said = f"{unusable}; so `{tool}` was refused" if closed else f"{unusable}; and {said}"
        hint = "an operator can mend it; `mode` tells what is there"
    return Text(said, hint)
