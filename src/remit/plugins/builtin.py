"""The built-in files: profiles and catalogues that come with remit, registered like anyone's."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from importlib.resources.abc import Traversable

from remit.plugins.hookspecs import hookimpl

__all__: list[str] = []


def _toml(folder: str) -> list[Traversable]:
    found = files("remit").joinpath("profiles", folder).iterdir()
    return sorted((f for f in found if f.name.endswith(".toml")), key=lambda f: f.name)


@hookimpl
def register_catalogues() -> Iterable[Traversable]:
    """The native verbs, and catalogues of well-known MCP servers."""
    return _toml("catalogs")


@hookimpl
def register_profiles() -> Iterable[Traversable]:
    """The modes that everybody has."""
    return _toml("builtin")
