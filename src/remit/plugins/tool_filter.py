"""The tool filter: which tools exist, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from remit.plugins.hookspecs import hookimpl
from remit.policy.compile import Compiled
from remit.policy.decision import Decision
from remit.policy.projection import Host

__all__ = ["ToolFilter"]


@frozen
class ToolFilter:
    """What a host lists; a name outside ``shown`` is refused even if it is called."""

    compiled: Compiled

    @property
    def shown(self) -> tuple[str, ...]:
        """Keys of the visible and pinned tools, in catalogue order."""
        return tuple(t.key for t in self.compiled.surface)

    @property
    def hidden(self) -> Mapping[str, Decision]:
        """Keys of the hidden tools with the decision that hides each."""
        return {t.key: decision for t, decision in self.compiled.hidden}


@hookimpl
def project_layer(compiled: Compiled, host: Host) -> ToolFilter:
    """Shape the rows for whoever lists tools."""
    return ToolFilter(compiled)
