"""The approval gate: which calls ask first, under each dial."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from remit.plugins.hookspecs import hookimpl
from remit.policy.compile import Compiled
from remit.policy.decision import Decision
from remit.policy.projection import Host
from remit.policy.vocabulary import Dial

__all__ = ["ApprovalGate"]


@frozen
class ApprovalGate:
    """What is known of each tool before a call is seen; a classifier may find less or more."""

    compiled: Compiled

    def under(self, dial: Dial) -> Mapping[str, Decision]:
        """Keys of the tools in the surface with their decision under a dial."""
        decide = self.compiled.decide
        return {t.key: decide(t.key, dial) for t in self.compiled.surface}


@hookimpl
def project_layer(compiled: Compiled, host: Host) -> ApprovalGate:
    """Shape the rows for whoever asks before a call."""
    return ApprovalGate(compiled)
