"""All that a process says of the built-in modes and of some worlds, as one digest a kind.

`python -m tests.promises.told`: equal inputs have to give equal bytes in every process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from remit.policy.announce import announce
from remit.policy.digest import digest
from remit.policy.vocabulary import Dial
from remit.profiles.writer import write_catalog, write_profile
from tests.promises.modes import Case, built_in, engine, worlds

__all__ = ["told"]


def told() -> dict[str, str]:
    """Return the digest of every kind of output."""
    cases = [*built_in(), *(case for _, case in worlds(80, seed=31))]
    loaded = engine()
    return {
        "preambles": digest([case.projection.preamble for case in cases]),
        "announcements": digest(list(_announced(cases))),
        "hashes": digest([case.projection.hash for case in cases]),
        "decisions": digest([list(_decisions(case)) for case in cases]),
        "layers": digest([[sorted(c.projection.guard.refused), c.projection.mounts.network]
                          for c in cases]),
        "profiles": digest([write_profile(loaded.profile(n)) for n in loaded.library.names()]),
        "catalogues": digest([write_catalog(loaded.catalog(n)) for n in loaded.shipped]),
    }  # fmt: skip


def _announced(cases: list[Case]) -> Iterator[object]:
    before = None
    for case in cases:
        said = announce(case.projection, before, turn_start=False)
        yield [said.standing, *(m.text for m in said.messages), said.told.to_body()]
        before = said.told


def _decisions(case: Case) -> Iterator[list[object]]:
    for tool in case.compiled.catalog.tools:
        for dial in Dial:
            decision = case.compiled.decide(tool.key, dial)
            yield [decision.verdict, decision.layer, decision.cause, *decision.detail]
            yield [decision.sentence("some", tool.key)]


if __name__ == "__main__":
    print(json.dumps(told()))
