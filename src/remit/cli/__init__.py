"""Floor 4: the command line."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> Any:
    """Run `remit` and leave the process with its exit code.

    What it is made of is imported in here, so that a Ctrl-C meanwhile ends it without a trace too.
    """
    try:
        from remit.cli.app import main as run

        run(args)
    except KeyboardInterrupt:
        sys.exit(130)
