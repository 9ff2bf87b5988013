"""Text to values and back: the loader, the built-in profiles and the catalogues.

The names below are imported on first use; cattrs comes with the loader alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.profiles.catalogs import (
        LoadedCatalog,
        catalog_source,
        load_catalog,
        native_catalog,
        parse_catalog,
    )
    from remit.profiles.ceilings import parse_overlay
    from remit.profiles.fit import blocks_host, check_with_catalog
    from remit.profiles.library import Library
    from remit.profiles.names import ALIASES, RESERVED, TOP_MODE
    from remit.profiles.resolution import Entry
    from remit.profiles.shipped import built_in_sources, shipped_catalogs
    from remit.profiles.source import Source, read_source
    from remit.profiles.terms import Terms
    from remit.profiles.writer import write_catalog, write_profile

_HOMES = {
    "ALIASES": "names",
    "RESERVED": "names",
    "TOP_MODE": "names",
    "Entry": "resolution",
    "Library": "library",
    "LoadedCatalog": "catalogs",
    "Source": "source",
    "Terms": "terms",
    "blocks_host": "fit",
    "built_in_sources": "shipped",
    "catalog_source": "catalogs",
    "check_with_catalog": "fit",
    "load_catalog": "catalogs",
    "native_catalog": "catalogs",
    "parse_catalog": "catalogs",
    "parse_overlay": "ceilings",
    "read_source": "source",
    "shipped_catalogs": "shipped",
    "write_catalog": "writer",
    "write_profile": "writer",
}

__all__ = [
    "ALIASES",
    "RESERVED",
    "TOP_MODE",
    "Entry",
    "Library",
    "LoadedCatalog",
    "Source",
    "Terms",
    "blocks_host",
    "built_in_sources",
    "catalog_source",
    "check_with_catalog",
    "load_catalog",
    "native_catalog",
    "parse_catalog",
    "parse_overlay",
    "read_source",
    "shipped_catalogs",
    "write_catalog",
    "write_profile",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a public name on first use (PEP 562)."""
        if name not in _HOMES:
            msg = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
