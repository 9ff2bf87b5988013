"""The sandbox mounts: the same posture, for the operating system to hold."""

from __future__ import annotations

from remit.plugins.hookspecs import hookimpl
from remit.policy.compile import Compiled
from remit.policy.confine import confine
from remit.policy.mounts import Mounts
from remit.policy.places import Ground
from remit.policy.projection import Host

__all__: list[str] = []


@hookimpl
def project_layer(compiled: Compiled, host: Host) -> Mounts:
    """Shape the ceiling for whoever starts processes."""
    ground = host.ground or Ground(
        worktree=host.worktree, control=host.secret, protected=host.protected
    )
    return confine(compiled.profile.ceiling, ground)
