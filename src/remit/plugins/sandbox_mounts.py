"""The sandbox mounts: the same posture, for the operating system to hold."""

from __future__ import annotations

from attrs import frozen

from remit.plugins.hookspecs import hookimpl
from remit.policy.compile import Compiled
from remit.policy.projection import Host
from remit.policy.vocabulary import Posture

__all__ = ["Mounts"]


@frozen
class Mounts:
    """What a sandbox mounts; stricter than the guard where it cannot say the same, never looser.

    A limit on writes cannot be said by one mount, so a limited worktree is read-only here.
    """

    worktree: str | None
    posture: Posture
    network: bool
    protected: tuple[str, ...]


@hookimpl
def project_layer(compiled: Compiled, host: Host) -> Mounts:
    """Shape the ceiling for whoever starts processes."""
    ceiling = compiled.profile.ceiling
    limited = "worktree.write" in ceiling.limit
    return Mounts(
        worktree=host.worktree,
        posture=Posture.READ_ONLY if limited else ceiling.posture,
        network=not ({"network.egress"} & (ceiling.refuse | ceiling.limit.keys())),
        protected=host.protected,
    )
