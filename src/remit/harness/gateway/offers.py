"""The resources and prompts of one server, listed when they are first wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define, field
from mcp.shared.uri_template import UriTemplate

from remit.harness.gateway.link import Link
from remit.harness.gateway.relay import foreign_free
from remit.harness.gateway.untrusted import plain
from remit.policy.escape import unmarked

__all__ = ["PROMPTS", "RESOURCES", "TEMPLATES", "Kind", "Offers"]

Listed = tuple[Mapping[str, Any], ...]

#: Lists: by which request, under which key, and which of an entry's keys tells it apart.
RESOURCES = ("resources/list", "resources", "uri")
TEMPLATES = ("resources/templates/list", "resourceTemplates", "uriTemplate")
PROMPTS = ("prompts/list", "prompts", "name")

Kind = tuple[str, str, str]


@define(eq=False)
class Offers:
    """What a server lists besides its tools; kept while its connection lives and it is so."""

    _of: Link | None = field(default=None, init=False)
    _kept: dict[Kind, Listed] = field(factory=dict, init=False)

    def forget(self, *kinds: Kind) -> None:
        """Read some lists anew when they are next wanted."""
        for kind in kinds:
            self._kept.pop(kind, None)

    async def listed(self, link: Link, kind: Kind) -> Listed:
        """Return a list; raises `MCPError` and `Gone` as the server does."""
        if self._of is not link:
            self._of = link
            self._kept.clear()
        method, key, own = kind
        able = link.able
        if (able.prompts if kind == PROMPTS else able.resources) is None:
            return ()
        if kind not in self._kept:
            found = await link.pages(method, key)
            self._kept[kind] = tuple(
                _plain(one, own)
                for one in found
                if isinstance(one, Mapping) and isinstance(one.get(own), str)
            )
        return self._kept[kind]

    async def holds(self, link: Link, uri: str) -> bool:
        """Say whether a resource is listed, or is of a shape that is."""
        if any(one["uri"] == uri for one in await self.listed(link, RESOURCES)):
            return True
        return any(_matches(one["uriTemplate"], uri) for one in await self.listed(link, TEMPLATES))


def _plain(entry: Mapping[str, Any], own: str) -> Mapping[str, Any]:
    """Return an entry as a conversation may read it; a name that tells it apart stays as it is."""
    told: Mapping[str, Any] = plain(foreign_free(entry))
    name = told.get("name")
    if own == "name" or not isinstance(name, str) or (said := unmarked(name)) == name:
        return told
    return {**told, "name": said}


def _matches(template: str, uri: str) -> bool:
    try:
        return template == uri or UriTemplate.parse(template).match(uri) is not None
    except ValueError:
        return False
