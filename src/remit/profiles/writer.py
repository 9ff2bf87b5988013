"""The writer: profiles and catalogues as TOML that loads back to equal values.

What was meant by a glob when it was read is written out, so a file made here keeps its meaning when
effect classes are added: it then refuses the new ones only if its parent does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from remit.policy.ceiling import Ceiling
from remit.policy.profile import Brief, Profile
from remit.policy.tools import Catalog, Tool
from remit.policy.vocabulary import Announce, Posture, Tier, Unknown, in_order
from remit.profiles.names import DEFAULT_CHILDREN, TOP_MODE

__all__ = ["tool_data", "write_catalog", "write_profile"]

_WRITE = "worktree.write"


def write_profile(profile: Profile) -> str:
    """Return the TOML file of a profile: what it states itself, its parent by name.

    What narrows it besides its parents (an overlay, a child's parent) is no part of its file.
    """
    data: dict[str, Any] = {"name": profile.name}
    if profile.label != profile.name:
        data["label"] = profile.label
    if profile.extends not in (None, TOP_MODE):
        data["extends"] = profile.extends
    if profile.intent:
        data["intent"] = profile.intent
    if not profile.selectable:
        data["selectable"] = False
    if ceiling := _ceiling(profile.own):
        data["ceiling"] = ceiling
    if profile.own_brief is not None:
        data["brief"] = _brief(profile.own_brief)
    if profile.examples:
        data["example"] = [
            {"call": {"tool": e.tool, "args": dict(e.args)}, "verdict": e.verdict.value}
            for e in profile.examples
        ]
    return _toml(data)


def _ceiling(ceiling: Ceiling) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if ceiling.tier is not Tier.EXECUTE:
        data["tier"] = ceiling.tier.value
    if ceiling.posture is Posture.READ_ONLY:
        data["posture"] = ceiling.posture.value
    if refuse := in_order(ceiling.refuse - {_WRITE}):
        data["refuse"] = list(refuse)
    if ceiling.unknown is not Unknown.ASK:
        data["unknown"] = ceiling.unknown.value
    for allowed in ceiling.allow:
        data["allow"] = sorted(allowed)
    if ceiling.deny:
        data["deny"] = sorted(ceiling.deny)
    if ceiling.limit:
        data["limit"] = {
            effect: sorted(patterns)
            for effect in in_order(ceiling.limit)
            for patterns in ceiling.limit[effect]
        }
    return data


def _brief(brief: Brief) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if brief.verbs:
        data["verbs"] = list(brief.verbs)
    if brief.required:
        data["required"] = True
    if brief.noun != "result":
        data["noun"] = brief.noun
    if brief.nudge:
        data["nudge"] = brief.nudge
    if brief.exit:
        data["exit"] = brief.exit
    if brief.exit_to != TOP_MODE:
        data["exit_to"] = brief.exit_to
    if brief.children != DEFAULT_CHILDREN:
        data["children"] = list(brief.children)
    if brief.missed:
        data["missed"] = list(brief.missed)
    if brief.announce is not Announce.EVERY_TURN:
        data["announce"] = brief.announce.value
    if brief.guidance:
        data["guidance"] = brief.guidance
    return data


def write_catalog(catalog: Catalog, comments: Mapping[str, str] | None = None) -> str:
    """Return the TOML file of the tools of one source; raises `ValueError` if there are several.

    ``comments`` are put above the tables of the tools that they are given for.
    """
    sources = {t.source for t in catalog.tools}
    if len(sources) > 1:
        msg = f"a catalogue file has one source, got {sorted(sources)}"
        raise ValueError(msg)
    text = "".join(_toml({"source": source}) for source in sources)
    for tool in catalog.tools:
        said = (comments or {}).get(tool.name, "")
        lines = "".join(f"# {_visible(line)}\n" for line in said.splitlines())
        text += "\n" + lines + _toml({"tools": {tool.name: tool_data(tool)}})
    return text


def tool_data(tool: Tool) -> dict[str, Any]:
    """Return what a file says of a tool, key by key."""
    data: dict[str, Any] = {"tier": tool.tier.value}
    if tool.declared:
        data["effects"] = list(in_order(tool.effects))
    if tool.groups:
        data["groups"] = sorted(tool.groups)
    if tool.classify is not None:
        data["classify"] = tool.classify
    if tool.least:
        data["least"] = sorted(list(in_order(one)) for one in tool.least)
    for key in ("verb", "exit"):
        if getattr(tool, key):
            data[key] = True
    if tool.arguments:
        data["arguments"] = dict(tool.arguments)
    if tool.actions:
        data["actions"] = {name: list(in_order(effects)) for name, effects in tool.actions}
    if tool.learnt is not None:
        kept = {"description": tool.learnt.description, "schema": tool.learnt.schema}
        data |= {"hash": tool.learnt.hash} | {k: v for k, v in kept.items() if v is not None}
    return data


def _visible(text: str) -> str:
    """Return text as a comment may hold it: TOML has no control characters there."""
    return "".join(c if c.isprintable() or c == "\t" else " " for c in text)


def _toml(data: Mapping[str, Any]) -> str:
    import tomli_w

    return tomli_w.dumps(data, multiline_strings=_readable(data))


def _readable(data: Mapping[str, Any]) -> bool:
    """Say whether texts of several lines can be written so: carriage returns would be lost."""
    return not any("\r" in text for text in _texts(data))


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
