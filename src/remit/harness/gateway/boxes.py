"""The sandbox that an upstream runs in: that of the mode in force, and of no other.

A server started under one posture is ended when another holds, with all that it left running.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from attrs import define, field

from remit.harness.gateway.judge import Judge
from remit.harness.sandbox.box import Box, box
from remit.harness.session import Frame
from remit.policy.backend import Backend
from remit.policy.ceiling import Ceiling
from remit.policy.confine import confine
from remit.policy.mounts import Mounts
from remit.policy.places import Ground

__all__ = ["Boxes", "Survey"]

#: Looks at the host for a server: its command, and the environment that it will have.
Survey = Callable[[Sequence[str], Mapping[str, str]], Ground]


@define(eq=False)
class Boxes:
    """Makes the box of each life of one upstream, and knows when it no longer fits."""

    judge: Judge
    backend: Backend
    survey: Callable[[Mapping[str, str]], Ground]
    _ceiling: Ceiling | None = field(default=None, init=False)
    _revision: int = field(default=0, init=False)
    _ground: Ground | None = field(default=None, init=False)
    _mounts: Mounts | None = field(default=None, init=False)

    async def make(self, environment: Mapping[str, str]) -> Box:
        """Return the box of the mode in force; raises `RemitError` where there can be none."""
        frame = await self.judge.frame()
        ceiling = frame.projection.compiled.profile.ceiling
        ground = await self.judge.think(lambda: self.survey(environment))
        made = await self.judge.think(lambda: box(ceiling, ground, self.backend, os.getcwd()))
        self._ceiling, self._ground, self._mounts = ceiling, ground, confine(ceiling, ground)
        self._revision = frame.space.revision
        return made

    def stale(self, frame: Frame) -> bool:
        """Say whether the box that was made last is not that of a frame; it says so once."""
        ceiling = frame.projection.compiled.profile.ceiling
        if self._ground is None or ceiling is self._ceiling:
            return False
        if frame.space.revision < self._revision:
            # It was read before the one that the box was made for.
            return False
        before, self._mounts = self._mounts, confine(ceiling, self._ground)
        self._ceiling, self._revision = ceiling, frame.space.revision
        return self._mounts != before
