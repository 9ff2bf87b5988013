"""The shipped corpus: every line has exactly the effects that it says."""

from __future__ import annotations

from collections import Counter

import pytest

from remit.plugins.conformance import Line, lines
from remit.plugins.shell import classify_shell
from remit.policy.tools import Facts
from remit.policy.vocabulary import EFFECTS

LINES = list(lines())
FACTS = {
    "bash": Facts(worktree="/ws", cwd="/ws", plain=True),
    "powershell": Facts(worktree="C:\\ws", cwd="C:\\ws", plain=True),
}


@pytest.mark.parametrize(
    "group", sorted({(line.file, line.group) for line in LINES}), ids=lambda g: f"{g[0]}-{g[1]}"
)
def test_group(group: tuple[str, str]) -> None:
    """Every line of a group is judged as it says: no effect is lost, none is made up."""
    wrong = []
    for line in LINES:
        if (line.file, line.group) == group:
            found = classify_shell(line.command, FACTS[line.shell], line.shell)
            said = line.wrong(found.effects, found.opaque)
            if said:
                wrong.append(f"{line.command!r} {said}: {[p.why for p in found.parts]}")

    assert not wrong, "\n".join(wrong)
