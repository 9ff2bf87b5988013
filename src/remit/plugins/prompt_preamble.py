"""The prompt preamble: what the model is told, generated from the surface it really has (S003-25).

Equal inputs give equal bytes, because prompt caches depend on it. The absence of policy has no
text at all (S002-10).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from remit.plugins.hookspecs import hookimpl
from remit.policy.compile import Compiled
from remit.policy.placeholders import fill
from remit.policy.profile import ASK_USER, NOTHING_TO_DELIVER, Brief, shown
from remit.policy.projection import Host
from remit.policy.tools import Tool
from remit.policy.vocabulary import Verdict, in_order

__all__: list[str] = []

#: Past so many tools a list of names would crowd out the task; groups are counted instead.
_NAMES = 400
_SET = {Verdict.ALLOW: "is allowed", Verdict.ASK: "asks first", Verdict.DENY: "is refused"}
#: What it means for a model that a host does not enforce a layer, by the field's word for it.
_ADVISORY: Mapping[str, str] = MappingProxyType(
    {
        "tool filter": "tools that are not listed here may still be offered",
        "approval gate": "no call waits for an approval",
        "action guard": "no call is checked for what it does",
        "sandbox mounts": "no sandbox holds the programs that tools start",
        "contract": "nobody looks whether something was delivered",
    }
)


@hookimpl
def project_layer(compiled: Compiled, host: Host) -> str:
    """Write the text that a host puts before the conversation."""
    profile = compiled.profile
    if profile.silent:
        return ""
    parts = [
        "\n".join([f"# Mode: {profile.label or profile.name}", profile.intent]).rstrip(),
        "\n".join(_tools(compiled)),
        "\n".join(_limits(compiled, host)),
        fill(profile.brief.guidance, profile, compiled.catalog.called).strip()
        if profile.brief
        else "",
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def _tools(compiled: Compiled) -> Iterator[str]:
    surface = compiled.surface
    yield f"The tools that are there, {len(surface)} in all, and no others:"
    groups: dict[str, list[Tool]] = {}
    for tool in surface:
        groups.setdefault(min(tool.groups, default=tool.source), []).append(tool)
    for group in sorted(groups):
        tools = groups[group]
        names = ", ".join(f"`{compiled.catalog.called(t.key)}`" for t in tools)
        yield f"- {group} ({len(tools)})" + (f": {names}" if len(surface) <= _NAMES else "")


def _limits(compiled: Compiled, host: Host) -> Iterator[str]:
    brief, ceiling = compiled.profile.brief, compiled.profile.ceiling
    if ceiling.refuse:
        yield f"Refused here, by whatever tool: {', '.join(in_order(ceiling.refuse))}."
    for effect in in_order(ceiling.limit):
        lists = sorted(", ".join(sorted(one)) for one in ceiling.limit[effect])
        yield f"{effect} only on: {' and on '.join(lists)}."
    if told := sorted(_settings(compiled)):
        yield f"The operator's settings here, over the dial: {'; '.join(told)}."
    if brief is not None:
        yield from _brief(compiled, brief)
    if compiled.admits(ASK_USER):
        yield f"To ask the user a question, call `{shown(ASK_USER)}`."
    if host.advisory:
        missing = "; ".join(f"{layer} ({_ADVISORY[layer]})" for layer in host.advisory)
        yield f"Not all of this is enforced here, so keep to it by yourself: {missing}."


def _settings(compiled: Compiled) -> Iterator[str]:
    """What an operator set for an effect in this space; of what is refused anyway nothing."""
    for setting in compiled.settings:
        if setting.effect not in compiled.profile.ceiling.refuse:
            where = f" on {setting.target}" if setting.target is not None else ""
            yield f"{setting.effect}{where} {_SET[setting.verdict]}"


def _brief(compiled: Compiled, brief: Brief) -> Iterator[str]:
    called = compiled.catalog.called
    known = {t.name for t in compiled.catalog.tools}
    missed = [m for m in brief.missed if m in known and not compiled.admits(m)]
    if missed:
        yield f"Not available in this mode: {', '.join(f'`{m}`' for m in missed)}."
    verbs = " or ".join(f"`{called(v)}`" for v in brief.verbs)
    if brief.required:
        yield (
            f"The {brief.noun} exists only once {verbs} has succeeded; prose delivers nothing. "
            f"If no {brief.noun} is needed, say so with `{shown(NOTHING_TO_DELIVER)}`."
        )
    elif verbs:
        yield f"Deliver a {brief.noun} with {verbs}."
    if brief.exit:
        yield (
            f"To leave this mode, call `{called(brief.exit)}`: it asks the operator, and nothing "
            "changes until they approve. It delivers nothing."
        )
