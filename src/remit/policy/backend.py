"""Sandbox backends: one shape for all that can hold mounts, and what starting one needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field, frozen

from remit.policy.mounts import Advisory, Mounts

__all__ = ["RESERVED", "Backend", "Found", "Launch"]

#: Names of the built-in backends, and the word for a choice by rank.
RESERVED = frozenset({"auto", "bubblewrap", "landlock", "none", "seatbelt"})


@frozen
class Launch:
    """How a confined command is started.

    ``argv`` may hold words such as ``{filter}``; each is the number of a descriptor on which the
    bytes of ``feeds`` under that name are read. ``environment`` is all of the starter's.
    ``shown`` is the same command in full, for people: nothing of it is hidden in a descriptor.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(factory=dict, repr=False)
    feeds: Mapping[str, bytes] = field(factory=dict, repr=False)
    shown: tuple[str, ...] = ()
    #: Word of ``argv`` for a descriptor to which the backend writes what it started, as JSON.
    status: str = ""


@frozen
class Found:
    """Whether a backend works here: its version, or why it does not and what to do about it."""

    works: bool
    version: str = ""
    why: str = ""
    hint: str = ""


@frozen
class Backend:
    """Something that holds mounts.

    ``launch`` is pure: from mounts, a command, the folder to start it in and the host's environment
    to a `Launch`. ``lacks`` tells what of the mounts it does not hold. ``probe`` looks at this
    machine, once. ``rank`` orders the choice, lowest first; ``chosen`` is False for one that only
    an operator's word selects.
    """

    name: str
    launch: Callable[[Mounts, tuple[str, ...], str, Mapping[str, str]], Launch]
    lacks: Callable[[Mounts], tuple[Advisory, ...]]
    probe: Callable[[], Found]
    rank: int = 100
    chosen: bool = True
    #: Does it hold the mounts at all; one that does not leaves them advisory.
    holds: bool = True
    #: Has it namespaces: private folders, and a session, so no terminal, of the command's own.
    namespaces: bool = False
    #: What it leaves open whatever the mounts, in a few words each.
    leaves: tuple[str, ...] = ()
