"""Measure how fast and how large remit is, as ratios in one run (design section 13)."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

from attrs import asdict

from tools.benchmarks.ratios import Figure

#: Each subcommand and the module that measures it, imported when it is asked for.
PARTS = {
    "decide": "decide",
    "surface": "surface",
    "load": "load",
    "modes": "modes",
    "memory": "memory",
    "store": "store",
    "import": "imports",
    "gateway": "gateway",
    "sandbox": "sandbox",
    "harness": "harness",
    "pipeline": "pipeline",
}


def main() -> None:
    """Run the parts that are named, all of them by default."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--short", action="store_true", help="fewer rounds and smaller sizes")
    parser.add_argument("--json", action="store_true", help="one JSON object a figure, in a list")
    parser.add_argument("--check", action="store_true", help="exit 1 if a budget is not kept")
    args = parser.parse_args()
    if unknown := [p for p in args.part if p not in PARTS]:
        parser.error(f"unknown part `{unknown[0]}`, expected one of {', '.join(PARTS)}")
    found: list[Figure] = []
    for part in args.part or PARTS:
        for figure in import_module(f"tools.benchmarks.{PARTS[part]}").figures(args.short):
            found.append(figure)
            if not args.json:
                print(figure, flush=True)
    if args.json:
        print(json.dumps([{**asdict(f), "kept": f.kept} for f in found], indent=2))
    if args.check and (missed := [f for f in found if not f.kept]):
        sys.exit(f"bench: {len(missed)} budgets are not kept: {', '.join(f.name for f in missed)}")


if __name__ == "__main__":
    main()
