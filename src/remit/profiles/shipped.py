"""What remit ships: the built-in profiles and the catalogues of well-known servers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from remit.policy.tools import NATIVE
from remit.profiles.names import BUILT_IN
from remit.profiles.source import Source

__all__ = ["NATIVE_FILE", "built_in_sources", "shipped_catalog", "shipped_catalogs"]

#: The catalogue of the verbs that remit serves itself; it is no server's, so it is not listed.
NATIVE_FILE = NATIVE


def _folder(name: str) -> Traversable:
    return files("remit.profiles") / name


@cache
def built_in_sources() -> tuple[Source, ...]:
    """Return the texts of the built-in profiles, in the order in which they are listed."""
    folder = _folder("builtin")
    return tuple(
        Source((folder / f"{n}.toml").read_text("utf-8"), f"built-in/{n}.toml", built_in=True)
        for n in BUILT_IN
    )


@cache
def shipped_catalogs() -> tuple[str, ...]:
    """Return the names of the shipped catalogues of servers, sorted."""
    names = (entry.name for entry in _folder("catalogs").iterdir())
    stems = (name.removesuffix(".toml") for name in names if name.endswith(".toml"))
    return tuple(sorted(stem for stem in stems if stem != NATIVE_FILE))


@cache
def shipped_catalog(name: str) -> Source:
    """Return the text of a shipped catalogue; raises `FileNotFoundError` for an unknown name."""
    text = (_folder("catalogs") / f"{name}.toml").read_text("utf-8")
    return Source(text, f"shipped/{name}.toml", built_in=True)
