"""Staging: every stage meets its permission, once all profiles are known.

A stage narrows its mode: it has the mode's sides and its permission's, and for a brief the one verb
that finishes a stage.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import evolve

from remit.policy.problems import Severity
from remit.policy.profile import Brief, Profile
from remit.policy.tools import NATIVE
from remit.policy.workflow import Workflow
from remit.profiles.document import Document, Findings
from remit.profiles.inheritance import mode_hint
from remit.profiles.names import DEFAULT_CHILDREN, TOP_MODE
from remit.profiles.structure import quoted

__all__ = ["COMPLETE_STAGE", "stage_profiles"]

#: The verb by which the model finishes a stage.
COMPLETE_STAGE = f"{NATIVE}:complete_stage"


def stage_profiles(
    mode: Profile,
    workflow: Workflow,
    document: Document,
    profiles: Mapping[str, Profile],
    names: Collection[str],
) -> tuple[dict[str, Profile], Findings]:
    """Return the profile of each stage of a mode, and what is wrong with their permissions.

    ``profiles`` are those that can be used, ``names`` all that there are.
    """
    found = Findings(document)
    if workflow.return_to not in names:
        # A mode may be deleted while its run is open, so this cannot be more than a warning.
        message = f"unknown mode `{quoted(workflow.return_to)}`"
        hint = mode_hint(workflow.return_to, names)
        found.report("unknown-mode", message, ("returnTo",), hint, Severity.WARNING)
    made: dict[str, Profile] = {}
    for id, stage in workflow.stages.items():
        narrowed = mode
        if stage.permission:
            held = profiles.get(stage.permission)
            at = ("stages", id, "permission")
            if held is None:
                known = stage.permission in names
                what = "is unavailable" if known else "is unknown"
                message = f"its permission `{quoted(stage.permission)}` {what}"
                hint = "" if known else mode_hint(stage.permission, names)
                code = "broken-parent" if known else "unknown-parent"
                found.report(code, message, at, hint)
                continue
            narrowed = mode.under(*(s for s in held.sides if s not in mode.sides))
            _check_wider(mode, held, narrowed, id, found)
        brief = Brief((COMPLETE_STAGE,), exit_to=TOP_MODE, children=DEFAULT_CHILDREN)
        made[id] = evolve(narrowed, own_brief=brief, brief=brief)
    return made, found


def _check_wider(mode: Profile, held: Profile, both: Profile, id: str, found: Findings) -> None:
    """Report a stage's permission that would allow more than its mode does."""
    # What every mode in Markdown denies is no fact of the permission that it names.
    outer = mode.sides[:-1]
    ceiling = Profile("", sides=outer).ceiling
    if held.ceiling.narrower_or_equal(ceiling):
        return
    at = ("stages", id, "permission")
    if ceiling.narrower_or_equal(held.ceiling):
        message = f"`{held.name}` is wider than the mode's own permission `{outer[-1].name}`"
        hint = "a stage only narrows its mode: give the mode the wider one, and its stages theirs"
        found.report("widens-parent", message, at, hint)
    else:
        message = f"`{held.name}` allows some of what the mode's `{outer[-1].name}` does not"
        hint = "the stage has what both allow"
        found.report("widens-parent", message, at, hint, Severity.WARNING)
