"""What remit ships: the built-in profiles and the catalogues of well-known servers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from remit.policy.tools import NATIVE
from remit.profiles.names import BUILT_IN, BUILT_IN_STAGED
from remit.profiles.source import MODE_FILE, TEMPLATES, Source

__all__ = [
    "NATIVE_FILE",
    "built_in_modes",
    "built_in_sources",
    "sample",
    "samples",
    "shipped_catalog",
    "shipped_catalogs",
]

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
def built_in_modes() -> tuple[Source, ...]:
    """Return the built-in modes with stages: files of the format that users have (S000-3)."""
    folder = _folder("builtin")
    return tuple(_mode(folder / n, f"built-in/{n}/{MODE_FILE}", True) for n in BUILT_IN_STAGED)


def _mode(folder: Traversable, file: str, built_in: bool) -> Source:
    text = (folder / MODE_FILE).read_text("utf-8")
    beside = folder / TEMPLATES
    files = sorted(beside.iterdir(), key=lambda f: f.name) if beside.is_dir() else []
    templates = tuple((f"{TEMPLATES}/{f.name}", f.read_text("utf-8")) for f in files)
    return Source(text, file, built_in, templates)


@cache
def samples() -> tuple[str, ...]:
    """Return the names of the modes that are there to be copied, sorted."""
    folders = (f for f in _folder("samples").iterdir() if (f / MODE_FILE).is_file())
    return tuple(sorted(f.name for f in folders))


def sample(name: str) -> Source:
    """Return a mode that is there to be copied; raises `FileNotFoundError` for an unknown name."""
    return _mode(_folder("samples") / name, f"sample/{name}/{MODE_FILE}", False)


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
