"""Many conversations in one process, on both kinds of database: do they keep their modes apart."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from remit.harness.workspace import Workspace
from tests.harness.loop.soak import MODES, soak
from tests.server import server


def main() -> None:
    """Soak each database; exit with 1 if a conversation did what another's mode allows."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="conversations at once")
    parser.add_argument("--only", choices=("sqlite", "postgres"), help="one kind of database")
    args = parser.parse_args()
    wrong = [
        k for k in ("sqlite", "postgres") if args.only in (None, k) and not _one(k, args.count)
    ]
    sys.exit(f"soak: modes were not kept apart on {', '.join(wrong)}" if wrong else None)


def _one(kind: str, count: int) -> bool:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "home").mkdir()
        home = {"REMIT_HOME": str(folder / "home"), "HOME": str(folder / "home")}
        url = str(folder / "remit.db")
        if kind == "postgres":
            url = stack.enter_context(server()).make()
        at = stack.enter_context(Workspace.open(url, create=True, environ=home, host="harness"))
        began = time.monotonic()
        found = soak(at, folder, count)
        took = time.monotonic() - began
        wrong = Counter(mode for mode, wrote, _ in found if wrote != MODES[mode])
        whole = at.store.log.verify().ok and at.store.log.rebuild().equal
        print(
            f"{kind}: {len(found)} conversations in {took:.0f} s, wrong {dict(wrong)}, log {whole}"
        )
        return not wrong and whole


if __name__ == "__main__":
    main()
