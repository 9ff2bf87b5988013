"""Where a workspace is, for somebody who looked where none is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from remit.policy.problems import RemitError

if TYPE_CHECKING:
    from remit.harness.location import Location

__all__ = ["elsewhere"]

#: What leads to a workspace, each with what it takes away from an environment to see the others.
_LEADS = ("REMIT_DB", "REMIT_HOME", "HOME")


def elsewhere(
    looked: Location, heeded: Mapping[str, str], environ: Mapping[str, str] = os.environ
) -> str:
    """Return the hint where ``looked`` has no database: what makes one, and where there is one.

    ``heeded`` is the environment that led there: a gateway heeds none, and then says so.
    """
    found = {one.db: (lead, one) for lead, one in _workspaces(environ) if os.path.isfile(one.db)}
    hints = ["`remit init` makes one"]
    for db, (lead, one) in found.items():
        options = f"--db {db}" + (f" --config {one.config}" if one.config != looked.config else "")
        hints.append(f"there is one by {lead}: `{options}`")
    if found and not heeded:
        hints.append("neither `REMIT_HOME` nor `HOME` counts here, since an agent could set them")
    return "; ".join(hints)


def _workspaces(environ: Mapping[str, str]) -> Iterator[tuple[str, Location]]:
    """Yield the workspaces that an environment leads to, by the variable that does."""
    from remit.harness.location import locate

    left = dict(environ)
    for lead in (*_LEADS, ""):
        if lead and not left.get(lead):
            continue
        with suppress(RemitError, KeyError):  # what is wrong with it is told to who uses it
            found = locate(left)
            yield f"`{lead}`" if lead else "your account", found
        left.pop(lead, None)
