"""Boxes: a backend and mounts that fit, ready to start commands in.

A backend is chosen by rank among those that work here, unless the operator names one. Nothing is
silently less: where none works there is no box, and what one does not hold is in its `advisory`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from attrs import frozen

from remit.harness.sandbox.bubblewrap import BUBBLEWRAP
from remit.harness.sandbox.landlock import LANDLOCK
from remit.harness.sandbox.nothing import NONE
from remit.harness.sandbox.seatbelt import SEATBELT
from remit.harness.sandbox.survey import places
from remit.policy.backend import Backend, Launch
from remit.policy.ceiling import Ceiling
from remit.policy.confine import confine
from remit.policy.mounts import Access, Advisory, Mounts
from remit.policy.places import Ground
from remit.policy.problems import InputError, Problem, RemitError, near

__all__ = ["AUTO", "BUILT_IN", "Box", "SandboxError", "backends", "box", "choose"]

AUTO = "auto"
BUILT_IN = (BUBBLEWRAP, LANDLOCK, SEATBELT, NONE)


class SandboxError(RemitError):
    """No sandbox can be had as asked, or a command cannot be started in it."""

    of_machine = True


@frozen
class Box:
    """A backend, settled mounts and the folder that commands start in."""

    backend: Backend
    mounts: Mounts
    cwd: str

    @property
    def advisory(self) -> tuple[Advisory, ...]:
        """All that is asked for and not held, by the mounts and by the backend."""
        return (*self.mounts.advisory, *self.backend.lacks(self.mounts))

    @property
    def holds(self) -> bool:
        """Does the operating system hold the mounts."""
        return self.backend.holds

    def launch(self, command: tuple[str, ...], environment: Mapping[str, str]) -> Launch:
        """Return how a command is started in it."""
        return self.backend.launch(self.mounts, command, self.cwd, environment)


def backends(further: Iterable[Backend] = ()) -> tuple[Backend, ...]:
    """Return all backends in the order of choice; names of the built-in ones are not to be had."""
    known: dict[str, Backend] = {}
    for backend in (*BUILT_IN, *further):
        known.setdefault(backend.name, backend)
    return tuple(sorted(known.values(), key=lambda b: (b.rank, b.name)))


def choose(name: str = AUTO, further: Iterable[Backend] = ()) -> Backend:
    """Return the backend of a name, or the first that works; raises `SandboxError` with the cure.

    ``further`` are backends of plugins; they cannot take the name of one of ours.
    """
    known = {backend.name: backend for backend in backends(further)}
    if name != AUTO:
        named = known.get(name)
        if named is None:
            hint = near(name, known) or f"known: {', '.join(f'`{k}`' for k in sorted(known))}"
            raise InputError(Problem("sandbox-unknown", f"no sandbox is called `{name}`", hint))
        found = named.probe()
        if not found.works:
            raise SandboxError(
                Problem(
                    "sandbox-missing",
                    f"sandbox `{name}` does not work here: {found.why}",
                    found.hint,
                )
            )
        return named
    failed = []
    for backend in known.values():
        if backend.chosen:
            found = backend.probe()
            if found.works:
                return backend
            failed.append(
                Problem(
                    "sandbox-missing",
                    f"sandbox `{backend.name}` does not work here: {found.why}",
                    found.hint,
                )
            )
    raise SandboxError(failed)


def box(
    ceiling: Ceiling, ground: Ground, backend: Backend, cwd: str | os.PathLike[str] | None = None
) -> Box:
    """Fit the mounts of a ceiling to this machine; raises `SandboxError` where they cannot be.

    Commands start in ``cwd`` if that can be seen inside, else in the worktree.
    """
    if ground.worktree is not None and not os.path.isdir(ground.worktree):
        raise SandboxError(
            Problem("sandbox-worktree", f"worktree `{ground.worktree}` is not a folder")
        )
    if ground.worktree == "/" or any(p == "/" for p in ground.writable):
        raise SandboxError(
            Problem(
                "sandbox-worktree",
                "the root of the machine cannot be a writable folder of a sandbox",
                "name the folder that is to be written",
            )
        )
    wanted = confine(ceiling, ground)
    mounts = wanted.settle(places(wanted))
    start = os.path.realpath(cwd) if cwd is not None else ground.worktree
    if start is None or mounts.at(start) in (Access.HIDDEN, Access.PRIVATE):
        start = ground.worktree or "/"
    return Box(backend, mounts, start)


def inside(mounts: Mounts, path: str) -> bool:
    """Say whether a real path is seen by a command."""
    return mounts.at(path) not in (Access.HIDDEN, Access.PRIVATE)
