"""Floor 4: the command line."""

from remit.cli.app import main

__all__ = ["main"]
