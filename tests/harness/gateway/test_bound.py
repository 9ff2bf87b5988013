from __future__ import annotations

from remit.harness.gateway.relay import LiveTool, admitted, catalog_of
from remit.policy.tools import Catalog, Tool
from remit.policy.vocabulary import Tier


def test_the_operators_name_keeps_the_catalogues_own() -> None:
    """A tool bound under a server's name is known by it, and by its catalogue's source."""
    listed = ({"name": "report", "inputSchema": {"type": "object"}}, {"name": "new"})
    live: tuple[LiveTool, ...]
    live, _ = admitted("desk", listed, frozenset())
    bound = Catalog([Tool("notes", "report", Tier.WRITE, {"record.write"}, verb=True)])

    catalog = catalog_of("desk", live, bound)

    (report, *others) = catalog.tools
    assert (report.key, report.origin, report.verb) == ("desk:report", "notes", True)
    assert all(not t.declared for t in others)
    assert catalog.select("notes:*") == {0}
