"""An operator in a process of its own: reads one command a line, answers `done` to each.

`DATABASE mode SPACE MODE`, `DATABASE approve ID` or `DATABASE reject ID`.
"""

import sys
from datetime import UTC, datetime

from remit.harness.store import OPERATOR, Store

for line in sys.stdin:
    database, what, *rest = line.split()
    with Store.open(database) as store:
        now = datetime.now(UTC)
        if what == "mode":
            space, mode = rest
            store.spaces.set_mode(space, mode, by=OPERATOR, why="asked for", now=now)
        else:
            store.approvals.decide(rest[0], what == "approve", by=OPERATOR, now=now)
    print("done", flush=True)
