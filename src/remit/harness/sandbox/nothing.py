"""The backend `none`: the command runs as it is; every mount is advisory, and told so."""

from __future__ import annotations

from collections.abc import Mapping

from remit.policy.backend import Backend, Found, Launch
from remit.policy.mounts import Advisory, Mounts

__all__ = ["NONE"]


def _launch(
    mounts: Mounts, command: tuple[str, ...], cwd: str, environment: Mapping[str, str]
) -> Launch:
    own = {n: v for n, v in environment.items() if not n.startswith("REMIT_")}
    return Launch(command, own, shown=command)


def _lacks(mounts: Mounts) -> tuple[Advisory, ...]:
    return (Advisory("sandbox mounts", "no sandbox holds them: backend `none` was asked for"),)


NONE = Backend("none", _launch, _lacks, lambda: Found(True), rank=1000, chosen=False, holds=False)
