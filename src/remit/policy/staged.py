"""Staged modes as runs keep them: what was declared when a run started, whole and for good."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from remit.policy.profile import Profile
from remit.policy.workflow import Workflow

__all__ = ["StagedMode"]


@frozen
class StagedMode:
    """A staged mode: its own profile, its workflow, and the profile of each stage.

    ``keeps_dial`` says that turns which a host starts by itself have the space's own dial; in other
    modes they have at most ``accept-edits`` (S000-84, S000-85).
    """

    profile: Profile
    workflow: Workflow
    stages: Mapping[str, Profile] = field(repr=False)
    keeps_dial: bool = False
