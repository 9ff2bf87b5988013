"""Programs of which a table cannot say enough: each reader is a function of one module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from remit.plugins.shell.readers.clients import cloud, copy, sqlite
from remit.plugins.shell.readers.find import fd, find
from remit.plugins.shell.readers.git import git
from remit.plugins.shell.readers.misc import interpreter, ln, tar
from remit.plugins.shell.readers.requests import curl, gh_api, wget
from remit.plugins.shell.reading import Note
from remit.plugins.shell.tables import Entry
from remit.plugins.shell.values import Text

if TYPE_CHECKING:
    from remit.plugins.shell.walk import Walk

__all__ = ["READERS", "Reader"]

Reader: TypeAlias = Callable[["Walk", Note, Entry, Sequence[Text]], None]

#: Readers by the name that a table gives them.
READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "cloud": cloud,
        "copy": copy,
        "curl": curl,
        "fd": fd,
        "find": find,
        "gh_api": gh_api,
        "git": git,
        "interpreter": interpreter,
        "ln": ln,
        "sqlite": sqlite,
        "tar": tar,
        "wget": wget,
    }
)
